/**
 * @module storage/redis/connection
 * Sends each script to the server that has its keys, and reports exactly whether it ran.
 *
 *   call ──▶ its server is ready ──▶ sent ──▶ response
 *     └─ else: waits (waiting.ts)      ├─ MOVED, READONLY, LOADING …: did not run, is sent again within 1.5 s
 *                                      ├─ no response: outcome unknown; sent once more if it is repeatable
 *                                      └─ OOM, MISCONF, another error: the call is rejected with it
 *
 * After a reconnect the whole store is checked before calls are sent: version, rights, layout, and whether it was
 * restarted, which decides on its epoch (meta.ts). Service resumes automatically; nothing needs a restart.
 */
import type { RedisOptions } from 'ioredis'
import { FleetError } from '../../protocol/index.ts'
import type { Cancel } from '../../runtime/index.ts'
import type { Health } from '../index.ts'
import type { Caller, CallOptions, Reply } from './caller.ts'
import { checkRights, profileOf, refusalOf, runIdOf, survivesRestart, warningsOf, type Facts } from './checks.ts'
import { exposureWarnings, redisOptionsOf, type ConnectionOptions } from './connection-options.ts'
import { faultOf, notOpen, storeRefusalOf, unavailable, type Fault } from './errors.ts'
import { HealthTracker } from './health.ts'
import { metaKey, scopedKey } from './keys.ts'
import { admitStore, MIGRATIONS } from './meta.ts'
import { clientOptions, type StoreNode } from './node.ts'
import type { Script } from './script.ts'
import { slotOf } from './slots.ts'
import { hostPortOf, Topology } from './topology.ts'
import { DEFAULT_PREFIX, describeUrl, nameOf } from './url.ts'
import { WAIT_MS, WaitQueue } from './waiting.ts'

const TICK_MS = 1_000
const OPEN_WITHIN_MS = 10_000
/** Between two tries of a call that a server would not take yet. */
const PAUSE_MS = 25
const MAX_REDIRECTIONS = 16

interface StoreCall {
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
  readonly slot: number
  readonly lane: string
  readonly bytes: number
}

export class Connection implements Caller {
  readonly #options: ConnectionOptions
  readonly #room: WaitQueue
  readonly #health: HealthTracker
  readonly #storeTime: () => string
  readonly #onReady = new Set<() => void>()
  #topology: Topology | null = null
  #runId = ''
  /** Why the whole store cannot be used. */
  #refusal: FleetError | null = null
  #admitting: Promise<void> | null = null
  #lookAgain = false
  /** Names of the nodes that were last logged as unreachable. */
  #unreachableNodes = ''
  #rightsChecked = false
  #cancelTick: Cancel = () => undefined
  #changed: () => void = () => undefined

  constructor(options: ConnectionOptions) {
    const { time, clock, url, log } = options
    this.#options = options
    this.publisher = options.random.uuid()
    this.#room = new WaitQueue(time)
    this.#health = new HealthTracker({ time, log, where: describeUrl(url) })
    const start = clock === undefined ? 0 : clock.wallMs() - clock.monotonicMs()
    this.#storeTime = clock === undefined ? () => '' : () => `${Math.floor(start + clock.monotonicMs())}`
  }

  readonly runId = (): string => this.#runId
  readonly publisher: string

  /** Channels know nothing of databases, so the name does. */
  readonly channel = (name: string): string => {
    const { prefix, database } = this.#options.url
    return `${prefix}:${database === 0 ? '' : `db${database}:`}${name}`
  }

  /**
   * The node of `{m}` is unreachable, or more than half of all nodes are. One node of several does not count as an
   * outage.
   */
  get isUnavailable(): boolean {
    if (this.#topology === null) return true
    const { nodes } = this.#topology
    const ready = nodes.filter(({ status }) => status === 'ready').length
    return this.#topology.nodeOf(slotOf(metaKey('info')))?.status !== 'ready' || 2 * ready < nodes.length
  }

  get #isComplete(): boolean {
    return this.#topology?.isWhole === true && this.#topology.nodes.every(({ status }) => status === 'ready')
  }

  health(): Health {
    return this.#health.health
  }

  /** Called whenever the whole store serves again, and at the first time. */
  onReady(listener: () => void): void {
    this.#onReady.add(listener)
  }

  /**
   * Connects and checks.
   * @throws {FleetError} STORAGE_UNAVAILABLE with the reason, when that takes longer than 10 s or cannot succeed;
   *   STORAGE_SCHEMA.
   */
  async open(signal: AbortSignal): Promise<void> {
    const { url, random, time } = this.#options
    this.#refusal = null
    this.#rightsChecked = false
    this.#topology = new Topology({
      url,
      base: () => redisOptionsOf(this.#options),
      random,
      time,
      onChange: () => this.#onChange(),
    })
    this.#cancelTick = time.every(TICK_MS, () => this.#tick())
    try {
      await this.#opened(signal)
    } catch (error) {
      this.close()
      throw error
    }
  }

  close(): void {
    this.#cancelTick()
    this.#topology?.close()
    this.#topology = null
    this.#room.wake()
    this.#health.closed()
  }

  run(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    { repeatable = false }: CallOptions = {},
  ): Promise<Reply> {
    const first = keys[0] ?? ''
    const bytes = args.reduce<number>((sum, arg) => sum + (typeof arg === 'string' ? arg.length : 8), 0)
    return this.#run(
      {
        script,
        keys: this.#scoped(keys),
        args: [this.#storeTime(), ...args],
        slot: slotOf(first),
        lane: `${script.name} ${first.slice(0, first.indexOf('}'))}`,
        bytes,
      },
      repeatable,
    )
  }

  /** How a connection that listens is to be made now. */
  subscriber(): RedisOptions {
    if (this.#topology === null) throw notOpen()
    return { ...this.#listenerOptions(), ...this.#topology.subscriberAddress() }
  }

  /** How a connection that listens to a channel of this slot is to be made now. */
  subscriberTo(slot: number): { readonly name: string; readonly options: RedisOptions } | undefined {
    const node = this.#topology?.nodeOf(slot)
    if (node === undefined) return undefined
    return { name: node.name, options: { ...this.#listenerOptions(), ...hostPortOf(node.name, '') } }
  }

  #listenerOptions(): RedisOptions {
    return { ...clientOptions(this.#options.random), socketTimeout: WAIT_MS, ...redisOptionsOf(this.#options) }
  }

  /** Reads anew which node of a Cluster serves which slot. */
  async refresh(): Promise<void> {
    await this.#topology?.refresh()
  }

  async #run(call: StoreCall, repeatable: boolean): Promise<Reply> {
    const startedMs = this.#options.time.monotonicMs()
    try {
      return await this.#attempt(call, startedMs)
    } catch (error) {
      if (!repeatable || !(error instanceof FleetError) || error.outcome !== 'unknown') throw error
      return await this.#attempt(call, startedMs).catch(() => {
        throw error // If the second attempt was not sent or was rejected, the outcome of the first is still unknown.
      })
    }
  }

  /** Until it is replied to, refused, or its outcome unknown. */
  async #attempt(call: StoreCall, startedMs: number): Promise<Reply> {
    let [redirections, asked]: [number, string | null] = [0, null]
    for (;;) {
      const node = await this.#ready(call, asked, startedMs)
      const asking = asked !== null
      asked = null
      try {
        return await node.evaluate(call.script, call.keys, call.args, asking)
      } catch (error) {
        const fault = faultOf(error)
        if (fault.kind === 'refused') throw fault.error
        if (fault.kind === 'unknown') throw unavailable(fault.why, 'unknown', { cause: error })
        redirections += 1
        asked = await this.#resend(fault, redirections, Math.min(startedMs, node.unavailableSinceMs), node)
      }
    }
  }

  /** Prepares to send a call again that did not run. @returns the server to send it to with ASKING, if any. */
  async #resend(
    fault: Exclude<Fault, { kind: 'unknown' | 'refused' }>,
    redirections: number,
    sinceMs: number,
    node: StoreNode,
  ): Promise<string | null> {
    const { time } = this.#options
    if (fault.kind === 'not_run') {
      if (time.monotonicMs() - sinceMs > WAIT_MS) throw unavailable(fault.why, 'not_sent')
      await time.sleep(PAUSE_MS)
      return null
    }
    if (redirections > MAX_REDIRECTIONS) throw unavailable('the cluster redirected a call too many times', 'not_sent')
    if (fault.kind === 'moved') await this.#topology?.refresh()
    return fault.kind === 'ask' ? nameOf(hostPortOf(fault.address, hostPortOf(node.name, '').host)) : null
  }

  /** The server that takes the call, as soon as it does. */
  async #ready({ slot, lane, bytes }: StoreCall, asked: string | null, startedMs: number): Promise<StoreNode> {
    for (;;) {
      if (this.#topology === null) throw notOpen()
      const node = (asked === null ? undefined : this.#topology.nodeAt(asked)) ?? this.#topology.nodeOf(slot)
      if (node?.status === 'ready') return node
      await this.#room.wait({ lane, bytes }, node?.unavailableSinceMs ?? startedMs, () => this.#trouble(node))
    }
  }

  #trouble(node?: StoreNode): string {
    const ofNode = node?.trouble ?? this.#topology?.nodes.find(({ trouble }) => trouble !== null)?.trouble
    return `the store is unavailable: ${this.#refusal?.message ?? ofNode ?? this.#topology?.trouble ?? 'no connection'}`
  }

  // ── Whether the store may be used ─────────────────────────────────────────────────────────────────────────────────

  #opened(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const { time } = this.#options
      const end = (how: () => void): void => {
        this.#changed = () => undefined
        cancel()
        signal.removeEventListener('abort', onAbort)
        how()
      }
      const onAbort = (): void => end(() => reject(signal.reason as Error))
      const cancel = time.after(OPEN_WITHIN_MS, () => end(() => reject(unavailable(this.#trouble(), 'not_sent'))))
      this.#changed = () => {
        const hopeless = this.#refusal ?? this.#denied()
        if (hopeless !== null) end(() => reject(hopeless))
        else if (this.#isComplete) end(resolve)
      }
      signal.addEventListener('abort', onAbort)
      if (signal.aborted) onAbort()
      else void this.#topology?.refresh()
    })
  }

  /** An error that waiting does not resolve; null if there is none. */
  #denied(): FleetError | null {
    const node = this.#topology?.nodes.find(({ isDenied }) => isDenied)
    if (node !== undefined) return unavailable(`${node.name}: ${node.trouble}`, 'not_sent')
    return this.#topology?.isDenied === true ? unavailable(`${this.#topology.trouble}`, 'not_sent') : null
  }

  #onChange(): void {
    this.#health.note(this.isUnavailable ? this.#trouble() : null)
    this.#noteNodes()
    if (this.#topology?.nodes.some(({ status }) => status === 'disconnected') === true) void this.#topology.refresh()
    if (this.#topology?.isWhole === true && this.#topology.nodes.some(({ status }) => status === 'prepared'))
      void this.#admit()
    this.#changed()
  }

  /** Logs which nodes are unreachable while the store as a whole serves. */
  #noteNodes(): void {
    const unreachable = this.isUnavailable
      ? []
      : (this.#topology?.nodes.filter(({ status }) => status !== 'ready') ?? [])
    const names = unreachable
      .map(({ name }) => name)
      .toSorted()
      .join()
    if (names === this.#unreachableNodes) return
    this.#unreachableNodes = names
    if (names === '')
      this.#options.log?.info(
        this.isUnavailable ? 'the whole store is unavailable' : 'all nodes of the store are reachable again',
      )
    else
      this.#options.log?.warn('nodes of the store are unreachable; calls for their keys are rejected', {
        nodes: names,
      })
  }

  /** One look at a time; what changes meanwhile is looked at after it. */
  async #admit(): Promise<void> {
    this.#lookAgain = true
    if (this.#admitting !== null) return this.#admitting
    this.#admitting = (async () => {
      while (this.#lookAgain) {
        this.#lookAgain = false
        await this.#look()
      }
    })()
    await this.#admitting
    this.#admitting = null
  }

  async #look(): Promise<void> {
    const topology = this.#topology
    if (topology === null) return
    const facts = topology.nodes.flatMap((node) => node.facts ?? [])
    if (facts.length === 0) return
    try {
      this.#checkRefusal(facts)
      await this.#enter(topology, facts)
    } catch (error) {
      this.#refuse(topology, storeRefusalOf(error))
      return
    }
    for (const node of topology.nodes) node.admit()
    this.#room.wake()
    if (!this.isUnavailable) for (const listener of this.#onReady) listener()
  }

  /** @param refusal null if the connection broke again; a reconnect or the next tick checks again. */
  #refuse(topology: Topology, refusal: FleetError | null): void {
    this.#refusal = refusal
    if (refusal?.code === 'STORAGE_SCHEMA') for (const node of topology.nodes) node.withdraw()
    this.#changed()
  }

  #checkRefusal(facts: readonly Facts[]): void {
    for (const each of facts) {
      const why = refusalOf(each, this.#options.url.form === 'cluster')
      if (why !== null) throw unavailable(why, 'not_sent')
    }
  }

  /** Notes the life of the store; on a new one says what its settings promise. */
  async #enter(topology: Topology, facts: readonly Facts[]): Promise<void> {
    const { random, log, migrations = MIGRATIONS } = this.#options
    const runId = runIdOf(facts)
    const run: Caller['run'] = async (script, keys, args) => {
      const node = topology.nodeOf(slotOf(keys[0] ?? ''))
      if (node === undefined) throw new Error('the cluster does not serve this slot') // The next tick tries again.
      return node.evaluate(script, this.#scoped(keys), [this.#storeTime(), ...args])
    }
    const nodes = facts.map((each) => each.runId).toSorted()
    const admission = { runId, nodes, survivesRestart: survivesRestart(facts), freshEpoch: random.uuid(), migrations }
    const { epoch, life, isNew } = await admitStore(run, admission)
    if (!this.#rightsChecked) await checkRights(run, this.channel('{m}:probe'), this.#options.url)
    this.#rightsChecked = true
    this.#refusal = null
    if (isNew)
      log?.info(
        this.#runId === ''
          ? 'the store has a new epoch'
          : 'the store was restarted and may have lost changes; it has a new epoch',
        { epoch },
      )
    this.#health.profiled(
      profileOf(facts),
      [...warningsOf(facts), ...exposureWarnings(this.#options)],
      facts[0]?.version ?? '',
    )
    this.#runId = life
  }

  #tick(): void {
    const { nodes = [] } = this.#topology ?? {}
    for (const node of nodes) void node.probe()
    this.#health.tick()
    if (nodes.length === 0 || nodes.some(({ status }) => status !== 'ready')) this.#onChange()
    if (nodes.length === 0) void this.#topology?.refresh()
  }

  // ── Names and options ─────────────────────────────────────────────────────────────────────────────────────────────

  #scoped(keys: readonly string[]): readonly string[] {
    const { prefix } = this.#options.url
    return prefix === DEFAULT_PREFIX ? keys : keys.map((key) => scopedKey(key, prefix))
  }

  /** Checks the whole store again, which gives an emptied store a new epoch. */
  readonly readmit = (): Promise<void> => this.#admit()
}
