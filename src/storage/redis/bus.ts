/**
 * @module storage/redis/bus
 * Messages between masters, over a connection of its own that only listens. Channels, all behind the store's prefix:
 *
 *   s:<masterId>   signals to the master that holds a socket      wake           a type whose empty tier got a task
 *   event:<topic>  what plugins publish, and what workers emit    ev             entries of the event log (events.ts)
 *
 * A message may be lost, and everything that rests on one has another way to come true. Whenever the connection was made
 * anew all channels are subscribed again, then the types that were waited for are woken, in case a wake was lost.
 */
import { Redis, type RedisOptions } from 'ioredis'
import { FleetError } from '../../protocol/index.ts'
import { Backoff, type Cancel, type Log, type Random, type Time } from '../../runtime/index.ts'
import type { Bus, Signal } from '../index.ts'
import type { Caller } from './caller.ts'
import { isReply, notOpen, unavailable } from './errors.ts'
import { metaKey } from './keys.ts'
import { script } from './script.ts'
import { WAIT_MS } from './waiting.ts'
import { inWords } from './words.ts'

const OPEN_WITHIN_MS = 10_000
const RETRY_BASE_MS = 50
const RETRY_CAP_MS = 500
const PROBE_EVERY_MS = 2_000

/** ARGV: channel and text of each. The key decides which server of a Cluster passes them on, and is never written. */
const PUBLISH = script(
  'bus.publish',
  ['allow-oom'],
  `
for i = 2, #ARGV, 2 do redis.call('PUBLISH', ARGV[i], ARGV[i + 1]) end
`,
)

type Listener = (data: string) => void

export interface BusOptions {
  readonly caller: Caller
  /** How the next connection is to be made. */
  readonly subscriber: () => RedisOptions
  readonly time: Time
  readonly random: Random
  readonly log?: Log | undefined
}

export class RedisBus implements Bus {
  readonly #options: BusOptions
  readonly #backoff: Backoff
  readonly #channels = new Map<string, Set<Listener>>()
  readonly #signalListeners = new Set<(signal: Signal) => void>()
  readonly #subscribedListeners = new Set<() => void>()
  /** Types somebody asked tasks of. */
  readonly #types = new Set<string>()
  #client: Redis | null = null
  #isSubscribed = false
  #awaySince: number
  #waiting: { readonly resolve: () => void; readonly reject: (error: FleetError) => void }[] = []
  /** Why nothing is subscribed, as far as known. */
  #trouble = 'no connection to listen on'
  #cancel: Cancel = () => undefined
  #cancelProbe: Cancel = () => undefined

  constructor(options: BusOptions) {
    this.#options = options
    this.#awaySince = options.time.monotonicMs()
    this.#backoff = new Backoff({ baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, random: options.random, floor: 0.5 })
  }

  /** Resolves when everything is subscribed. */
  open(): Promise<void> {
    this.#awaySince = this.#options.time.monotonicMs()
    this.#listen('wake', (type) => this.#tell({ kind: 'wake', type }))
    this.#cancelProbe = this.#options.time.every(PROBE_EVERY_MS, () => void this.#probe())
    this.#connect()
    return this.#subscribed(OPEN_WITHIN_MS)
  }

  close(): void {
    this.#cancel()
    this.#cancelProbe()
    this.#client?.disconnect()
    this.#client = null
    this.#isSubscribed = false
    this.#channels.clear()
    this.#types.clear()
    for (const { reject } of this.#waiting.splice(0)) reject(notOpen())
  }

  async publish(messages: readonly { readonly topic: string; readonly data: string }[]): Promise<void> {
    if (messages.length > 0) await this.#publish(messages.flatMap(({ topic, data }) => [`event:${topic}`, data]))
  }

  subscribe(topic: string, on: (data: string) => void): Promise<() => void> {
    return this.listen(`event:${topic}`, on)
  }

  async signal(masterId: string, signal: Signal): Promise<void> {
    await this.#publish([`s:${masterId}`, JSON.stringify(signal)])
  }

  onSignal(on: (signal: Signal) => void): () => void {
    const listener = (signal: Signal): void => on(signal) // Its own, so that one function may listen twice.
    this.#signalListeners.add(listener)
    return () => void this.#signalListeners.delete(listener)
  }

  /** From now on this process is `masterId`, and hears what is sent to it. */
  async answerTo(masterId: string): Promise<void> {
    const channel = `s:${masterId}`
    if (!this.#channels.has(channel)) await this.listen(channel, (text) => this.#signalled(text))
  }

  /** A type that is waited for; woken whenever a wake may have been lost. */
  expectWakes(type: string): void {
    this.#types.add(type)
  }

  wakeAll(): void {
    for (const type of this.#types) this.#tell({ kind: 'wake', type })
  }

  /** Called whenever the connection was made and all channels are subscribed. */
  onSubscribed(on: () => void): void {
    this.#subscribedListeners.add(on)
  }

  /** Resolves when the channel is subscribed. */
  async listen(channel: string, on: Listener): Promise<() => void> {
    const end = this.#listen(channel, on)
    try {
      await this.#subscribed()
      await this.#subscribe(channel)
    } catch (error) {
      end()
      throw error instanceof FleetError
        ? error
        : unavailable('the connection to the store broke', 'not_sent', { cause: error })
    }
    return end
  }

  /** Harmless where it is subscribed already. */
  async #subscribe(channel: string): Promise<void> {
    const [client, sentMs] = [this.#client, this.#options.time.monotonicMs()]
    try {
      await client?.subscribe(this.#options.caller.channel(channel))
    } catch (error) {
      if (client === this.#client && !isReply(error)) this.#leave(sentMs)
      throw error
    }
  }

  #listen(channel: string, on: Listener): () => void {
    const listener = (data: string): void => on(data)
    const listeners = this.#channels.get(channel) ?? new Set()
    listeners.add(listener)
    this.#channels.set(channel, listeners)
    return () => {
      if (!listeners.delete(listener) || listeners.size > 0) return
      this.#channels.delete(channel)
      if (this.#isSubscribed) this.#client?.unsubscribe(this.#options.caller.channel(channel)).catch(() => undefined) // It broke: nothing is subscribed any more.
    }
  }

  /** Waits for a connection, as long as a call may wait for one. */
  #subscribed(withinMs = WAIT_MS): Promise<void> {
    if (this.#isSubscribed) return Promise.resolve()
    const { time } = this.#options
    const isAway = (): FleetError => unavailable(`the store is away: ${this.#trouble}`, 'not_sent')
    const leftMs = this.#awaySince + withinMs - time.monotonicMs()
    if (leftMs <= 0) return Promise.reject(isAway())
    return new Promise((resolve, reject) => {
      const cancel = time.after(leftMs, () => reject(isAway()))
      this.#waiting.push({
        resolve: () => {
          cancel()
          resolve()
        },
        reject: (error) => {
          cancel()
          reject(error)
        },
      })
    })
  }

  #connect(): void {
    const client = new Redis<'legacy'>({
      ...this.#options.subscriber(),
      replyMapping: 'legacy',
      retryStrategy: null,
      sentinelRetryStrategy: () => null,
    })
    this.#client = client
    client.on('error', () => undefined) // The end event follows, and the commands' connection says why.
    client.on('message', (channel: string, data: string) => this.#heard(channel, data))
    client.once('ready', () => void this.#resubscribe(client))
    client.once('end', () => this.#lost(client))
    client.connect().catch(() => undefined)
  }

  async #resubscribe(client: Redis): Promise<void> {
    try {
      const { channel } = this.#options.caller
      await client.subscribe(...[...this.#channels.keys()].map(channel))
    } catch (error) {
      this.#refused(error)
      client.disconnect() // Its end event makes the next one.
      return
    }
    if (client !== this.#client) return
    this.#backoff.reset()
    this.#isSubscribed = true
    for (const { resolve } of this.#waiting.splice(0)) resolve()
    for (const on of this.#subscribedListeners) on()
    this.wakeAll()
  }

  /** Nobody waits for what waiting does not mend: the user of the store may not listen. */
  #refused(error: unknown): void {
    const { sentence, isHopeless } = inWords(error)
    this.#trouble = sentence
    if (isHopeless)
      for (const { reject } of this.#waiting.splice(0)) reject(unavailable(sentence, 'not_sent', { cause: error }))
  }

  #leave(sinceMs: number): void {
    this.#awaySince = this.#isSubscribed ? sinceMs : Math.min(sinceMs, this.#awaySince)
    this.#isSubscribed = false
  }

  #lost(client: Redis): void {
    if (client !== this.#client) return
    if (this.#isSubscribed) this.#leave(this.#options.time.monotonicMs())
    this.#cancel = this.#options.time.after(this.#backoff.nextMs(), () => {
      if (this.#client === client) this.#connect()
    })
  }

  /** A connection that only listens notices a cut cable by asking alone; it ends when no answer comes. */
  async #probe(): Promise<void> {
    if (this.#isSubscribed) await this.#client?.ping().catch(() => undefined)
  }

  #heard(channel: string, data: string): void {
    const name = channel.slice(this.#options.caller.channel('').length)
    for (const listener of this.#channels.get(name) ?? []) listener(data)
  }

  #signalled(text: string): void {
    const signal = signalOf(text)
    if (signal === null) this.#options.log?.warn('a message of another master was not understood')
    else this.#tell(signal)
  }

  #tell(signal: Signal): void {
    for (const listener of this.#signalListeners) listener(signal)
  }

  async #publish(pairs: readonly string[]): Promise<void> {
    const { caller } = this.#options
    await caller.run(
      PUBLISH,
      [metaKey('bus')],
      pairs.map((each, i) => (i % 2 === 0 ? caller.channel(each) : each)),
    )
  }
}

/** Anybody with rights on the store can publish; what is not a signal is null. */
function signalOf(text: string): Signal | null {
  try {
    const { kind, ref, conn, gen, type } = JSON.parse(text) as Record<string, unknown>
    if (kind === 'wake') return typeof type === 'string' ? { kind, type } : null
    const { type: refType, id } = (ref ?? {}) as Record<string, unknown>
    if (typeof refType !== 'string' || typeof id !== 'string' || typeof conn !== 'string') return null
    if (kind === 'config_changed')
      return typeof gen === 'number' ? { kind, ref: { type: refType, id }, conn, gen } : null
    return kind === 'drain' || kind === 'replaced' ? { kind, ref: { type: refType, id }, conn } : null
  } catch {
    return null // Not JSON, or null.
  }
}
