/**
 * @module storage/redis/node
 * Connects to one Redis server. A broken connection is replaced, and every script is loaded before it is used.
 *
 *   disconnected ──▶ preparing ──scripts loaded, facts read──▶ prepared ──the whole store is admitted──▶ ready
 *     ▲                └─ failed: again after 500 ms             ▲                                         │
 *     │                                                          └──── a newer release uses the store ─────┤
 *     └─────────────────────────── connection broke, or a probe got no response ───────────────────────────┘
 *
 * Nothing is queued while disconnected, and nothing is sent twice: calls in flight when the connection broke are
 * reported as unknown, since they may have run. A connection that owes responses and is silent is closed; one on which
 * a large response is still arriving is not. An outage is counted from the oldest call without a response, so that
 * calls which waited behind it do not wait the full time again.
 */
import { Redis, type RedisOptions } from 'ioredis'
import type { Cancel, Random, Time } from '../../runtime/index.ts'
import type { Reply } from './caller.ts'
import { factsOf, isTooOld, type Facts } from './checks.ts'
import { faultOf, isMissingScript, NO_REPLICAS, RECONNECT } from './errors.ts'
import { scripts, type Script } from './script.ts'
import { closeWhenSilent } from './read-timeout.ts'
import { WAIT_MS } from './waiting.ts'
import { explain } from './connection-errors.ts'

const RECONNECT_BASE_MS = 50
/** A store that is back is found within half a second; waiting reserves count on that. */
const RECONNECT_CAP_MS = 500
const PREPARE_AGAIN_MS = 500
const DISCONNECT_TIMEOUT_MS = 100
/** How long a connection to a primary without replicas is kept before the sentinels are asked for another primary. */
const WITHOUT_REPLICAS_MS = 1_000

/** With its defaults ioredis sends commands again whose reply was cut off, and so runs them twice. */
export function clientOptions(random: Random): RedisOptions {
  return {
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableOfflineQueue: false,
    enableAutoPipelining: false,
    autoResubscribe: false,
    lazyConnect: true,
    protocol: 2,
    connectTimeout: WAIT_MS,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    maxLoadingRetryTime: RECONNECT_CAP_MS,
    disableClientInfo: true,
    retryStrategy: (times) => delayMs(times, random),
    sentinelRetryStrategy: (times) => delayMs(times, random),
    sentinelCommandTimeout: WAIT_MS,
    reconnectOnError: (error) => RECONNECT.test(error.message),
  }
}

const delayMs = (times: number, random: Random): number =>
  Math.ceil(Math.min(RECONNECT_CAP_MS, RECONNECT_BASE_MS * 2 ** Math.min(times - 1, 10)) * (0.5 + random.unit() / 2))

export interface StoreNodeDeps {
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
  readonly #deps: StoreNodeDeps
  readonly #client: Redis
  #status: 'disconnected' | 'preparing' | 'prepared' | 'ready' = 'disconnected'
  #unavailableSince: number
  /**
   * When the oldest call was sent that got no reply or was not carried out; null: none since it last took a change.
   */
  #failingSince: number | null = null
  #facts: Facts | null = null
  #trouble: string | null = null
  #cancelPrepare: Cancel = () => undefined
  #isDenied = false
  #probing = false
  #due = 0
  #connectedAtMs = 0

  constructor(deps: StoreNodeDeps) {
    const { name, redis, random, time } = deps
    this.name = name
    this.#deps = deps
    this.#unavailableSince = time.monotonicMs()

    /** Passwords may have changed since. */
    const renew = (): void => {
      const { password, sentinelPassword } = redis()
      Object.assign(this.#client.options, { password, sentinelPassword })
    }
    this.#client = new Redis<'legacy'>({
      ...clientOptions(random),
      ...redis(),
      replyMapping: 'legacy',
      reconnectOnError: (error) => RECONNECT.test(error.message) || this.#mayBeReplaced(error),
    })
    this.#client.on('connect', () => {
      this.#connectedAtMs = time.monotonicMs()
      closeWhenSilent(this.#client.stream, () => this.#due > 0 || this.#client.status !== 'ready', time)
    })
    this.#client.on('error', (error: Error) => {
      renew() // While no sentinel responds, no close event follows.
      this.#note(error)
    })
    this.#client.on('ready', () => void this.#prepare())
    this.#client.on('close', () => {
      renew()
      this.#leave()
    })
    this.#client.connect().catch(() => undefined) // Its error event says why, and it tries again by itself.
  }

  get status(): 'disconnected' | 'preparing' | 'prepared' | 'ready' {
    return this.#status
  }

  /** Since when it carries out no changes, on the monotonic clock; while ready, and none has failed, of no meaning. */
  get unavailableSinceMs(): number {
    if (this.#status === 'ready') return this.#failingSince ?? this.#deps.time.monotonicMs()
    return Math.min(this.#unavailableSince, this.#failingSince ?? Infinity)
  }

  /** What the server said of itself when it was last prepared; kept while disconnected. */
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
    this.#failingSince = null
    this.#trouble = null
    this.#isDenied = false
    this.#change('ready')
  }

  /** The store as a whole may not be used any more; the connection stays, and {@link admit} ends this. */
  withdraw(): void {
    if (this.#status !== 'ready') return
    this.#unavailableSince = this.#deps.time.monotonicMs()
    this.#change('prepared')
  }

  /** EVALSHA travels alone; on NOSCRIPT nothing has run, and the source follows. */
  async evaluate(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    asking = false,
  ): Promise<Reply> {
    const rest = [keys.length, ...keys, ...args]
    const reply = await this.#send('EVALSHA', [script.sha, ...rest], asking).catch((error: unknown) => {
      if (!isMissingScript(error)) throw error
      return this.#send('EVAL', [script.source, ...rest], asking)
    })
    if (script.writes) this.#failingSince = null // A server that takes no changes may still serve reads.
    return reply
  }

  command(name: string, ...args: readonly (string | number)[]): Promise<Reply> {
    return this.#send(name, args, false)
  }

  /** Notices a peer that is there and silent: a cut cable, a stopped process. */
  async probe(): Promise<void> {
    if (this.#status === 'disconnected' || this.#probing) return
    this.#probing = true
    await this.command('PING').catch(() => undefined) // What became of it is noted where it was sent.
    this.#probing = false
  }

  close(): void {
    this.#cancelPrepare()
    this.#client.disconnect()
  }

  async #send(name: string, args: readonly (string | number)[], asking: boolean): Promise<Reply> {
    const sentMs = this.#deps.time.monotonicMs()
    this.#due += 1
    try {
      if (asking) this.#client.call('ASKING').catch(() => undefined) // The command right behind it fails with it.
      return (await this.#client.call(name, [...args])) as Reply
    } catch (error) {
      this.#failed(error, sentMs)
      throw error
    } finally {
      this.#due -= 1
    }
  }

  #failed(error: unknown, sentMs: number): void {
    const fault = faultOf(error)
    if (fault.kind !== 'unknown' && fault.kind !== 'not_run') return // The server replied.
    this.#failingSince = Math.min(sentMs, this.#failingSince ?? Infinity)
    if (fault.kind === 'not_run' && this.#status === 'ready') this.#trouble = fault.why
  }

  async #prepare(): Promise<void> {
    this.#cancelPrepare()
    this.#change('preparing')
    try {
      const loading = Promise.all(scripts().map(({ source }) => this.command('SCRIPT', 'LOAD', source)))
      loading.catch(() => undefined) // Awaited below, unless this server is refused.
      this.#facts = await factsOf((name, ...args) => this.command(name, ...args))
      if (!isTooOld(this.#facts)) await loading // Else it knows no scripts like ours, and is refused for its version.
      if (this.#status === 'preparing') this.#change('prepared')
    } catch (error) {
      this.#note(error)
      if (this.#client.status === 'ready')
        this.#cancelPrepare = this.#deps.time.after(PREPARE_AGAIN_MS, () => void this.#prepare())
    }
  }

  /**
   * A primary that lost its replicas may have been replaced by one of them. The sentinels demote it up to 12 s later,
   * and the client asks them for the current primary only when it connects.
   */
  #mayBeReplaced({ message }: Error): boolean {
    const isBehindSentinels = (this.#client.options.sentinels ?? []).length > 0
    const sinceMs = this.#deps.time.monotonicMs() - this.#connectedAtMs
    return isBehindSentinels && NO_REPLICAS.test(message) && sinceMs > WITHOUT_REPLICAS_MS
  }

  #note(error: unknown): void {
    const { sentence, isPermanent: isHopeless } = explain(error)
    this.#trouble = sentence
    this.#isDenied = isHopeless
    this.#deps.onChange(this)
  }

  #leave(): void {
    this.#cancelPrepare()
    if (this.#status === 'disconnected') return
    this.#trouble ??= 'the connection broke'
    if (this.#status === 'ready') this.#unavailableSince = this.#deps.time.monotonicMs()
    this.#change('disconnected')
  }

  #change(status: 'disconnected' | 'preparing' | 'prepared' | 'ready'): void {
    this.#status = status
    this.#deps.onChange(this)
  }
}
