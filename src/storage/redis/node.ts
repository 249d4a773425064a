/**
 * @module storage/redis/node
 * One redis-server: a connection that is made again whenever it breaks, with every script loaded before it serves.
 *
 *   away ──connected──▶ preparing ──scripts loaded, facts read──▶ prepared ──the store as a whole is admitted──▶ ready
 *     ▲                     └─ failed: again in a moment                                                           │
 *     └──────────────────────────────── connection broke, or a probe got no answer ────────────────────────────────┘
 *
 * Nothing is queued while away and nothing is sent twice: what was under way when the connection broke is reported as
 * such, since it may have run.
 */
import { Redis, type RedisOptions } from 'ioredis'
import type { Cancel, Random, Time } from '../../runtime/index.ts'
import type { Reply } from './caller.ts'
import { factsOf, type Facts } from './checks.ts'
import { DENIED, isMissingScript, RECONNECT, rightsSentence } from './errors.ts'
import { scripts, type Script } from './script.ts'

const RECONNECT_BASE_MS = 50
const RECONNECT_CAP_MS = 2_000
const PREPARE_AGAIN_MS = 500
const DISCONNECT_TIMEOUT_MS = 100
/** No answer within this time, and the outcome is unknown. */
export const COMMAND_TIMEOUT_MS = 2_000

/** With its defaults ioredis sends commands again whose answer was cut off, and so runs them twice. */
export function clientOptions(random: Random): RedisOptions {
  return {
    maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, enableOfflineQueue: false, enableAutoPipelining: false,
    autoResubscribe: false, lazyConnect: true, protocol: 2, connectTimeout: COMMAND_TIMEOUT_MS, disconnectTimeout: DISCONNECT_TIMEOUT_MS, disableClientInfo: true,
    retryStrategy: (times) => delayMs(times, random),
    sentinelRetryStrategy: (times) => delayMs(times, random),
    reconnectOnError: (error) => RECONNECT.test(error.message),
  }
}

const delayMs = (times: number, random: Random): number => Math.ceil(Math.min(RECONNECT_CAP_MS, RECONNECT_BASE_MS * 2 ** Math.min(times - 1, 10)) * (0.5 + random.unit() / 2))

export interface NodeOptions {
  /** host:port, or what else names it to people. */
  readonly name: string
  /** Where it is and who we are; the password may change. */
  readonly redis: () => RedisOptions
  readonly random: Random
  readonly time: Time
  /** Called whenever the status changed. */
  readonly onChange: (node: StoreNode) => void
}

export class StoreNode {
  readonly name: string
  readonly #options: NodeOptions
  readonly #client: Redis
  #status: 'away' | 'preparing' | 'prepared' | 'ready' = 'away'
  #awaySince: number
  #facts: Facts | null = null
  #trouble: string | null = null
  #cancelPrepare: Cancel = () => undefined
  #isDenied = false
  #probing = false

  constructor(options: NodeOptions) {
    const { name, redis, random, time } = options
    this.name = name
    this.#options = options
    this.#awaySince = time.monotonicMs()

    this.#client = new Redis<'legacy'>({ ...clientOptions(random), commandTimeout: COMMAND_TIMEOUT_MS, ...redis(), replyMapping: 'legacy' })
    this.#client.on('error', (error: Error) => this.#note(error))
    this.#client.on('ready', () => void this.#prepare())
    this.#client.on('close', () => {
      this.#client.options.password = redis().password
      this.#leave()
    })
    this.#client.connect().catch(() => undefined) // Its error event says why, and it tries again by itself.
  }

  get status(): 'away' | 'preparing' | 'prepared' | 'ready' {
    return this.#status
  }

  /** On the monotonic clock; of no meaning while ready. */
  get awaySinceMs(): number {
    return this.#awaySince
  }

  /** What the server said of itself when it was last prepared; kept while away. */
  get facts(): Facts | null {
    return this.#facts
  }

  /** Why it does not serve, as far as known. */
  get trouble(): string | null {
    return this.#trouble
  }

  /** The trouble is one that waiting does not mend: password, rights, certificate. */
  get isDenied(): boolean {
    return this.#isDenied
  }

  /** The store as a whole is fit to be used. */
  admit(): void {
    if (this.#status !== 'prepared') return
    this.#trouble = null
    this.#isDenied = false
    this.#change('ready')
  }

  /** EVALSHA travels alone; on NOSCRIPT nothing has run, and the source follows. */
  async evaluate(script: Script, keys: readonly string[], args: readonly (string | number)[], asking = false): Promise<Reply> {
    const rest = [keys.length, ...keys, ...args]
    try {
      return await this.#send('EVALSHA', [script.sha, ...rest], asking)
    } catch (error) {
      if (!isMissingScript(error)) throw error
      return this.#send('EVAL', [script.source, ...rest], asking)
    }
  }

  command(name: string, ...args: readonly (string | number)[]): Promise<Reply> {
    return this.#send(name, args, false)
  }

  /** Notices a peer that is there and silent: a cut cable, a stopped process. */
  async probe(): Promise<void> {
    if (this.#status === 'away' || this.#probing) return
    this.#probing = true
    try {
      await this.command('PING')
    } catch (error) {
      if (error instanceof Error && error.message === 'Command timed out') this.reconnect('the store did not answer in time')
    } finally {
      this.#probing = false
    }
  }

  reconnect(why: string): void {
    this.#trouble = why
    this.#leave() // At once: a peer that is silent does not answer a farewell either.
    if (this.#client.status !== 'reconnecting' && this.#client.status !== 'end') this.#client.disconnect(true)
  }

  close(): void {
    this.#cancelPrepare()
    this.#client.disconnect()
  }

  #send(name: string, args: readonly (string | number)[], asking: boolean): Promise<Reply> {
    if (asking) this.#client.call('ASKING').catch(() => undefined) // The command right behind it fails with it.
    return this.#client.call(name, [...args]) as Promise<Reply>
  }

  async #prepare(): Promise<void> {
    this.#cancelPrepare()
    this.#change('preparing')
    try {
      const [facts] = await Promise.all([factsOf((name, ...args) => this.command(name, ...args)), ...scripts().map(({ source }) => this.command('SCRIPT', 'LOAD', source))])
      this.#facts = facts
      if (this.#status === 'preparing') this.#change('prepared')
    } catch (error) {
      this.#note(error)
      if (this.#client.status === 'ready') this.#cancelPrepare = this.#options.time.after(PREPARE_AGAIN_MS, () => void this.#prepare())
    }
  }

  #note(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    this.#trouble = rightsSentence(message)
    this.#isDenied = DENIED.test(message)
    this.#options.onChange(this)
  }

  #leave(): void {
    this.#cancelPrepare()
    if (this.#status === 'away') return
    this.#trouble ??= 'the connection broke'
    if (this.#status === 'ready') this.#awaySince = this.#options.time.monotonicMs()
    this.#change('away')
  }

  #change(status: 'away' | 'preparing' | 'prepared' | 'ready'): void {
    this.#status = status
    this.#options.onChange(this)
  }
}
