/**
 * @module storage/redis/bus
 * Messages between masters, over a connection of its own that only listens. Channels, all behind the store's prefix:
 *
 *   s:<masterId>   signals to the master that holds a socket      wake           a type whose empty tier got a task
 *   event:<topic>  what plugins publish                           ev             entries of the event log (events.ts)
 *
 * A message may be lost, and everything that rests on one has another way to come true. Whenever the connection was made
 * anew all channels are subscribed again, then the types that were waited for are woken, in case a wake was lost.
 */
import { Redis, type RedisOptions } from 'ioredis'
import { FleetError } from '../../protocol/index.ts'
import { Backoff, type Cancel, type Log, type Random, type Time } from '../../runtime/index.ts'
import type { Bus, Signal } from '../index.ts'
import type { Caller } from './caller.ts'
import { notOpen, unavailable } from './errors.ts'
import { metaKey } from './keys.ts'
import { script } from './script.ts'
import { WAIT_MS } from './waiting.ts'

const RETRY_BASE_MS = 50
const RETRY_CAP_MS = 2_000
/** A silent connection is made anew when a probe got no answer for so long. */
const PROBE_EVERY_MS = 5_000

/** ARGV: channel and text of each. The key decides which server of a Cluster passes them on, and is never written. */
const PUBLISH = script('bus.publish', ['allow-oom'], `
for i = 2, #ARGV, 2 do redis.call('PUBLISH', ARGV[i], ARGV[i + 1]) end
`)

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
  #waiting: (() => void)[] = []
  #cancel: Cancel = () => undefined
  #cancelProbe: Cancel = () => undefined

  constructor(options: BusOptions) {
    this.#options = options
    this.#backoff = new Backoff({ baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, random: options.random, floor: 0.5 })
  }

  /** Resolves when everything is subscribed. */
  open(): Promise<void> {
    this.#listen('wake', (type) => this.#tell({ kind: 'wake', type }))
    this.#cancelProbe = this.#options.time.every(PROBE_EVERY_MS, () => void this.#probe())
    this.#connect()
    return this.#subscribed()
  }

  close(): void {
    this.#cancel()
    this.#cancelProbe()
    this.#client?.disconnect()
    this.#client = null
    this.#isSubscribed = false
    this.#channels.clear()
    this.#types.clear()
    for (const resolve of this.#waiting.splice(0)) resolve()
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
      await this.#client?.subscribe(this.#options.caller.channel(channel)) // Harmless where it is subscribed already.
    } catch (error) {
      end()
      throw error instanceof FleetError ? error : unavailable('the connection to the store broke', 'not_sent', { cause: error })
    }
    return end
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
  #subscribed(): Promise<void> {
    if (this.#isSubscribed) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const cancel = this.#options.time.after(WAIT_MS, () => reject(unavailable('the store is away: no connection to listen on', 'not_sent')))
      this.#waiting.push(() => {
        cancel()
        if (this.#isSubscribed) resolve()
        else reject(notOpen())
      })
    })
  }

  #connect(): void {
    const client = new Redis<'legacy'>({ ...this.#options.subscriber(), replyMapping: 'legacy', retryStrategy: null })
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
    } catch {
      client.disconnect() // Its end event makes the next one.
      return
    }
    if (client !== this.#client) return
    this.#backoff.reset()
    this.#isSubscribed = true
    for (const resolve of this.#waiting.splice(0)) resolve()
    for (const on of this.#subscribedListeners) on()
    this.wakeAll()
  }

  #lost(client: Redis): void {
    if (client !== this.#client) return
    this.#isSubscribed = false
    this.#cancel = this.#options.time.after(this.#backoff.nextMs(), () => {
      if (this.#client === client) this.#connect()
    })
  }

  /** A connection that only listens notices a cut cable by asking alone. */
  async #probe(): Promise<void> {
    const client = this.#client
    if (client === null || !this.#isSubscribed) return
    let answered = false
    this.#options.time.after(PROBE_EVERY_MS - 1, () => {
      if (!answered && client === this.#client) client.disconnect()
    })
    answered = await client.ping().then(() => true, () => false)
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
    await caller.run(PUBLISH, [metaKey('bus')], pairs.map((each, i) => (i % 2 === 0 ? caller.channel(each) : each)))
  }
}

/** Anybody with rights on the store can publish; what is not a signal is null. */
function signalOf(text: string): Signal | null {
  try {
    const { kind, ref, conn, gen, type } = JSON.parse(text) as Record<string, unknown>
    if (kind === 'wake') return typeof type === 'string' ? { kind, type } : null
    const { type: refType, id } = (ref ?? {}) as Record<string, unknown>
    if (typeof refType !== 'string' || typeof id !== 'string' || typeof conn !== 'string') return null
    if (kind === 'config_changed') return typeof gen === 'number' ? { kind, ref: { type: refType, id }, conn, gen } : null
    return kind === 'drain' || kind === 'replaced' ? { kind, ref: { type: refType, id }, conn } : null
  } catch {
    return null // Not JSON, or null.
  }
}
