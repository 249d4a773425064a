/**
 * Starts private redis-servers for tests, each on a free loopback port and with its own folder, which `close` removes.
 * Readiness is read from the server's log. This module never uses a server that it did not start.
 *
 *   const server = await startRedis({ appendfsync: 'always' })
 *   await server.kill(); await server.restart()   // same port, same data
 *   await server.close()
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it } from '@jest/globals'
import { Redis } from 'ioredis'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'

const HOST = '127.0.0.1'
const READY = /Ready to accept connections|monitor master/
const TAKEN = /Address already in use/
const PORTS_TRIED = 5

/** Path of redis-server on PATH. If undefined, the tests that need it are skipped by name (with CI=true they fail). */
export const REDIS_SERVER = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'redis-server'))
  .find(isExecutable)

/** Runs `define`, which describes tests. Without redis-server it defines a named skip instead. */
export function withRedisServer(name: string, define: () => void): void {
  if (REDIS_SERVER !== undefined) define()
  else describe(name, () => it.skip('redis-server is not installed', () => undefined))
}

/** `client`: the server requires client certificates of this authority. The test's own clients use this one. */
interface Tls {
  readonly certFile: string
  readonly keyFile: string
  readonly caFile: string
  readonly client?: { readonly cert: string; readonly key: string }
}
export interface RedisOptions {
  /** Path of the server program. Default: redis-server on PATH. */
  readonly program?: string
  /** Append-only file with this fsync policy. Without one, no data survives a restart. */
  readonly appendfsync?: 'no' | 'everysec' | 'always'
  readonly password?: string
  /** In the format of redis.conf, for example `100mb`. */
  readonly maxmemory?: string
  readonly maxmemoryPolicy?: string
  /** Accepts only TLS, on the same port. */
  readonly tls?: Tls
  /** Further lines of redis.conf. */
  readonly config?: readonly string[]
  /** Runs the server in another network namespace. The test's own clients then use a socket file. */
  readonly elsewhere?: {
    /** The address that the server listens on. */
    readonly host: string
    /** The command that runs the program there, and keeps the process id. */
    readonly command: readonly string[]
  }
}

/** One redis-server. Its address stays the same after a restart. */
export class RedisServer {
  readonly host: string
  readonly port: number
  readonly folder = mkdtempSync(join(tmpdir(), 'muster-redis-'))
  readonly options: RedisOptions
  readonly #clients: Redis[] = []
  readonly #sentinel: boolean
  #client: Redis | null = null
  #child: ChildProcess | null = null
  readonly #onExit = (): void => void this.#child?.kill('SIGKILL')

  constructor(port: number, options: RedisOptions, sentinel = false) {
    this.port = port
    this.host = options.elsewhere?.host ?? HOST
    this.options = options
    this.#sentinel = sentinel
    writeFileSync(join(this.folder, 'redis.conf'), `${configOf(this, options).join('\n')}\n`, { mode: 0o600 })
    process.once('exit', this.#onExit)
  }

  /** `kvstore://…`, or `kvstores://…` under TLS. */
  get url(): string {
    const { password, tls } = this.options
    const credentials = password === undefined ? '' : `:${encodeURIComponent(password)}@`
    return `${tls === undefined ? 'kvstore' : 'kvstores'}://${credentials}${this.host}:${this.port}`
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Starts the process and waits until it accepts commands. */
  async start(): Promise<void> {
    const program = this.options.program ?? REDIS_SERVER
    if (program === undefined) throw new Error('redis-server is not on PATH: install it, or skip with withRedisServer')
    const command = [...(this.options.elsewhere?.command ?? []), program, join(this.folder, 'redis.conf')]
    const [run = '', ...args] = [...command, ...(this.#sentinel ? ['--sentinel'] : [])]
    const child = spawn(run, args, {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    this.#child = child
    const log: string[] = []
    for await (const line of createInterface({ input: child.stdout })) {
      log.push(line)
      if (!READY.test(line)) continue
      child.stdout.resume()
      return
    }
    this.#child = null
    throw new Error(`redis-server ended at its start:\n${log.join('\n')}`)
  }

  /** Shuts down cleanly, with a complete append-only file. */
  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  /** Kills the process, like a crash. */
  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** Restarts on the same port and data. Stops a running process first. */
  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  /** Freezes the process: connections stay open, but the server does not respond. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  /** Returns a client of the test, which is closed with the server. */
  connect(): Redis {
    const { password, tls, elsewhere } = this.options
    const client = new Redis({
      ...(elsewhere === undefined ? { host: this.host, port: this.port } : { path: socketOf(this.folder) }),
      ...(password !== undefined && { password }),
      ...(tls !== undefined && { tls: { rejectUnauthorized: false, ...tls.client } }),
    })
    client.on('error', () => undefined) // The client reconnects; a failed command reports its own error.
    this.#clients.push(client)
    return client
  }

  /** One shared client for commands of the test. Each call of `connect` opens a connection, which polls should not. */
  get client(): Redis {
    this.#client ??= this.connect()
    return this.#client
  }

  async close(): Promise<void> {
    this.#client = null
    for (const client of this.#clients.splice(0)) client.disconnect()
    await this.kill()
    process.off('exit', this.#onExit)
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    child.kill('SIGCONT') // A paused process would not end.
    await gone
  }
}

/** Starts an empty standalone server. */
export function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  return started(options)
}

export interface RedisCluster {
  /** The primaries. */
  readonly nodes: readonly RedisServer[]
  /** Adds a replica of a primary. Resolves when it is in sync and known to every node. */
  readonly addReplica: (primary: RedisServer) => Promise<RedisServer>
  /** Adds a primary without slots. Resolves when it is known to every node. */
  readonly addPrimary: () => Promise<RedisServer>
  close(): Promise<void>
}

/** Starts three primaries that share the 16,384 slots. Resolves when all of them agree and accept commands. */
export async function startCluster(options: RedisOptions = {}): Promise<RedisCluster> {
  const nodes: RedisServer[] = []
  const close = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.close()))
  }
  try {
    for (let i = 0; i < 3; i += 1) nodes.push(await startNode(options))
    await assembleCluster(nodes)
    const primaries = [...nodes]
    const addReplica = async (primary: RedisServer): Promise<RedisServer> => {
      const replica = await startNode(options)
      nodes.push(replica)
      await makeReplica(replica, primary, nodes)
      return replica
    }
    const addPrimary = async (): Promise<RedisServer> => {
      const added = await startNode(options)
      nodes.push(added)
      await meet(added, nodes)
      return added
    }
    return { nodes: primaries, addReplica, addPrimary, close }
  } catch (error) {
    await close()
    throw error
  }
}

export interface RedisSentinel {
  readonly sentinel: RedisServer
  /** The name of the primary in the sentinel. */
  readonly name: string
  /** The first one starts as the primary. */
  readonly nodes: readonly RedisServer[]
  /** Promotes the replica. Resolves when the sentinel reports it. */
  readonly failover: () => Promise<void>
  close(): Promise<void>
}

/** Starts a primary, its replica in sync, and one sentinel that monitors them. */
export async function startSentinel(options: RedisOptions = {}): Promise<RedisSentinel> {
  const name = 'fleet'
  const all: RedisServer[] = []
  const close = async (): Promise<void> => {
    await Promise.all(all.map((server) => server.close()))
  }
  try {
    const primary = await started(options)
    all.push(primary)
    const replica = await started({
      ...options,
      config: [...(options.config ?? []), `replicaof ${HOST} ${primary.port}`],
    })
    all.push(replica)
    await eventually('the replica is in sync', async () =>
      (await replica.connect().info('replication')).includes('master_link_status:up'),
    )
    const sentinel = await started(
      {
        config: [
          `sentinel monitor ${name} ${HOST} ${primary.port} 1`,
          `sentinel down-after-milliseconds ${name} 1000`,
          ...(options.password === undefined ? [] : [`sentinel auth-pass ${name} ${JSON.stringify(options.password)}`]),
        ],
      },
      true,
    )
    all.push(sentinel)
    const client = sentinel.connect()
    await eventually(
      'the sentinel knows the replica',
      async () => ((await client.call('SENTINEL', 'REPLICAS', name)) as unknown[]).length === 1,
    )
    const failover = async (): Promise<void> => {
      const before = String(await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name))
      await eventually(
        'the sentinel fails over',
        async () => (await client.call('SENTINEL', 'FAILOVER', name).catch(() => null)) === 'OK',
      )
      await eventually(
        'another primary is named',
        async () => String(await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)) !== before,
      )
    }
    return { sentinel, name, nodes: [primary, replica], failover, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Another process may take a port that was free. In that case another port is used. */
async function started(options: RedisOptions, sentinel = false): Promise<RedisServer> {
  for (let tried = 1; ; tried += 1) {
    const server = new RedisServer(await freePort(), options, sentinel)
    try {
      await server.start()
      return server
    } catch (error) {
      await server.close()
      if (tried === PORTS_TRIED || !TAKEN.test(String(error))) throw error
    }
  }
}

const startNode = async (options: RedisOptions): Promise<RedisServer> =>
  started({
    ...options,
    config: [
      ...(options.config ?? []),
      'cluster-enabled yes',
      'cluster-node-timeout 5000',
      `cluster-port ${await freePort()}`,
    ],
  })

/** Gives each primary its share of the slots. Resolves when all of them agree. */
export async function assembleCluster(nodes: readonly RedisServer[]): Promise<void> {
  const clients = nodes.map((node) => node.connect())
  const [first, ...others] = nodes
  const share = Math.ceil(16_384 / nodes.length)
  for (const [i, client] of clients.entries()) {
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', i + 1)
    await client.call('CLUSTER', 'ADDSLOTSRANGE', i * share, Math.min((i + 1) * share, 16_384) - 1)
  }
  for (const other of others) {
    await clients[nodes.indexOf(first ?? other)]?.call(
      'CLUSTER',
      'MEET',
      other.host,
      other.port,
      busPortOf(other.options),
    )
  }
  const agrees = async (client: Redis): Promise<boolean> => {
    const [info, slots] = [
      String(await client.call('CLUSTER', 'INFO')),
      (await client.call('CLUSTER', 'SLOTS')) as unknown[],
    ]
    return (
      info.includes('cluster_state:ok') &&
      info.includes(`cluster_known_nodes:${nodes.length}`) &&
      slots.length === nodes.length
    )
  }
  await eventually('the cluster agrees', async () => (await Promise.all(clients.map(agrees))).every(Boolean))
}

const busPortOf = (options: RedisOptions): string =>
  /cluster-port (?<port>\d+)/.exec(options.config?.join('\n') ?? '')?.groups?.['port'] ?? ''

/** Makes a node of a cluster a replica. Resolves when it is in sync, and linked to all `nodes`, of which it is one. */
export async function makeReplica(
  replica: RedisServer,
  primary: RedisServer,
  nodes: readonly RedisServer[],
): Promise<void> {
  await meet(replica, nodes)
  const id = String(await primary.client.call('CLUSTER', 'MYID'))
  await replica.client.call('CLUSTER', 'REPLICATE', id)
  const isKnown = async (node: RedisServer): Promise<boolean> => (await nodesOf(node)).includes(`slave ${id}`)
  await eventually(
    'the replica is in sync',
    async () =>
      (await replica.client.info('replication')).includes('master_link_status:up') &&
      (await Promise.all(nodes.map(isKnown))).every(Boolean),
  )
}

/**
 * Links an added node with all others, in both directions. Gossip alone would do so later: a failover that begins
 * before would reach only some nodes, and a node that knows one primary of three considers the cluster down.
 */
async function meet(added: RedisServer, nodes: readonly RedisServer[]): Promise<void> {
  for (const { host, port, options } of nodes.filter((node) => node !== added))
    await added.client.call('CLUSTER', 'MEET', host, port, busPortOf(options))
  const isLinked = async (node: RedisServer): Promise<boolean> => {
    const lines = (await nodesOf(node)).trim().split('\n')
    return lines.length === nodes.length && lines.every((line) => / connected\b/.test(line) && !/handshake/.test(line))
  }
  await eventually('every node is linked to every other', async () =>
    (await Promise.all(nodes.map(isLinked))).every(Boolean),
  )
  await eventually('the new node serves', async () =>
    String(await added.client.call('CLUSTER', 'INFO')).includes('cluster_state:ok'),
  )
}

const nodesOf = async (node: RedisServer): Promise<string> => String(await node.client.call('CLUSTER', 'NODES'))

const socketOf = (folder: string): string => join(folder, 'redis.sock')

function configOf({ host, port, folder }: RedisServer, options: RedisOptions): string[] {
  const { appendfsync, password, maxmemory, maxmemoryPolicy, tls, elsewhere, config = [] } = options
  return [
    `bind ${host}`,
    ...(elsewhere === undefined ? [] : ['protected-mode no', `unixsocket ${socketOf(folder)}`]),
    `dir ${folder}`,
    'save ""',
    'databases 16',
    'repl-diskless-sync-delay 0',
    ...(tls === undefined
      ? [`port ${port}`]
      : [
          'port 0',
          `tls-port ${port}`,
          `tls-cert-file ${tls.certFile}`,
          `tls-key-file ${tls.keyFile}`,
          `tls-ca-cert-file ${tls.caFile}`,
          `tls-auth-clients ${tls.client === undefined ? 'no' : 'yes'}`,
        ]),
    ...(appendfsync === undefined ? ['appendonly no'] : ['appendonly yes', `appendfsync ${appendfsync}`]),
    ...(password === undefined
      ? []
      : [`requirepass ${JSON.stringify(password)}`, `masterauth ${JSON.stringify(password)}`]),
    ...(maxmemory === undefined ? [] : [`maxmemory ${maxmemory}`]),
    ...(maxmemoryPolicy === undefined ? [] : [`maxmemory-policy ${maxmemoryPolicy}`]),
    ...config,
  ]
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false // Missing or not executable: try the next folder of PATH.
  }
}
