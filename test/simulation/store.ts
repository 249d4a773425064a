/**
 * The store of a simulated fleet: one memory backend as a server, and a client for each master. The client has the
 * rules of the Redis client: a deadline for each call, an unknown outcome without a response, and a bus that may lose
 * messages. The event log loses none.
 */
import { FleetError } from '../../src/protocol/index.ts'
import type { Random } from '../../src/runtime/index.ts'
import {
  checkArguments,
  groupsOf,
  type Backend,
  type Bus,
  type EventLog,
  type EventReadResult,
  type Health,
  type LoggedEvent,
  type MasterSignal,
  type NewEvent,
  type StorageCall,
} from '../../src/storage/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import type { Channel, Network } from './network.ts'
import type { SimProcess } from './process.ts'

/** The time that the Redis client waits for a response. */
const CALL_MS = 1_500
/** Methods after which a type may have tasks in a tier that was empty. */
const WAKING = new Set(['submit', 'release', 'sweep', 'replay', 'applyToDead'])

/** Watches every call that the server executes. */
export interface StoreObserver {
  /** Called after a call, before its result leaves the server. */
  executed(call: StorageCall, result: unknown, nowMs: number): Promise<void>
  /** Called after the store lost everything. */
  restarted(): void
}

type Methods = Readonly<Record<string, Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>>>

export class StoreServer {
  readonly process: SimProcess
  readonly backend: MemoryBackend
  readonly clients = new Set<StoreClient>()
  readonly #observer: StoreObserver
  #unavailableUntilMs = 0

  constructor(process: SimProcess, random: Random, observer: StoreObserver) {
    this.process = process
    this.backend = new MemoryBackend({ clock: process, random })
    this.#observer = observer
  }

  get isAvailable(): boolean {
    return this.process.monotonicMs() >= this.#unavailableUntilMs
  }

  async start(): Promise<void> {
    await this.backend.open(new AbortController().signal)
    this.backend.events.onAppend((events) => {
      for (const client of this.clients) client.deliver((to) => to.events.arrived(events), false)
    })
  }

  makeUnavailable(ms: number): void {
    this.#unavailableUntilMs = this.process.monotonicMs() + ms
  }

  async restart(): Promise<void> {
    await this.backend.close()
    await this.backend.open(new AbortController().signal)
    this.#observer.restarted()
  }

  /** Executes one call. */
  async execute(call: StorageCall): Promise<unknown> {
    const { group, method, args } = call
    const before = WAKING.has(method) && group === 'tasks' ? await this.#tiers(args[0] as string) : null
    const result = await (this.backend as unknown as Methods)[group]?.[method]?.(...args)
    if (before !== null) await this.#wake(args[0] as string, before)
    const { nowMs } = await this.backend.meta.info()
    await this.#observer.executed(call, result, nowMs)
    return result
  }

  /** Sends `signal` to the master of that id. */
  signal(masterId: string, signal: MasterSignal): void {
    for (const client of this.clients)
      if (client.masterId === masterId) client.deliver((to) => to.bus.tell(signal), true)
  }

  publish(topic: string, data: string): void {
    for (const client of this.clients) client.deliver((to) => to.bus.tellTopic(topic, data), true)
  }

  async #tiers(type: string): Promise<readonly number[]> {
    const [counts] = await this.backend.tasks.counts([type])
    return counts?.tiers ?? []
  }

  async #wake(type: string, before: readonly number[]): Promise<void> {
    const after = await this.#tiers(type)
    if (!after.some((length, tier) => length > 0 && before[tier] === 0)) return
    for (const client of this.clients) client.deliver((to) => to.bus.tell({ kind: 'wake', type }), true)
  }
}

class ClientBus implements Bus {
  readonly #client: StoreClient
  readonly #listeners = new Set<(signal: MasterSignal) => void>()
  readonly #topics = new Map<string, Set<(data: string) => void>>()

  constructor(client: StoreClient) {
    this.#client = client
  }

  async publish(messages: Parameters<Bus['publish']>[0]): Promise<void> {
    await this.#client.ask(async (server) => messages.forEach(({ topic, data }) => server.publish(topic, data)))
  }

  async subscribe(topic: string, on: (data: string) => void): Promise<() => void> {
    const listeners = this.#topics.get(topic) ?? new Set()
    this.#topics.set(topic, listeners.add(on))
    return () => void listeners.delete(on)
  }

  async signal(masterId: string, signal: MasterSignal): Promise<void> {
    await this.#client.ask(async (server) => server.signal(masterId, signal))
  }

  onSignal(on: (signal: MasterSignal) => void): () => void {
    const listener = (signal: MasterSignal): void => on(signal)
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  tell(signal: MasterSignal): void {
    for (const listener of this.#listeners) listener(signal)
  }

  tellTopic(topic: string, data: string): void {
    for (const on of this.#topics.get(topic) ?? []) on(data)
  }
}

class ClientEvents implements EventLog {
  readonly #client: StoreClient
  readonly #listeners = new Set<(events: readonly LoggedEvent[]) => void>()
  #newest = ''

  constructor(client: StoreClient) {
    this.#client = client
  }

  open(newest: string): void {
    this.#newest = newest
  }

  async append(events: readonly NewEvent[]): Promise<void> {
    await this.#client.ask((server) => server.backend.events.append(events))
  }

  /** Called with events that the server has logged. */
  arrived(events: readonly LoggedEvent[]): void {
    this.#newest = events.at(-1)?.id ?? this.#newest
    for (const listener of this.#listeners) listener(events)
  }

  read(after: string, limit: number): Promise<EventReadResult> {
    return this.#client.ask((server) => server.backend.events.read(after, limit))
  }

  onAppend(on: (events: readonly LoggedEvent[]) => void): () => void {
    const listener = (events: readonly LoggedEvent[]): void => on(events)
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  newest(): string {
    return this.#newest
  }
}

export class StoreClient implements Backend {
  readonly capabilities = { durable: false, shared: true, pubsub: true }
  masterId = ''
  readonly #process: SimProcess
  readonly #server: StoreServer
  readonly #network: Network
  readonly #up: Channel = { lastAtMs: 0 }
  readonly #down: Channel = { lastAtMs: 0 }
  #isOpen = false
  #health: Health

  readonly #groups = groupsOf((call) => this.#call(call))
  readonly meta = this.#groups.meta
  readonly workers = this.#groups.workers
  readonly configs = this.#groups.configs
  readonly stats = this.#groups.stats
  readonly streams = this.#groups.streams
  readonly tasks = this.#groups.tasks
  readonly pools = this.#groups.pools
  readonly kv = this.#groups.kv
  readonly locks = this.#groups.locks
  readonly counters = this.#groups.counters
  readonly bus = new ClientBus(this)
  readonly events = new ClientEvents(this)

  constructor(process: SimProcess, server: StoreServer, network: Network) {
    this.#process = process
    this.#server = server
    this.#network = network
    this.#health = this.#healthOf(false)
  }

  /** Waits for the store, as the Redis backend does. */
  async open(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      try {
        await this.ask(async ({ backend }) => this.events.open(backend.events.newest()))
        break
      } catch {
        await this.#process.sleep(500)
      }
    }
    this.#isOpen = true
    this.#server.clients.add(this)
    this.#process.onKill(() => this.#server.clients.delete(this))
  }

  async close(): Promise<void> {
    this.#isOpen = false
    this.#server.clients.delete(this)
  }

  health(): Health {
    return this.#health
  }

  /** Delivers a message of the server to this master. */
  deliver(message: (client: StoreClient) => void, mayBeLost: boolean): void {
    if (mayBeLost && this.#network.isBusLost()) return
    this.#network.send(this.#server.process, this.#process, mayBeLost ? null : this.#down, () => message(this))
  }

  /**
   * Runs `work` on the server.
   * @throws {FleetError} STORAGE_UNAVAILABLE with an unknown outcome after 1.5 s.
   */
  ask<T>(work: (server: StoreServer) => Promise<T>): Promise<T> {
    const fate = this.#network.fate()
    return new Promise((resolve, reject) => {
      const cancel = this.#process.after(CALL_MS, () => {
        if (this.#health.ok) this.#health = this.#healthOf(false)
        reject(new FleetError('STORAGE_UNAVAILABLE', 'simulated: no response', { outcome: 'unknown' }))
      })
      const respond = (use: () => void): void => {
        if (fate === 'served_without_response') return
        this.#network.send(this.#server.process, this.#process, this.#down, () => {
          cancel()
          if (!this.#health.ok) this.#health = this.#healthOf(true)
          use()
        })
      }
      this.#network.send(this.#process, this.#server.process, this.#up, () => {
        if (fate === 'lost' || !this.#server.isAvailable) return
        work(this.#server).then(
          (result) => respond(() => resolve(result)),
          (error: Error) => respond(() => reject(error)),
        )
      })
    })
  }

  async #call(call: StorageCall): Promise<unknown> {
    if (!this.#isOpen) throw new FleetError('STORAGE_NOT_OPEN', 'the store is not open', { outcome: 'not_sent' })
    checkArguments(call)
    if (call.method === 'beat' && call.group === 'meta') this.masterId = call.args[0] as string
    return this.ask((server) => server.execute(call))
  }

  #healthOf(ok: boolean): Health {
    return { ok, profile: 'volatile', sinceMs: this.#process.wallMs(), detail: ok ? 'simulated' : 'no response' }
  }
}
