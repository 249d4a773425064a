/**
 * @module storage/redis/topology
 * Maps hash slots to servers. A single server, or the primary behind sentinels, has all slots. The map of a Cluster is
 * read at the start, when a server returns MOVED, and repeatedly while one of its primaries is unreachable.
 */
import { Redis, type RedisOptions } from 'ioredis'
import type { Random, Time } from '../../runtime/index.ts'
import type { Reply } from './caller.ts'
import { isReply } from './errors.ts'
import { clientOptions, StoreNode } from './node.ts'
import { nameOf, type HostPort, type StoreUrl } from './url.ts'
import { WAIT_MS } from './waiting.ts'
import { explain } from './connection-errors.ts'

const SLOTS = 16_384

export interface TopologyDeps {
  readonly url: StoreUrl
  /** User, password, database, TLS: the same for every server; the password may change. */
  readonly base: () => RedisOptions
  readonly random: Random
  readonly time: Time
  readonly onChange: () => void
}

export class Topology {
  readonly #deps: TopologyDeps
  readonly #nodes = new Map<string, StoreNode>()
  #slots: (StoreNode | undefined)[] = []
  #refreshing: Promise<void> | null = null
  #closed = false
  #trouble: string | null = null
  #isDenied = false

  constructor(deps: TopologyDeps) {
    this.#deps = deps
    const { url } = deps
    if (url.form === 'cluster') return
    this.#slots = Array.from<StoreNode>({ length: SLOTS }).fill(
      this.#make(url.hosts.map(nameOf).join(','), addressOf(url)),
    )
  }

  get nodes(): readonly StoreNode[] {
    return [...this.#nodes.values()]
  }

  /** Why the slots are not known, as far as known. */
  get trouble(): string | null {
    return this.#trouble
  }

  /** The trouble is one that waiting does not mend. */
  get isDenied(): boolean {
    return this.#isDenied
  }

  /** Every slot has a server, and the facts of every server are known. */
  get isWhole(): boolean {
    return this.#nodes.size > 0 && this.#slots.length === SLOTS && this.nodes.every(({ facts }) => facts !== null)
  }

  nodeOf(slot: number): StoreNode | undefined {
    return this.#slots[slot]
  }

  nodeAt(address: string): StoreNode | undefined {
    return this.#nodes.get(address)
  }

  /** Asks a Cluster anew; the calls of one moment share the question. */
  refresh(): Promise<void> {
    if (this.#deps.url.form !== 'cluster' || this.#closed) return Promise.resolve()
    this.#refreshing ??= this.#ask().finally(() => void (this.#refreshing = null))
    return this.#refreshing
  }

  /** Where messages may be listened to. */
  subscriberAddress(): RedisOptions {
    const { url } = this.#deps
    if (url.form !== 'cluster') return addressOf(url)
    const { random } = this.#deps
    const reachable = this.nodes.filter(({ status }) => status === 'ready').map(({ name }) => hostPortOf(name, ''))
    const candidates = reachable.length > 0 ? reachable : url.hosts
    return { ...candidates[Math.floor(random.unit() * candidates.length)] }
  }

  close(): void {
    this.#closed = true
    for (const node of this.#nodes.values()) node.close()
    this.#nodes.clear()
    this.#slots = []
  }

  async #ask(): Promise<void> {
    for (const node of this.nodes.filter(({ status }) => status !== 'disconnected')) {
      try {
        this.#adopt(await node.command('CLUSTER', 'SLOTS'), hostPortOf(node.name, '').host)
        return
      } catch (error) {
        this.#note(error) // The next one is asked.
      }
    }
    for (const seed of this.#deps.url.hosts) if (await this.#askSeed(seed)) return
    if (!this.#closed) this.#deps.onChange()
  }

  /** Over a connection for this one question: the seed may be a replica, or gone from the Cluster. */
  async #askSeed(seed: HostPort): Promise<boolean> {
    const { base, random } = this.#deps

    const client = new Redis<'legacy'>({
      ...clientOptions(random),
      ...base(),
      ...seed,
      socketTimeout: WAIT_MS,
      retryStrategy: null,
      replyMapping: 'legacy',
    })
    client.on('error', (error: Error) => this.#note(error))
    try {
      await client.connect()
      this.#adopt((await client.call('CLUSTER', 'SLOTS')) as Reply, seed.host)
      return true
    } catch (error) {
      if (isReply(error) || this.#trouble === null) this.#note(error)
      return false
    } finally {
      client.disconnect()
    }
  }

  #note(error: unknown): void {
    const { sentence, isPermanent: isHopeless } = explain(error)
    this.#trouble = sentence
    this.#isDenied = isHopeless
  }

  /** Ranges as `[first, last, [host, port, …primary], …replicas]`. An empty host is the one that was asked. */
  #adopt(reply: Reply, askedHost: string): void {
    if (this.#closed || !Array.isArray(reply)) return
    const slots: (StoreNode | undefined)[] = Array.from({ length: SLOTS })
    const known = new Set<string>()
    for (const [first, last, primary] of reply as readonly (readonly [
      number,
      number,
      readonly [string | null, number],
    ])[]) {
      const address = { host: primary[0] || askedHost, port: primary[1] }
      const name = nameOf(address)
      known.add(name)
      slots.fill(this.#nodes.get(name) ?? this.#make(name, address), first, last + 1)
    }
    for (const node of this.nodes) if (!known.has(node.name)) this.#drop(node)
    this.#isDenied = false
    this.#trouble = slots.includes(undefined) ? 'the cluster does not serve all slots' : null
    this.#slots = slots
    this.#deps.onChange()
  }

  #make(name: string, address: RedisOptions): StoreNode {
    const { base, random, time, onChange } = this.#deps
    const node = new StoreNode({ name, redis: () => ({ ...base(), ...address }), random, time, onChange })
    this.#nodes.set(name, node)
    return node
  }

  #drop(node: StoreNode): void {
    this.#nodes.delete(node.name)
    node.close()
  }
}

function addressOf({ form, hosts, masterName, tls }: StoreUrl): RedisOptions {
  if (form === 'sentinel')
    return {
      sentinels: hosts.map((each) => ({ ...each })),
      name: masterName,
      role: 'master',
      enableTLSForSentinelMode: tls,
    }
  return { ...hosts[0] }
}

/** `host:port` as servers write it in MOVED; an empty host is `fallback`. */
export function hostPortOf(name: string, fallback: string): HostPort {
  const colon = name.lastIndexOf(':')
  return { host: name.slice(0, colon).replaceAll(/[[\]]/g, '') || fallback, port: Number(name.slice(colon + 1)) }
}
