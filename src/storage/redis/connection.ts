/**
 * @module storage/redis/connection
 * The way to the store: sends each script to the server that holds its keys, and is honest about what became of it.
 *
 *   call ──▶ its server is ready ──▶ sent ──▶ answered
 *     └─ away: waits (waiting.ts)      ├─ MOVED, READONLY, LOADING …: has not run, is sent again within the moment
 *                                      ├─ no answer: outcome unknown; sent once more where it repeats harmlessly
 *                                      └─ OOM, MISCONF, a refusal: told as it is
 *
 * Before anything is admitted after a reconnect the store as a whole is looked at: version, rights, layout, and the life
 * of the store, which decides on its epoch (meta.ts). Full service is back by itself; nothing needs a restart.
 */
import { createHash } from 'node:crypto'
import type { RedisOptions } from 'ioredis'
import { FleetError } from '../../protocol/index.ts'
import type { Cancel, Clock, Log, Random, Time } from '../../runtime/index.ts'
import type { Health } from '../index.ts'
import type { Caller, CallOptions, Reply } from './caller.ts'
import { profileOf, refusalOf, RIGHTS, rightsArguments, survivesRestart, warningsOf, type Facts } from './checks.ts'
import { faultOf, notOpen, unavailable, type Fault } from './errors.ts'
import { HealthBook } from './health.ts'
import { metaKey, PREFIX } from './keys.ts'
import { admitStore } from './meta.ts'
import { clientOptions, type StoreNode } from './node.ts'
import type { Script } from './script.ts'
import { slotOf } from './slots.ts'
import { hostPortOf, Topology } from './topology.ts'
import { DEFAULT_PREFIX, describeUrl, isLoopback, nameOf, type StoreUrl } from './url.ts'
import { WAIT_MS, WaitingRoom } from './waiting.ts'

const TICK_MS = 1_000
const OPEN_WITHIN_MS = 10_000
/** Between two tries of a call that a server would not take yet. */
const PAUSE_MS = 25
const MAX_REDIRECTIONS = 16

export interface ConnectionOptions {
  readonly url: StoreUrl
  /** Wins over the one in the URL; asked anew for each connection. */
  readonly password?: (() => string | undefined) | undefined
  /** Of the sentinels themselves. */
  readonly sentinelPassword?: (() => string | undefined) | undefined
  /** PEM texts; without a CA those of the system are trusted. */
  readonly tls?:
    | { readonly ca?: string | undefined; readonly cert?: string | undefined; readonly key?: string | undefined }
    | undefined
  readonly time: Time
  readonly random: Random
  readonly log?: Log | undefined
  /** For tests: the time of the store, in place of its server's. */
  readonly clock?: Clock | undefined
}

interface Call {
  readonly script: Script
  readonly keys: readonly string[]
  readonly args: readonly (string | number)[]
  readonly slot: number
  readonly lane: string
  readonly bytes: number
}

export class Connection implements Caller {
  readonly #options: ConnectionOptions
  readonly #room: WaitingRoom
  readonly #health: HealthBook
  readonly #storeTime: () => string
  readonly #onReady = new Set<() => void>()
  #topology: Topology | null = null
  #runId = ''
  /** Why the store as a whole may not be used. */
  #refusal: FleetError | null = null
  #admitting: Promise<void> | null = null
  #lookAgain = false
  #rightsChecked = false
  #cancelTick: Cancel = () => undefined
  #changed: () => void = () => undefined

  constructor(options: ConnectionOptions) {
    const { time, clock, url, log } = options
    this.#options = options
    this.#room = new WaitingRoom(time)
    this.#health = new HealthBook({ time, log, where: describeUrl(url) })
    const start = clock === undefined ? 0 : clock.wallMs() - clock.monotonicMs()
    this.#storeTime = clock === undefined ? () => '' : () => `${Math.floor(start + clock.monotonicMs())}`
  }

  readonly runId = (): string => this.#runId

  /** Channels know nothing of databases, so the name does. */
  readonly channel = (name: string): string => {
    const { prefix, database } = this.#options.url
    return `${prefix}:${database === 0 ? '' : `db${database}:`}${name}`
  }

  get isAway(): boolean {
    return this.#topology === null || this.#topology.nodes.some(({ status }) => status !== 'ready')
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
   * @throws {FleetError} STORAGE_UNAVAILABLE with the reason, when that takes longer than 10 s or cannot succeed; STORAGE_SCHEMA.
   */
  async open(signal: AbortSignal): Promise<void> {
    const { url, random, time } = this.#options
    this.#refusal = null
    this.#rightsChecked = false
    this.#topology = new Topology({ url, base: () => this.#base(), random, time, onChange: () => this.#onChange() })
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
    return {
      ...clientOptions(this.#options.random),
      socketTimeout: WAIT_MS,
      ...this.#base(),
      ...this.#topology.subscriberAddress(),
    }
  }

  async #run(call: Call, repeatable: boolean): Promise<Reply> {
    const startedMs = this.#options.time.monotonicMs()
    try {
      return await this.#attempt(call, startedMs)
    } catch (error) {
      if (!repeatable || !(error instanceof FleetError) || error.outcome !== 'unknown') throw error
      return await this.#attempt(call, startedMs).catch(() => {
        throw error // That the second was not sent, or was refused, says nothing about the first.
      })
    }
  }

  /** Until it is answered, refused, or its outcome unknown. */
  async #attempt(call: Call, startedMs: number): Promise<Reply> {
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
        asked = await this.#resend(fault, redirections, Math.min(startedMs, node.awaySinceMs), node)
      }
    }
  }

  /** What has not run is sent again. Answers the server that is to be asked out of turn, if any. */
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
    if (redirections > MAX_REDIRECTIONS) throw unavailable('the cluster sends a call round in circles', 'not_sent')
    if (fault.kind === 'moved') await this.#topology?.refresh()
    return fault.kind === 'ask' ? nameOf(hostPortOf(fault.address, hostPortOf(node.name, '').host)) : null
  }

  /** The server that takes the call, as soon as it does. */
  async #ready({ slot, lane, bytes }: Call, asked: string | null, startedMs: number): Promise<StoreNode> {
    for (;;) {
      if (this.#topology === null) throw notOpen()
      const node = (asked === null ? undefined : this.#topology.nodeAt(asked)) ?? this.#topology.nodeOf(slot)
      if (node?.status === 'ready') return node
      await this.#room.wait({ lane, bytes }, node?.awaySinceMs ?? startedMs, () => this.#trouble(node))
    }
  }

  #trouble(node?: StoreNode): string {
    return `the store is away: ${this.#refusal?.message ?? node?.trouble ?? this.#topology?.nodes.find(({ trouble }) => trouble !== null)?.trouble ?? this.#topology?.trouble ?? 'no connection'}`
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
        else if (!this.isAway && this.#topology?.isWhole === true) end(resolve)
      }
      signal.addEventListener('abort', onAbort)
      if (signal.aborted) onAbort()
      else void this.#topology?.refresh()
    })
  }

  /** What waiting will not mend. */
  #denied(): FleetError | null {
    const node = this.#topology?.nodes.find(({ isDenied }) => isDenied)
    if (node !== undefined) return unavailable(`${node.name}: ${node.trouble}`, 'not_sent')
    return this.#topology?.isDenied === true ? unavailable(`${this.#topology.trouble}`, 'not_sent') : null
  }

  #onChange(): void {
    this.#health.note(this.isAway ? this.#trouble() : null)
    if (this.#topology?.nodes.some(({ status }) => status === 'away') === true) void this.#topology.refresh()
    if (this.#topology?.isWhole === true && this.#topology.nodes.some(({ status }) => status === 'prepared'))
      void this.#admit()
    this.#changed()
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
    const facts = topology?.nodes.flatMap((node) => node.facts ?? []) ?? []
    if (topology === null || facts.length === 0) return
    try {
      this.#judge(facts)
      await this.#enter(topology, facts)
    } catch (error) {
      const fault = error instanceof FleetError ? null : faultOf(error)
      this.#refusal =
        error instanceof FleetError
          ? error
          : fault?.kind === 'refused' && fault.error instanceof FleetError
            ? fault.error
            : null
      this.#changed()
      return // Else the server went away again; its return, or the next tick, brings us here.
    }
    for (const node of topology.nodes) node.admit()
    this.#room.wake()
    if (!this.isAway) for (const listener of this.#onReady) listener()
  }

  #judge(facts: readonly Facts[]): void {
    for (const each of facts) {
      const why = refusalOf(each, this.#options.url.form === 'cluster')
      if (why !== null) throw unavailable(why, 'not_sent')
    }
  }

  /** Notes the life of the store; on a new one says what its settings promise. */
  async #enter(topology: Topology, facts: readonly Facts[]): Promise<void> {
    const { random, log } = this.#options
    const runId = runIdOf(facts)
    const node = topology.nodeOf(slotOf(metaKey('info')))
    if (node === undefined) return
    const run: Caller['run'] = (script, keys, args) =>
      node.evaluate(script, this.#scoped(keys), [this.#storeTime(), ...args])
    const { epoch, isNew } = await admitStore(run, {
      runId,
      survivesRestart: survivesRestart(facts),
      freshEpoch: random.uuid(),
    })
    if (!this.#rightsChecked) await this.#checkRights(run)
    this.#rightsChecked = true
    this.#refusal = null
    if (isNew)
      log?.info(
        this.#runId === ''
          ? 'the store has a new epoch'
          : 'the store was restarted and may have lost changes; it has a new epoch',
        { epoch },
      )
    this.#health.profiled(profileOf(facts), [...warningsOf(facts), ...this.#exposure()], facts[0]?.version ?? '')
    this.#runId = runId
  }

  async #checkRights(run: Caller['run']): Promise<void> {
    const denied = await run(RIGHTS, [metaKey('probe')], rightsArguments(this.channel('probe')))
    if (!Array.isArray(denied) || denied.length === 0) return
    throw unavailable(
      `the store's user may not call ${denied.join(', ')} on keys and channels of ${this.#options.url.prefix}:*; grant it these rights`,
      'not_sent',
    )
  }

  #exposure(): string[] {
    const { url } = this.#options
    const isOpen = !url.tls && this.#password() !== null && !url.hosts.every(isLoopback)
    return isOpen ? ['the password travels in clear; use kvstores:// (TLS)'] : []
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
    return prefix === DEFAULT_PREFIX ? keys : keys.map((key) => `${prefix}:${key.slice(PREFIX.length)}`)
  }

  #password(): string | null {
    return this.#options.password?.() ?? this.#options.url.password
  }

  #base(): RedisOptions {
    const { url, tls, sentinelPassword } = this.#options
    const password = this.#password()
    const ofSentinels = sentinelPassword?.()
    const [first] = url.hosts
    return {
      db: url.database,
      keyPrefix: '',
      ...(url.user === null ? {} : { username: url.user }),
      ...(password === null ? {} : { password }),
      ...(ofSentinels === undefined ? {} : { sentinelPassword: ofSentinels }),
      ...(url.tls && url.form === 'sentinel' ? { sentinelTLS: definedOf(tls) } : {}),
      ...(url.tls
        ? {
            tls: {
              ...definedOf(tls),
              ...(first === undefined || url.form !== 'single' || /^[\d.:]+$/.test(first.host)
                ? {}
                : { servername: first.host }),
            },
          }
        : {}),
    }
  }

  /** Gives a store that was emptied under us an epoch again. */
  readonly readmit = (): Promise<void> => this.#admit()
}

const definedOf = (tls: ConnectionOptions['tls']): Record<string, string> =>
  Object.fromEntries(Object.entries(tls ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined))

/** One server: its own; several: a digest of all. */
function runIdOf(facts: readonly Facts[]): string {
  const ids = facts.map(({ runId }) => runId).toSorted()
  return ids.length === 1 ? (ids[0] ?? '') : createHash('sha1').update(ids.join()).digest('hex')
}
