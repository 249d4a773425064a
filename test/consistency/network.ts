/**
 * Network builds network namespaces on one bridge, and cuts the packets between them with nftables. The bridge is in a
 * namespace of its own too, so nothing here touches the network of the machine.
 *
 *   const network = new Network()
 *   const node = network.add()                  // 10.77.0.2 in a namespace
 *   spawn(...network.within(node, 'redis-server', …))
 *   network.cut([client], [node])               // packets from client to node are dropped
 *   network.heal(); network.close()
 */
import { spawnSync } from 'node:child_process'
import { describe, it } from '@jest/globals'

const PREFIX = '10.77.0'
const BRIDGE = 'hub'
/** One counter for the networks of a process: the names of namespaces are those of the whole machine. */
let networks = 0

const isThere = (program: string): boolean => spawnSync(program, ['--version']).error === undefined

function lacking(): string | null {
  if (process.getuid?.() !== 0) return 'network namespaces need root'
  const missing = ['ip', 'nft', 'redis-server'].find((program) => !isThere(program))
  return missing === undefined ? null : `${missing} is not installed`
}

/** Runs `define`, which describes tests. Without root and the programs it defines a named skip instead. */
export function withNetwork(name: string, define: () => void): void {
  const lack = lacking()
  if (lack === null) define()
  else describe(name, () => it.skip(lack, () => undefined))
}

/** One namespace with one address. */
export interface Host {
  readonly namespace: string
  readonly address: string
}

export class Network {
  readonly #name: string
  readonly #hosts: Host[] = []
  readonly #onExit = (): void => this.close()

  constructor() {
    this.#name = `muster-${process.pid}-${(networks += 1)}`
    process.once('exit', this.#onExit)
    ip('netns', 'add', this.#hub)
    ip('-n', this.#hub, 'link', 'add', BRIDGE, 'type', 'bridge')
    ip('-n', this.#hub, 'link', 'set', BRIDGE, 'up')
  }

  get #hub(): string {
    return `${this.#name}-hub`
  }

  /** Adds a namespace that reaches all others. */
  add(): Host {
    const number = this.#hosts.length + 2
    const host = { namespace: `${this.#name}-${number}`, address: `${PREFIX}.${number}` }
    this.#hosts.push(host)
    ip('netns', 'add', host.namespace)
    const port = `port${number}`
    ip('-n', this.#hub, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', host.namespace)
    ip('-n', this.#hub, 'link', 'set', port, 'master', BRIDGE, 'up')
    ip('-n', host.namespace, 'addr', 'add', `${host.address}/24`, 'dev', 'eth0')
    ip('-n', host.namespace, 'link', 'set', 'eth0', 'up')
    ip('-n', host.namespace, 'link', 'set', 'lo', 'up')
    nft(
      host,
      'add table ip faults',
      'add set ip faults cut { type ipv4_addr; }',
      'add chain ip faults in { type filter hook input priority 0; }',
      'add rule ip faults in ip saddr @cut drop',
    )
    return host
  }

  /** @returns the program and the arguments that run it in a namespace, under the same process id. */
  within({ namespace }: Host, ...command: readonly string[]): readonly string[] {
    return ['ip', 'netns', 'exec', namespace, ...command]
  }

  /** Drops packets from some hosts to others. The other direction stays as it is. */
  cut(from: readonly Host[], to: readonly Host[]): void {
    for (const each of to) nft(each, `add element ip faults cut { ${from.map(({ address }) => address).join(', ')} }`)
  }

  /** Separates some hosts from others, in both directions. */
  part(some: readonly Host[], others: readonly Host[]): void {
    this.cut(some, others)
    this.cut(others, some)
  }

  /** Lets all packets pass again. */
  heal(): void {
    for (const each of this.#hosts) nft(each, 'flush set ip faults cut')
  }

  /** Removes the namespaces. Their processes have to be gone. */
  close(): void {
    process.off('exit', this.#onExit)
    for (const { namespace } of this.#hosts.splice(0)) spawnSync('ip', ['netns', 'del', namespace])
    spawnSync('ip', ['netns', 'del', this.#hub])
  }
}

function ip(...args: readonly string[]): void {
  run('ip', args)
}

function nft({ namespace }: Host, ...commands: readonly string[]): void {
  run('ip', ['netns', 'exec', namespace, 'nft', commands.join('\n')])
}

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args)
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${stderr.toString()}`)
}
