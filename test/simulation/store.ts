/**
 * The store of a simulated fleet: one memory backend as a server, and a client for each master. The client has the
 * rules of the Redis client: a deadline for each call, an unknown outcome without a response, and a bus that may lose,
 * delay and double messages. The event log loses none. The server logs its calls, so that a loss of the newest changes
 * is the replay of a shorter log.
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
/** A slow store is at most so far behind. */
const MAX_BUSY_MS = 3_000
const LOSSES_APART_MS = 2_000
/** Methods after which a type may have tasks in a tier that was empty. */
const WAKING = new Set([
  'submit',
  'release',
  'sweep',
  'replay',
  'applyToDead',
  'applyToDeadGroup',
  'replayEdited',
  'resume',
])

/** Methods that change nothing. */
const READING = new Set([
  ...'info get page history read tail peek length bytes list sizes heads replayCounts'.split(' '),
  ...'locate describe queue bodies dead newestDeath deadGroups newestDead deadTask counts countDue groups'.split(' '),
])
/** Calls that a full store rejects, because they make it grow. */
const GROWING = new Set([
  'tasks.submit',
  'tasks.replayEdited',
  'configs.put',
  'configs.putMany',
  'revisions.put',
  'enrolments.put',
  'rollouts.put',
  'operations.create',
  'operations.update',
  'audit.append',
  'streams.push',
  'workers.register',
])
const SETTLING = new Set(['ack', 'nack', 'release'])

/** Watches every call that the server executes. */
export interface StoreObserver {
  /** Called after a call, before its result leaves the server. */
  executed(call: StorageCall, result: unknown, nowMs: number): Promise<void>
  /** Called with events that were appended to the event log. */
  appended(events: readonly LoggedEvent[]): void
  /** Called after the store lost changes. What it keeps is executed again before `kept` is called. */
  lost(): void
  kept(): void
  /** Called for a situation of the store that must happen. */
  reached(situation: 'settle in a full store' | 'outputs refused by a full store'): void
}

type Methods = Readonly<Record<string, Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>>>

interface LoggedCall {
  readonly call: StorageCall
  readonly atMs: number
}

/** How far a store goes back, and whether it notices that itself. */
export interface Loss {
  /** The changes of the last so many milliseconds are lost; all of them with Infinity. */
  readonly lostMs: number
  /** Whether the store begins a new epoch, as Redis does unless each change was on its disk. */
  readonly isNewEpoch: boolean
}

export interface StoreOptions {
  /** Returns a random stream of its own for each backend. */
  readonly createRandom: (name: string) => Random
  /** Whether the store may lose changes, so that its calls have to be logged. */
  readonly isLogged: boolean
  readonly observer: StoreObserver
}

export class StoreServer {
  readonly process: SimProcess
  readonly clients = new Set<StoreClient>()
  readonly #observer: StoreObserver
  readonly #createRandom: (name: string) => Random
  readonly #isLogged: boolean
  #backend: MemoryBackend
  /** Every call that may have changed something, from the first one on. */
  #log: LoggedCall[] = []
  /** Arguments of the newest call for each type. A policy is one of the masters, so a loss does not change it. */
  readonly #groupPolicies = new Map<string, Parameters<Backend['tasks']['setGroupPolicy']>>()
  /** The time of the call that is replayed. */
  #replayMs: number | null = null
  #offsetMs = 0
  /** The epoch, once the store began another one than that of its backend. */
  #epoch: string | null = null
  #backends = 0
  #lostAtMs = -Infinity
  #rebuilt: Promise<void> = Promise.resolve()
  #unavailableUntilMs = 0
  #fullUntilMs = 0
  #slowUntilMs = 0
  #callMs = 0
  #busyUntilMs = 0

  constructor(process: SimProcess, { createRandom, isLogged, observer }: StoreOptions) {
    this.process = process
    this.#createRandom = createRandom
    this.#isLogged = isLogged
    this.#observer = observer
    this.#backend = this.#createBackend()
  }

  get backend(): MemoryBackend {
    return this.#backend
  }

  get isAvailable(): boolean {
    return this.process.monotonicMs() >= this.#unavailableUntilMs
  }

  get #isFull(): boolean {
    return this.process.monotonicMs() < this.#fullUntilMs
  }

  async start(): Promise<void> {
    await this.#backend.open(new AbortController().signal)
    this.#backend.events.onAppend((events) => {
      this.#observer.appended(events)
      for (const client of this.clients) client.deliver((to) => to.events.arrived(events))
    })
  }

  makeUnavailable(ms: number): void {
    this.#unavailableUntilMs = this.process.monotonicMs() + ms
  }

  fill(ms: number): void {
    this.#fullUntilMs = this.process.monotonicMs() + ms
  }

  /** For `ms`, each call takes `callMs`, one after another. */
  slowDown(ms: number, callMs: number): void {
    this.#slowUntilMs = this.process.monotonicMs() + ms
    this.#callMs = callMs
  }

  stepClock(ms: number): void {
    this.#offsetMs += ms
  }

  /** Ends every fault of the store. */
  heal(): void {
    this.#unavailableUntilMs = 0
    this.#fullUntilMs = 0
    this.#slowUntilMs = 0
  }

  /**
   * Loses the newest changes: replays the log without them on an empty backend. A loss within 2 s of the last one does
   * not happen: tokens grow with the second of a start, so they may repeat after two losses in the same second.
   */
  lose(loss: Loss): Promise<void> {
    const nowMs = this.process.monotonicMs()
    if (nowMs - this.#lostAtMs < LOSSES_APART_MS) return this.#rebuilt
    this.#lostAtMs = nowMs
    this.#rebuilt = this.#rebuilt.then(() => this.#rebuild(loss))
    return this.#rebuilt
  }

  /** Passes a call on when the calls before it are done. */
  schedule(work: () => void): void {
    const nowMs = this.process.monotonicMs()
    if (nowMs < this.#slowUntilMs)
      this.#busyUntilMs = Math.min(nowMs + MAX_BUSY_MS, Math.max(nowMs, this.#busyUntilMs) + this.#callMs)
    if (nowMs >= this.#busyUntilMs) work()
    else this.process.after(this.#busyUntilMs - nowMs, work)
  }

  /** Executes one call. */
  async execute(call: StorageCall): Promise<unknown> {
    await this.#rebuilt
    const { group, method, args } = call
    const isTask = group === 'tasks'
    if (this.#isFull) this.#checkCapacity(call)
    const isResumed = method === 'resume' // Wakes whatever is pending.
    const tiers = isTask && WAKING.has(method) ? await this.#tiers(args[0] as string) : null
    const before = tiers?.map((length) => (isResumed ? 0 : length)) ?? null
    const result = await this.#run(call)
    if (before !== null) await this.#wake(args[0] as string, before)
    return result
  }

  /** Sends signals to the master of that id, in one message. */
  signal(masterId: string, signals: readonly MasterSignal[]): void {
    for (const client of this.clients)
      if (client.masterId === masterId)
        client.deliverUnreliably((to) => {
          for (const signal of signals) to.bus.tell(signal)
        })
  }

  publish(topic: string, data: string): void {
    for (const client of this.clients) client.deliverUnreliably((to) => to.bus.tellTopic(topic, data))
  }

  #createBackend(): MemoryBackend {
    const { process } = this
    const monotonicMs = (): number => this.#replayMs ?? process.monotonicMs() + this.#offsetMs
    const startMs = process.wallMs() - process.monotonicMs()
    return new MemoryBackend({
      clock: { monotonicMs, wallMs: () => startMs + monotonicMs() },
      random: this.#createRandom(`backend/${(this.#backends += 1)}`),
    })
  }

  async #run(call: StorageCall): Promise<unknown> {
    const { group, method, args } = call
    this.#noteGroupPolicy(call)
    if (this.#isLogged && !READING.has(method))
      this.#log.push({ call, atMs: this.#replayMs ?? this.process.monotonicMs() + this.#offsetMs })
    const result = await (this.#backend as unknown as Methods)[group]?.[method]?.(...args)
    if (READING.has(method)) return method === 'info' ? this.#withEpoch(result as object) : result
    const { nowMs } = await this.#backend.meta.info()
    await this.#observer.executed(call, result, nowMs)
    return result
  }

  #noteGroupPolicy({ method, args }: StorageCall): void {
    if (method !== 'setGroupPolicy') return
    const [type, policy] = args as Parameters<Backend['tasks']['setGroupPolicy']>
    if (policy !== null) this.#groupPolicies.set(type, [type, policy])
  }

  #withEpoch(info: object): object {
    return this.#epoch === null ? info : { ...info, epoch: this.#epoch }
  }

  async #rebuild({ lostMs, isNewEpoch }: Loss): Promise<void> {
    const kept = this.#log.filter(({ atMs }) => atMs <= this.process.monotonicMs() + this.#offsetMs - lostMs)
    const { epoch } = await this.#backend.meta.info()
    this.#epoch ??= epoch
    if (isNewEpoch) this.#epoch = `${this.#backends}${epoch}`
    this.#log = []
    this.#replayMs = 0
    this.#backend = this.#createBackend()
    await this.start()
    this.#observer.lost()
    for (const { call, atMs } of kept) {
      this.#replayMs = atMs
      await this.#run(call)
    }
    this.#replayMs = null
    for (const policy of this.#groupPolicies.values()) await this.#backend.tasks.setGroupPolicy(...policy)
    this.#backend.raiseTokens()
    this.#observer.kept()
    const reset = { id: this.#backend.events.newest(), name: 'reset', scope: '*', data: '{}' }
    for (const client of this.clients) client.deliver((to) => to.events.arrived([reset]))
  }

  /** @throws {FleetError} STORAGE_FULL for a call that makes the store grow. */
  #checkCapacity({ group, method }: StorageCall): void {
    if (group === 'streams' && method === 'push') this.#observer.reached('outputs refused by a full store')
    if (group === 'tasks' && SETTLING.has(method)) this.#observer.reached('settle in a full store')
    if (GROWING.has(`${group}.${method}`))
      throw new FleetError('STORAGE_FULL', 'simulated: the store is full', { retryAfterSeconds: 1 })
  }

  async #tiers(type: string): Promise<readonly number[]> {
    const [counts] = await this.#backend.tasks.counts([type])
    return counts?.tiers ?? []
  }

  async #wake(type: string, before: readonly number[]): Promise<void> {
    const after = await this.#tiers(type)
    if (!after.some((length, tier) => length > 0 && before[tier] === 0)) return
    for (const client of this.clients) client.deliverUnreliably((to) => to.bus.tell({ kind: 'wake', type }))
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

  async signal(masterId: string, ...signals: readonly MasterSignal[]): Promise<void> {
    await this.#client.ask(async (server) => server.signal(masterId, signals))
  }

  onSignal(on: (signal: MasterSignal) => void): () => void {
    const listener = (signal: MasterSignal): void => on(signal)
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async passWake(): Promise<void> {} // The simulated store wakes every master.

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

  /** Events may arrive before the response that names the newest one when the store opened. */
  open(newest: string): void {
    if (this.#newest === '') this.#newest = newest
  }

  async append(events: readonly NewEvent[]): Promise<void> {
    await this.#client.ask((server) => server.backend.events.append(events))
  }

  /** Called with events that the server has logged, or with a `reset` after it lost some. */
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

  readonly #groups = groupsOf(
    (group, method) =>
      (...args) =>
        this.#call({ group, method, args }),
  )
  readonly meta = this.#groups.meta
  readonly workers = this.#groups.workers
  readonly configs = this.#groups.configs
  readonly revisions = this.#groups.revisions
  readonly enrolments = this.#groups.enrolments
  readonly rollouts = this.#groups.rollouts
  readonly operations = this.#groups.operations
  readonly audit = this.#groups.audit
  readonly rollups = this.#groups.rollups
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
    this.#process.onKill(() => this.#server.clients.delete(this))
    for (;;) {
      signal.throwIfAborted()
      try {
        const newest = await this.ask(async ({ backend, clients }) => {
          clients.add(this) // In the same instant, so that no event after the newest one is missed.
          return backend.events.newest()
        })
        this.events.open(newest)
        break
      } catch {
        await this.#process.sleep(500)
      }
    }
    this.#isOpen = true
  }

  async close(): Promise<void> {
    this.#isOpen = false
    this.#server.clients.delete(this)
  }

  health(): Health {
    return this.#health
  }

  /** Delivers a message of the server to this master. */
  deliver(message: (client: StoreClient) => void): void {
    this.#network.send(this.#server.process, this.#process, this.#down, () => message(this))
  }

  /** Delivers a message that may be lost, late or doubled. */
  deliverUnreliably(message: (client: StoreClient) => void): void {
    for (const lateMs of this.#network.busDelaysMs())
      this.#network.send(this.#server.process, this.#process, null, () => message(this), lateMs)
  }

  /**
   * Runs `work` on the server.
   * @throws {FleetError} STORAGE_UNAVAILABLE with an unknown outcome after 1.5 s.
   */
  ask<T>(work: (server: StoreServer) => Promise<T>, isReserve = false): Promise<T> {
    const fate = this.#network.fate()
    const heldMs = isReserve ? this.#network.reserveHeldMs() : 0
    return new Promise((resolve, reject) => {
      const cancel = this.#process.after(CALL_MS, () => {
        if (this.#health.ok) this.#health = this.#healthOf(false)
        reject(new FleetError('STORAGE_UNAVAILABLE', 'simulated: no response', { outcome: 'unknown' }))
      })
      const respond = (use: () => void): void => {
        if (fate === 'served_without_response') return
        const isLate = fate === 'served_late' || heldMs > 0
        const channel = isLate ? null : this.#down
        const lateMs = fate === 'served_late' ? this.#network.lateMs() : heldMs
        const receive = (): void => {
          cancel()
          if (!this.#health.ok) this.#health = this.#healthOf(true)
          use()
        }
        this.#network.send(this.#server.process, this.#process, channel, receive, lateMs)
      }
      this.#network.send(this.#process, this.#server.process, this.#up, () => {
        if (fate === 'lost' || !this.#server.isAvailable) return
        this.#server.schedule(() => {
          work(this.#server).then(
            (result) => respond(() => resolve(result)),
            (error: Error) => respond(() => reject(error)),
          )
        })
      })
    })
  }

  async #call(call: StorageCall): Promise<unknown> {
    if (!this.#isOpen) throw new FleetError('STORAGE_NOT_OPEN', 'the store is not open', { outcome: 'not_sent' })
    checkArguments(call)
    if (call.method === 'beat' && call.group === 'meta') this.masterId = call.args[0] as string
    return this.ask((server) => server.execute(call), call.method === 'reserve')
  }

  #healthOf(ok: boolean): Health {
    return { ok, profile: 'volatile', sinceMs: this.#process.wallMs(), detail: ok ? 'simulated' : 'no response' }
  }
}
