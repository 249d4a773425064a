/** The store of a soak: a redis-server with `appendfsync always`, or the SQLite file of the one master. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { freePort } from '../kit/free-port.ts'

const MIB = 2 ** 20
/** Event log, statistics, past configs and marks of acked tasks: each has a bound, which it reaches after hours. */
const BOUNDED = /\{ev\}:log$|:sr:|:ch:|\}:[kh][0-3]$/

/** What a store occupies. */
export type StoreSize = Readonly<Record<string, number>>

export interface SoakStore {
  readonly url: string
  /** How many masters may share it. */
  readonly masters: number
  /** Starts it, again after `kill`. */
  start(): Promise<void>
  /** Undefined: it has no process of its own. */
  readonly kill?: () => Promise<void>
  size(): Promise<StoreSize>
  close(): Promise<void>
}

export class RedisStore implements SoakStore {
  readonly url: string
  readonly masters = 2
  readonly #port: number
  readonly #folder: string
  readonly #client: Redis
  #child: ChildProcess | undefined

  private constructor(port: number, folder: string) {
    this.#port = port
    this.#folder = folder
    this.url = `kvstore://127.0.0.1:${port}`
    this.#client = new Redis({ host: '127.0.0.1', port, lazyConnect: true })
    this.#client.on('error', () => undefined) // It reconnects; a failed command reports its own error.
  }

  static async create(folder: string): Promise<RedisStore> {
    return new RedisStore(await freePort(), folder)
  }

  async start(): Promise<void> {
    const options = { port: this.#port, bind: '127.0.0.1', dir: this.#folder, save: '', appendonly: 'yes' }
    const args = Object.entries({ ...options, appendfsync: 'always' }).flatMap(([name, value]) => [
      `--${name}`,
      `${value}`,
    ])
    const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] })
    this.#child = child
    process.once('exit', () => child.kill('SIGKILL'))
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('Ready to accept')) break
    child.stdout.resume()
    if (child.exitCode !== null) throw new Error('redis-server did not start')
  }

  readonly kill = async (): Promise<void> => {
    const child = this.#child
    this.#child = undefined
    if (child === undefined) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  async size(): Promise<StoreSize> {
    const [keys, info, names] = await Promise.all([
      this.#client.dbsize(),
      this.#client.info('memory'),
      this.#client.keys('*'),
    ])
    const usedBytes = Number(/^used_memory:(?<bytes>\d+)/m.exec(info)?.groups?.['bytes'] ?? 0)
    const bounded = names.filter((name) => BOUNDED.test(name))
    const sizes = await Promise.all(bounded.map((name) => this.#client.memory('USAGE', name, 'SAMPLES', 0)))
    const boundedBytes = sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0)
    return { keys, usedMemoryMib: usedBytes / MIB, otherMemoryMib: (usedBytes - boundedBytes) / MIB }
  }

  async close(): Promise<void> {
    this.#client.disconnect()
    await this.kill()
  }
}

export class SqliteStore implements SoakStore {
  readonly url: string
  readonly masters = 1
  readonly #file: string

  constructor(folder: string) {
    this.#file = join(folder, 'master.db')
    this.url = `filedb://${this.#file}`
  }

  async start(): Promise<void> {}

  async size(): Promise<StoreSize> {
    const mib = (path: string): number => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) / MIB
    return { fileMib: mib(this.#file), logMib: mib(`${this.#file}-wal`) }
  }

  async close(): Promise<void> {}
}
