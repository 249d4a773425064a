/**
 * @module storage/redis/redis-backend
 * Implements the storage contract on Redis, for any number of masters. This side checks arguments, groups calls and
 * counts what is under way; the groups turn a call into a script, and the connection brings it there.
 *
 *   closed ──open──▶ open ──close──▶ closing: refuses calls, finishes what was accepted ──▶ closed
 *
 *   caller ─▶ RedisBackend ─▶ batcher ─▶ tasks, workers, pools … ─▶ Connection ─▶ one script, one hash tag
 *                                        bus, events ◀─ messages ─ RedisBus
 */
import type { Clock, Log, Random, Time } from '../../runtime/index.ts'
import {
  type Backend,
  type Bus,
  type Capabilities,
  type DoneTask,
  type EventLog,
  type Groups,
  type Health,
  type LeaseRef,
  type Meta,
  type NackItem,
  type NewTask,
  type ReserveRequest,
  type Tasks,
} from '../index.ts'
import { GROUP_BYTES, GROUP_ITEMS, Batchers } from './batcher.ts'
import { RedisBus } from './bus.ts'
import { checkedGroups } from './checked-groups.ts'
import { createConfigs } from './configs.ts'
import { Connection } from './connection.ts'
import type { ConnectionOptions } from './connection-options.ts'
import { createCounters } from './counters.ts'
import { notOpen } from './errors.ts'
import { EVENTS_CHANNEL, RedisEventLog } from './events.ts'
import { createKv } from './kv.ts'
import { createLocks } from './locks.ts'
import { createMeta, MIGRATIONS, type StoreMeta } from './meta.ts'
import { createPools } from './pools.ts'
import { createEnrolments } from './enrolments.ts'
import { createAudit } from './audit.ts'
import { createOperations } from './operations.ts'
import { createRollouts } from './rollouts.ts'
import { createRollups } from './rollups.ts'
import { createRevisions } from './revisions.ts'
import { ShardedBus } from './sharded-bus.ts'
import { createStats } from './stats.ts'
import { createStreams } from './streams.ts'
import { createTasks } from './tasks.ts'
import type { StoreUrl } from './url.ts'
import { RedisWorkers } from './workers.ts'

export interface RedisBackendOptions {
  readonly url: StoreUrl
  /** Wins over the one in the URL; asked anew for each connection. */
  readonly password?: ConnectionOptions['password']
  /** Of the sentinels themselves; asked anew like the other. */
  readonly sentinelPassword?: ConnectionOptions['sentinelPassword']
  /** PEM texts for `kvstores://`; without a CA those of the system are trusted. */
  readonly tls?: ConnectionOptions['tls']
  readonly time: Time
  readonly random: Random
  readonly log?: Log | undefined
  /** For tests: the time of the store, in place of its server's. */
  readonly clock?: Clock | undefined
  /** For tests: the migrations of another release, in place of this one's. */
  readonly migrations?: ConnectionOptions['migrations']
}

type State = 'closed' | 'opening' | 'open' | 'closing'

export class RedisBackend implements Backend {
  readonly capabilities: Capabilities = { durable: true, shared: true, pubsub: true }
  readonly meta: Meta
  readonly workers: Backend['workers']
  readonly configs: Backend['configs']
  readonly revisions: Backend['revisions']
  readonly enrolments: Backend['enrolments']
  readonly rollouts: Backend['rollouts']
  readonly operations: Backend['operations']
  readonly audit: Backend['audit']
  readonly rollups: Backend['rollups']
  readonly stats: Backend['stats']
  readonly streams: Backend['streams']
  readonly tasks: Tasks
  readonly pools: Backend['pools']
  readonly kv: Backend['kv']
  readonly locks: Backend['locks']
  readonly counters: Backend['counters']
  readonly bus: Bus
  readonly events: EventLog
  readonly #connection: Connection
  readonly #bus: RedisBus
  readonly #events: RedisEventLog
  readonly #meta: StoreMeta
  #state: State = 'closed'
  #closing: Promise<void> = Promise.resolve()
  #underWay = 0
  #onIdle: () => void = () => undefined

  constructor(options: RedisBackendOptions) {
    const { time, random, log, clock = time } = options
    const connection = new Connection(options)
    const meta = createMeta(connection, connection.readmit, (options.migrations ?? MIGRATIONS).length)
    const isCluster = options.url.form === 'cluster'
    const sharded = isCluster ? { bus: shardedBus(connection, options), isUsedByAll: meta.isSharded } : undefined
    const subscriber = () => connection.subscriber()
    const { isRegistering } = meta
    const bus = new RedisBus({ caller: connection, subscriber, sharded, isRegistering, time, random, log })
    const masters = { isAlone: meta.isAlone, wakePrefix: bus.wakePrefix }
    bus.onJoin(() => meta.mayHaveCompany())
    const events = new RedisEventLog({ caller: connection, log, draw: () => random.uuid().replaceAll('-', '') })
    connection.onReady(() => bus.wakeAll())
    bus.onSubscribed(() => void this.#caughtUp())
    this.#connection = connection
    this.#bus = bus
    this.#events = events
    this.#meta = meta
    const batchers = new Batchers(() => connection.isUnavailable)
    const parts: Groups = {
      meta: this.#metaGroup(meta),
      workers: new RedisWorkers(connection, () => meta.live()),
      configs: createConfigs(connection),
      revisions: createRevisions(connection),
      enrolments: createEnrolments(connection),
      rollouts: createRollouts(connection),
      operations: createOperations(connection),
      audit: createAudit(connection),
      rollups: createRollups(connection),
      stats: createStats(connection),
      streams: createStreams(connection, () => bus.publishMode),
      tasks: grouped(createTasks(connection, random.uuid(), clock, masters), batchers, bus.expectWakes),
      pools: createPools(connection),
      kv: createKv(connection, clock),
      locks: createLocks(connection, clock),
      counters: createCounters(connection, clock),
    }
    const groups = checkedGroups(parts, (call) => this.#call(call))
    this.meta = groups.meta
    this.workers = groups.workers
    this.configs = groups.configs
    this.revisions = groups.revisions
    this.enrolments = groups.enrolments
    this.rollouts = groups.rollouts
    this.operations = groups.operations
    this.audit = groups.audit
    this.rollups = groups.rollups
    this.stats = groups.stats
    this.streams = groups.streams
    this.tasks = groups.tasks
    this.pools = groups.pools
    this.kv = groups.kv
    this.locks = groups.locks
    this.counters = groups.counters
    this.bus = this.#checkedBus(bus)
    this.events = this.#eventLog(events)
  }

  async open(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#state === 'open') return
    if (this.#state === 'opening') throw new TypeError('open was called while an open was under way')
    await this.#closing
    this.#state = 'opening'
    try {
      await this.#connection.open(signal)
      await this.#events.open()
      await this.#bus.open()
      await this.#bus.listen(EVENTS_CHANNEL, (text) => this.#events.receive(text))
      await this.#events.catchUp() // What was appended before the channel was subscribed.
    } catch (error) {
      this.#end()
      throw error
    }
    this.#state = 'open'
  }

  close(): Promise<void> {
    if (this.#state !== 'open') return this.#closing
    this.#state = 'closing'
    this.#closing = this.#stop()
    return this.#closing
  }

  health(): Health {
    return this.#connection.health()
  }

  async #stop(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => void (this.#onIdle = resolve))
    await this.#meta.leave().catch(() => undefined) // The store is unavailable: the other masters notice within 15 s.
    this.#end()
  }

  #end(): void {
    this.#bus.close()
    this.#connection.close()
    this.#state = 'closed'
  }

  #checkedBus(bus: RedisBus): Bus {
    return {
      publish: (messages) => this.#call(() => bus.publish(messages)),
      subscribe: (topic, on) => this.#call(() => bus.subscribe(topic, on)),
      signal: (masterId, ...signals) => this.#call(() => bus.signal(masterId, ...signals)),
      passWake: (type) => this.#call(() => bus.passWake(type)),
      onSignal: (on) => bus.onSignal(on),
    }
  }

  /** The event log, whose calls are rejected while the backend is not open. */
  #eventLog(events: RedisEventLog): EventLog {
    return {
      append: (some) => this.#call(() => events.append(some)),
      read: (after, limit) => this.#call(() => events.read(after, limit)),
      onAppend: (on) => events.onAppend(on),
      newest: () => events.newest(),
    }
  }

  #metaGroup(meta: StoreMeta): Meta {
    return {
      info: () => meta.info(),
      beat: (masterId) => this.#beat(masterId),
      declare: (masterId, text) => meta.declare(masterId, text),
    }
  }

  async #beat(masterId: string): Promise<readonly string[]> {
    await this.#bus.receiveFor(masterId)
    return this.#meta.beat(masterId)
  }

  /** Messages may have been lost while there was no subscription. */
  async #caughtUp(): Promise<void> {
    if (this.#state === 'open') await this.#events.catchUp()
  }

  async #call<T>(run: () => Promise<T>): Promise<T> {
    if (this.#state !== 'open') throw notOpen()
    this.#underWay += 1
    try {
      return await run()
    } finally {
      this.#underWay -= 1
      if (this.#underWay === 0) this.#onIdle()
    }
  }
}

function shardedBus(connection: Connection, { time, random }: RedisBackendOptions): ShardedBus {
  const nodeOf = (slot: number) => connection.subscriberTo(slot)
  return new ShardedBus({ nodeOf, refresh: () => connection.refresh(), time, random })
}

const LEASE_BYTES = 64
const bytesOfLease = ({ id }: LeaseRef): number => id.length + LEASE_BYTES
const bytesOfDone = (done: DoneTask): number =>
  bytesOfLease(done) + (done.result?.kind === 'json' ? done.result.text.length : 0)
const bytesOfNack = (nack: NackItem): number => bytesOfLease(nack) + nack.error.length
/** A group asks for as many leases as other groups have items. */
const bytesOfRequest = ({ limit }: ReserveRequest): number =>
  Math.floor((Math.min(limit, GROUP_ITEMS) * GROUP_BYTES) / GROUP_ITEMS)
const bytesOfTask = ({ id, key, body }: NewTask): number => id.length + (key?.length ?? 0) + body.length + LEASE_BYTES

/**
 * The operations that single tasks go through travel in groups; the master hands over all others in batches already.
 */
function grouped(tasks: Tasks, batchers: Batchers, onReserve: (type: string) => void): Tasks {
  return {
    ...tasks,
    submit: (type, windowMs, items, maxLength) =>
      batchers.add(`submit ${windowMs} ${maxLength} ${type}`, items, bytesOfTask, (all) =>
        tasks.submit(type, windowMs, all, maxLength),
      ),
    ack: (type, leases, maxOutcomes) =>
      batchers.add(`ack ${maxOutcomes} ${type}`, leases, bytesOfDone, (all) => tasks.ack(type, all, maxOutcomes)),
    release: (type, leases) => batchers.add(`release ${type}`, leases, bytesOfLease, (all) => tasks.release(type, all)),
    nack: (type, retry, items) =>
      batchers.add(`nack ${JSON.stringify(retry)} ${type}`, items, bytesOfNack, (all) => tasks.nack(type, retry, all)),
    extend: (type, items) => batchers.add(`extend ${type}`, items, bytesOfLease, (all) => tasks.extend(type, all)),
    locate: (type, ids) =>
      batchers.add(
        `locate ${type}`,
        ids,
        (id) => id.length,
        (all) => tasks.locate(type, all),
      ),
    reserve: async (type, visibilityMs, requests, maxOutcomes) => {
      onReserve(type)
      const name = `reserve ${visibilityMs} ${maxOutcomes} ${type}`
      const parts = await batchers.add(name, requests, bytesOfRequest, async (all) => {
        const { results, dropped, nextDueAtMs: nextDue } = await tasks.reserve(type, visibilityMs, all, maxOutcomes)
        return results.map((response, at) => ({ response, dropped: at === 0 ? dropped : 0, nextDue }))
      })
      return {
        results: parts.map(({ response }) => response),
        dropped: parts.reduce((sum, { dropped }) => sum + dropped, 0),
        nextDueAtMs: parts[0]?.nextDue ?? null,
      }
    },
  }
}
