/**
 * @module storage/redis/bus
 * Messages between masters, over a connection of its own that only listens. Channels, all behind the store's prefix:
 *
 *   s:<masterId>   signals to the master that holds a socket      wake           a type whose empty tier got a task
 *   fin            retained tasks that finished                  w:<process>    as `wake`, to a master that registered
 *   join           a master that starts
 *   event:<topic>  what plugins publish, and what workers emit    ev             entries of the event log (events.ts)
 *
 * A Cluster copies a message of such a channel to every node. There `event:<topic>` and `w:<process>`, one per type,
 * are sharded channels instead (sharded-bus.ts), once every live master subscribes to those. A new master subscribes to
 * both channels, a message is published on one of them, and masters of an older release know the first alone (D92).
 *
 * A message may be lost, and everything that rests on one has another way to come true. Whenever the connection was
 * made anew all channels are subscribed again, then the types that were waited for are woken, in case a wake was lost.
 * A wake names its publisher, which ignores it: it knows already which of its calls made tasks pending.
 */
import { Redis, type RedisOptions } from 'ioredis'
import { FleetError } from '../../protocol/index.ts'
import { Backoff, type Cancel, type Log, type Random, type Time } from '../../runtime/index.ts'
import type { Bus, LeaseRef, MasterSignal, Ref } from '../index.ts'
import type { Caller } from './caller.ts'
import { isReply, notOpen, unavailable } from './errors.ts'
import { keysOfType, metaKey, shardedTopic, shardedWakes, topicKey } from './keys.ts'
import { script } from './script.ts'
import type { ShardedBus } from './sharded-bus.ts'
import { finishedTasks, wokenType } from './tasks-layout.ts'
import { WAIT_MS } from './waiting.ts'
import { explain } from './connection-errors.ts'

const OPEN_WITHIN_MS = 10_000
const RETRY_BASE_MS = 50
const RETRY_CAP_MS = 500
const PROBE_EVERY_MS = 2_000

const PUBLISH = script('bus.publish')
const PUBLISH_SHARDED = script('bus.publish-sharded')
const PASS_WAKE = script('tasks.pass-wake')

/**
 * How a message of a topic is published. `asked`: on a single server, if its counts show a subscriber. `always`: on a
 * Cluster, whose node cannot count the subscribers of others. `sharded`: on a Cluster, on the node of the topic's tag.
 */
export type PublishMode = 'asked' | 'always' | 'sharded'

type Listener = (data: string) => void

export interface RedisBusDeps {
  /** On a Cluster alone. */
  readonly sharded?: { readonly bus: ShardedBus; readonly isUsedByAll: () => boolean } | undefined
  readonly caller: Caller
  /** Whether every live master registers for wake-ups. */
  readonly isRegistering?: () => boolean
  /** How the next connection is to be made. */
  readonly subscriber: () => RedisOptions
  readonly time: Time
  readonly random: Random
  readonly log?: Log | undefined
}

export class RedisBus implements Bus {
  readonly #deps: RedisBusDeps
  readonly #backoff: Backoff
  readonly #channels = new Map<string, Set<Listener>>()
  readonly #signalListeners = new Set<(signal: MasterSignal) => void>()
  readonly #subscribedListeners = new Set<() => void>()
  #onJoin: () => void = () => undefined
  /** Types for which this process reserves tasks. */
  readonly #types = new Set<string>()
  #client: Redis | null = null
  #isSubscribed = false
  #unavailableSince: number
  #waiting: { readonly resolve: () => void; readonly reject: (error: FleetError) => void }[] = []
  /** Why nothing is subscribed, as far as known. */
  #trouble = 'no connection for subscriptions'
  #cancel: Cancel = () => undefined
  #cancelProbe: Cancel = () => undefined

  constructor(deps: RedisBusDeps) {
    this.#deps = deps
    this.#unavailableSince = deps.time.monotonicMs()
    this.#backoff = new Backoff({ baseMs: RETRY_BASE_MS, capMs: RETRY_CAP_MS, random: deps.random, floor: 0.5 })
  }

  get publishMode(): PublishMode {
    const { sharded } = this.#deps
    if (sharded === undefined) return 'asked'
    return sharded.isUsedByAll() ? 'sharded' : 'always'
  }

  /** Resolves when everything is subscribed. */
  open(): Promise<void> {
    this.#deps.sharded?.bus.open()
    this.#unavailableSince = this.#deps.time.monotonicMs()
    this.#listen('wake', (message) => this.#onWake(message))
    this.#listen(`w:${this.#deps.caller.publisher}`, (message) => this.#onChosen(message))
    this.#listen('fin', (message) => this.#onFinished(message))
    this.#listen('join', (masterId) => this.#onJoined(masterId))
    this.#cancelProbe = this.#deps.time.every(PROBE_EVERY_MS, () => void this.#probe())
    this.#connect()
    return this.#subscribed(OPEN_WITHIN_MS)
  }

  close(): void {
    this.#cancel()
    this.#cancelProbe()
    this.#deps.sharded?.bus.close()
    this.#client?.disconnect()
    this.#client = null
    this.#isSubscribed = false
    this.#channels.clear()
    this.#types.clear()
    for (const { reject } of this.#waiting.splice(0)) reject(notOpen())
  }

  async publish(messages: readonly { readonly topic: string; readonly data: string }[]): Promise<void> {
    if (messages.length === 0) return
    if (this.publishMode !== 'sharded') {
      return this.#publish(messages.flatMap(({ topic, data }) => [`event:${topic}`, data]))
    }
    const { caller } = this.#deps
    const publish = (topic: string, data: string): Promise<unknown> =>
      caller.run(PUBLISH_SHARDED, [topicKey(topic)], [caller.channel(shardedTopic(topic)), data])
    await Promise.all(messages.map(({ topic, data }) => publish(topic, data)))
  }

  async subscribe(topic: string, on: (data: string) => void): Promise<() => void> {
    const { sharded, caller } = this.#deps
    const end = await this.listen(`event:${topic}`, on)
    if (sharded === undefined) return end
    try {
      const endSharded = await sharded.bus.listen(caller.channel(shardedTopic(topic)), on)
      return () => {
        end()
        endSharded()
      }
    } catch (error) {
      end()
      throw error
    }
  }

  async signal(masterId: string, ...signals: readonly MasterSignal[]): Promise<void> {
    await this.#publish([`s:${masterId}`, JSON.stringify(signals.length === 1 ? signals[0] : signals)])
  }

  onSignal(on: (signal: MasterSignal) => void): () => void {
    const listener = (signal: MasterSignal): void => on(signal) // Its own, so that one function may listen twice.
    this.#signalListeners.add(listener)
    return () => void this.#signalListeners.delete(listener)
  }

  /** From now on this process is `masterId` and receives its signals. */
  async receiveFor(masterId: string): Promise<void> {
    const channel = `s:${masterId}`
    if (!this.#channels.has(channel)) await this.listen(channel, (text) => this.#signalled(text))
  }

  /** A type that is waited for; woken whenever a wake may have been lost. */
  readonly expectWakes = (type: string): void => {
    if (this.#types.has(type)) return
    this.#types.add(type)
    const { sharded, caller } = this.#deps
    const channel = caller.channel(shardedWakes(type) + caller.publisher)
    // Where it fails, the next reserve tries again; until then a wake may be lost.
    sharded?.bus.listen(channel, (message) => this.#onChosen(message)).catch(() => this.#types.delete(type))
  }

  /** The beginning of the channels that wake single masters for a type; null unless every master registers. */
  readonly wakePrefix = (type: string): string | null => {
    const { sharded, caller, isRegistering } = this.#deps
    if (isRegistering?.() !== true) return null
    return caller.channel(sharded === undefined ? 'w:' : shardedWakes(type))
  }

  async passWake(type: string): Promise<void> {
    const { caller } = this.#deps
    const args = [this.wakePrefix(type) ?? '', `${type} ${caller.publisher}`]
    await caller.run(PASS_WAKE, keysOfType(PASS_WAKE, type), args)
  }

  wakeAll(): void {
    for (const type of this.#types) this.#tell({ kind: 'wake', type })
  }

  /** Called when another master may have joined: it said so, or the connection was lost meanwhile. */
  onJoin(on: () => void): void {
    this.#onJoin = on
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
    const [client, sentMs] = [this.#client, this.#deps.time.monotonicMs()]
    try {
      await client?.subscribe(this.#deps.caller.channel(channel))
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
      // It broke: nothing is subscribed any more.
      if (this.#isSubscribed) this.#client?.unsubscribe(this.#deps.caller.channel(channel)).catch(() => undefined)
    }
  }

  /** Waits for a connection, as long as a call may wait for one. */
  #subscribed(withinMs = WAIT_MS): Promise<void> {
    if (this.#isSubscribed) return Promise.resolve()
    const { time } = this.#deps
    const timedOut = (): FleetError => unavailable(`the store is unavailable: ${this.#trouble}`, 'not_sent')
    const leftMs = this.#unavailableSince + withinMs - time.monotonicMs()
    if (leftMs <= 0) return Promise.reject(timedOut())
    return new Promise((resolve, reject) => {
      const cancel = time.after(leftMs, () => reject(timedOut()))
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
      ...this.#deps.subscriber(),
      replyMapping: 'legacy',
      retryStrategy: null,
      sentinelRetryStrategy: () => null,
    })
    this.#client = client
    client.on('error', () => undefined) // The end event follows, and the commands' connection says why.
    client.on('message', (channel: string, data: string) => this.#onMessage(channel, data))
    client.once('ready', () => void this.#resubscribe(client))
    client.once('end', () => this.#lost(client))
    client.connect().catch(() => undefined) // The end event follows, and connects again.
  }

  async #resubscribe(client: Redis): Promise<void> {
    try {
      const { channel } = this.#deps.caller
      await client.subscribe(...[...this.#channels.keys()].map(channel))
    } catch (error) {
      this.#refused(error)
      client.disconnect() // Its end event makes the next one.
      return
    }
    if (client !== this.#client) return
    this.#backoff.reset()
    this.#isSubscribed = true
    this.#onJoin()
    for (const { resolve } of this.#waiting.splice(0)) resolve()
    for (const on of this.#subscribedListeners) on()
    this.wakeAll()
  }

  /** Rejects waiting callers if the user of the store may not subscribe, since waiting does not help. */
  #refused(error: unknown): void {
    const { sentence, isPermanent: isHopeless } = explain(error)
    this.#trouble = sentence
    if (isHopeless)
      for (const { reject } of this.#waiting.splice(0)) reject(unavailable(sentence, 'not_sent', { cause: error }))
  }

  #leave(sinceMs: number): void {
    this.#unavailableSince = this.#isSubscribed ? sinceMs : Math.min(sinceMs, this.#unavailableSince)
    this.#isSubscribed = false
  }

  #lost(client: Redis): void {
    if (client !== this.#client) return
    if (this.#isSubscribed) this.#leave(this.#deps.time.monotonicMs())
    this.#cancel = this.#deps.time.after(this.#backoff.nextMs(), () => {
      if (this.#client === client) this.#connect()
    })
  }

  /** A connection that only listens notices a cut cable only by a ping; it is closed when no reply comes. */
  async #probe(): Promise<void> {
    if (this.#isSubscribed) await this.#client?.ping().catch(() => undefined)
  }

  #onMessage(channel: string, data: string): void {
    const name = channel.slice(this.#deps.caller.channel('').length)
    for (const listener of this.#channels.get(name) ?? []) listener(data)
  }

  #onWake(message: string): void {
    const type = wokenType(message, this.#deps.caller)
    if (type !== null) this.#tell({ kind: 'wake', type })
  }

  #onChosen(message: string): void {
    const [type = ''] = message.split(' ')
    this.#tell({ kind: 'wake', type, isChosen: true })
  }

  #onJoined(masterId: string): void {
    if (this.#channels.has(`s:${masterId}`)) return
    this.#onJoin()
    this.wakeAll() // A reserve of a master that was alone did not register it.
  }

  #onFinished(message: string): void {
    const finished = finishedTasks(message, this.#deps.caller)
    if (finished !== null) this.#tell({ kind: 'finished', ...finished })
  }

  #signalled(text: string): void {
    for (const signal of signalsOf(text)) {
      if (signal === null) this.#deps.log?.warn('ignored an invalid message from another master')
      else this.#tell(signal)
    }
  }

  #tell(signal: MasterSignal): void {
    for (const listener of this.#signalListeners) listener(signal)
  }

  async #publish(pairs: readonly string[]): Promise<void> {
    const { caller } = this.#deps
    await caller.run(
      PUBLISH,
      [metaKey('bus')],
      pairs.map((each, i) => (i % 2 === 0 ? caller.channel(each) : each)),
    )
  }
}

/** A message has one signal, or a list of them. What is not a signal is null: any client of the store can publish. */
function signalsOf(text: string): readonly (MasterSignal | null)[] {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value.map(signalOf) : [signalOf(value)]
  } catch {
    return [null] // Not JSON.
  }
}

function signalOf(value: unknown): MasterSignal | null {
  const { kind, ref, conn, gen, leases, read, type } = Object(value) as Record<string, unknown>
  if (kind === 'wake') return typeof type === 'string' ? { kind, type } : null
  const { type: refType, id } = Object(ref) as Record<string, unknown>
  if (typeof refType !== 'string' || typeof id !== 'string' || typeof conn !== 'string') return null
  if (kind === 'config_changed') return typeof gen === 'number' ? { kind, ref: { type: refType, id }, conn, gen } : null
  if (kind === 'cancelled') {
    const ended = leasesOf(leases)
    return ended === null ? null : { kind, ref: { type: refType, id }, conn, leases: ended }
  }
  if (kind === 'read_logs' || kind === 'logs') return logSignalOf(kind, { type: refType, id }, conn, read)
  return kind === 'drain' || kind === 'replaced' ? { kind, ref: { type: refType, id }, conn } : null
}

function leasesOf(value: unknown): readonly LeaseRef[] | null {
  if (!Array.isArray(value)) return null
  const leases = value.map((each) => Object(each) as Partial<LeaseRef>)
  const isValid = leases.every(({ id, token }) => typeof id === 'string' && Number.isSafeInteger(token))
  return isValid ? (leases as readonly LeaseRef[]) : null
}

function logSignalOf(kind: 'read_logs' | 'logs', ref: Ref, conn: string, value: unknown): MasterSignal | null {
  const { id, replyTo, query, result } = Object(value) as Record<string, unknown>
  if (typeof id !== 'string') return null
  if (kind === 'logs') return typeof result === 'string' ? { kind, ref, conn, read: { id, result } } : null
  const isRead = typeof replyTo === 'string' && typeof query === 'string'
  return isRead ? { kind, ref, conn, read: { id, replyTo, query } } : null
}
