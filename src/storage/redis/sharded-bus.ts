/**
 * @module storage/redis/sharded-bus
 * Subscribes to sharded channels of a Redis Cluster. The tag of a channel decides its node, as the tag of a key does,
 * so a message stays on that node and a script can count the subscribers there. There is one connection per node that
 * serves a channel in use. Every 2 s, and after each lost connection, all channels are subscribed again where their
 * slots are now. A message that is published meanwhile is lost, as on every channel of the bus.
 *
 *   listen ─▶ node of the slot ─SSUBSCRIBE─▶ subscribed ─slot moved, connection lost─▶ subscribed elsewhere
 */
import { Redis, type RedisOptions } from 'ioredis'
import { FleetError } from '../../protocol/index.ts'
import { Backoff, type Cancel, type Random, type Time } from '../../runtime/index.ts'
import { faultOf, unavailable } from './errors.ts'
import { slotOf } from './slots.ts'
import { explain } from './connection-errors.ts'

const RETRY = { baseMs: 50, capMs: 500, floor: 0.5 }
const RENEW_EVERY_MS = 2_000
/** After that many redirections of one subscription the caller is refused; the renewal tries again. */
const MAX_REDIRECTIONS = 3

type Listener = (data: string) => void

export interface ShardedBusDeps {
  /** The node that serves a slot, and how to connect to it; undefined while none is known. */
  readonly nodeOf: (slot: number) => { readonly name: string; readonly options: RedisOptions } | undefined
  /** Reads anew which node serves which slot. */
  readonly refresh: () => Promise<void>
  readonly time: Time
  readonly random: Random
}

interface Subscriber {
  readonly client: Redis
  readonly ready: Promise<void>
}

export class ShardedBus {
  readonly #deps: ShardedBusDeps
  readonly #backoff: Backoff
  readonly #channels = new Map<string, Set<Listener>>()
  readonly #subscribers = new Map<string, Subscriber>()
  #cancelRenewal: Cancel = () => undefined
  #cancelRetry: Cancel = () => undefined

  constructor(deps: ShardedBusDeps) {
    this.#deps = deps
    this.#backoff = new Backoff({ ...RETRY, random: deps.random })
  }

  open(): void {
    this.#cancelRenewal = this.#deps.time.every(RENEW_EVERY_MS, () => void this.#renew())
  }

  close(): void {
    this.#cancelRenewal()
    this.#cancelRetry()
    this.#channels.clear()
    for (const { client } of this.#subscribers.values()) client.disconnect()
    this.#subscribers.clear()
  }

  /**
   * Subscribes `on` to a channel.
   * @param channel the full name; it has a hash tag.
   * @returns a function that ends the subscription.
   * @throws {FleetError} STORAGE_UNAVAILABLE.
   */
  async listen(channel: string, on: Listener): Promise<() => void> {
    const end = this.#add(channel, on)
    try {
      await this.#subscribe(channel)
    } catch (error) {
      end()
      throw error instanceof FleetError ? error : unavailable(explain(error).sentence, 'not_sent', { cause: error })
    }
    return end
  }

  #add(channel: string, on: Listener): () => void {
    const listener = (data: string): void => on(data) // Its own, so that one function may listen twice.
    const listeners = this.#channels.get(channel) ?? new Set()
    listeners.add(listener)
    this.#channels.set(channel, listeners)
    return () => {
      if (!listeners.delete(listener) || listeners.size > 0) return
      this.#channels.delete(channel)
      const node = this.#deps.nodeOf(slotOf(channel))
      const subscriber = this.#subscribers.get(node?.name ?? '')
      subscriber?.client.sunsubscribe(channel).catch(() => undefined) // Lost: nothing is subscribed on it.
    }
  }

  /** Has no effect on a channel that is subscribed already. */
  async #subscribe(channel: string): Promise<void> {
    for (let redirections = 0; ; redirections += 1) {
      const { client, ready } = this.#subscriberFor(channel)
      try {
        await ready
        await client.ssubscribe(channel)
        // Its last listener may have ended while the connection was being made.
        if (!this.#channels.has(channel)) await client.sunsubscribe(channel)
        this.#backoff.reset()
        return
      } catch (error) {
        if (faultOf(error).kind !== 'moved' || redirections === MAX_REDIRECTIONS) throw error
        await this.#deps.refresh()
      }
    }
  }

  #subscriberFor(channel: string): Subscriber {
    const node = this.#deps.nodeOf(slotOf(channel))
    if (node === undefined) throw unavailable('the cluster does not serve this channel', 'not_sent')
    return this.#subscribers.get(node.name) ?? this.#connect(node.name, node.options)
  }

  #connect(name: string, options: RedisOptions): Subscriber {
    const client = new Redis<'legacy'>({ ...options, replyMapping: 'legacy', retryStrategy: null })
    client.on('error', () => undefined) // The end event follows.
    client.on('smessage', (channel: string, data: string) => {
      for (const listener of this.#channels.get(channel) ?? []) listener(data)
    })
    client.on('moved', () => this.#renewSoon())
    client.once('end', () => this.#lost(name, client))
    const subscriber = { client, ready: client.connect() }
    this.#subscribers.set(name, subscriber)
    return subscriber
  }

  #lost(name: string, client: Redis): void {
    if (this.#subscribers.get(name)?.client !== client) return
    this.#subscribers.delete(name)
    this.#renewSoon()
  }

  #renewSoon(): void {
    this.#cancelRetry()
    this.#cancelRetry = this.#deps.time.after(this.#backoff.nextMs(), () => void this.#renew())
  }

  /** Subscribes every channel again where its slot is now; a connection that does not reply ends by this. */
  async #renew(): Promise<void> {
    const inUse = new Set([...this.#channels.keys()].map((channel) => this.#deps.nodeOf(slotOf(channel))?.name))
    for (const [name, { client }] of this.#subscribers) {
      if (inUse.has(name)) continue
      this.#subscribers.delete(name)
      client.disconnect()
    }
    const renewed = [...this.#channels.keys()].map((channel) => this.#subscribe(channel))
    await Promise.allSettled(renewed) // What failed is tried again by the next renewal.
  }
}
