/**
 * @module master/control/tally-collector
 * Adds what workers did to the tallies of the revisions of their configs (D138).
 *
 *   stats frame ──▶ difference to the frame before ──▶ tally of the revision, in memory ──every 5 s──▶ store
 *
 * The result of a report names the revision that wrote the stored generation. A frame counts if its generation is that
 * one, or the one before it that this connection knows. Other frames, such as those of a config that a PATCH made,
 * count for nothing, but are the base of the next difference.
 *
 * What a process counted before it connected to this master may already be in the tally. So the first frame of a
 * connection is only the base, unless the process has never registered before.
 */
import { FleetError, MAX_REVISIONS, MAX_TALLY_COUNTERS, isPluginCounter, TALLY_NAMES } from '../../protocol/index.ts'
import type { Stats } from '../../protocol/index.ts'
import type { Cancel, LogThrottle } from '../../runtime/index.ts'
import type { RegisterResult, ReportResult } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import type { Connection } from './connection.ts'
import type { ReportedStateFrame } from './connection-state.ts'
import { counterFrame, eachIncrement, NOTHING_COUNTED } from './counter-frames.ts'
import { TALLIES_EVERY_MS } from './limits.ts'

type Registered = Extract<RegisterResult, { kind: 'registered' }>

/** What was not added to the tally of one revision yet. */
class PendingTally {
  readonly counters = new Map<string, number>()
  #plugins = 0

  add(name: string, by: number): void {
    const before = this.counters.get(name)
    if (before === undefined && isPluginCounter(name) && (this.#plugins += 1) > MAX_TALLY_COUNTERS) return
    this.counters.set(name, Math.min((before ?? 0) + by, Number.MAX_SAFE_INTEGER))
  }
}

export interface TallyCollectorDeps {
  readonly master: Pick<MasterDeps, 'backend' | 'clock' | 'log' | 'timers'>
  readonly logThrottle: LogThrottle
}

export class TallyCollector {
  readonly #deps: TallyCollectorDeps
  /** By type and revision. */
  #pending = new Map<string, Map<string, PendingTally>>()
  #cancel: Cancel | null = null
  #flushing: Promise<void> = Promise.resolve()

  constructor(deps: TallyCollectorDeps) {
    this.#deps = deps
  }

  /** Records that the store has registered this connection for the first time. */
  registered({ tally }: Connection, { previous, isRestart }: Registered): void {
    const isNewProcess = previous === null || isRestart === true
    tally.base = isNewProcess ? NOTHING_COUNTED : null
    tally.isInError = !isNewProcess && previous.state === 'ERROR'
  }

  /** Keeps the counters of a frame until the result of its report names the revision. */
  stats({ tally }: Connection, metrics: Stats['metrics']): void {
    const last = tally.newest ?? tally.base
    tally.newest = counterFrame(metrics, this.#deps.master.clock.monotonicMs(), last) ?? tally.newest
  }

  /** Adds what a stored report contained. */
  reported(connection: Connection, state: ReportedStateFrame | null, { gen, revision }: ReportResult): void {
    const { tally, type } = connection
    if (revision !== undefined) tally.stored = { gen, revision }
    else if (tally.stored?.gen === gen) tally.stored = null
    if (state !== null) {
      const hasEntered = state.state === 'ERROR' && !tally.isInError
      tally.isInError = state.state === 'ERROR'
      if (hasEntered) this.#tallyOf(type, tally.revisionAt(state.gen))?.add(TALLY_NAMES.errorEntries, 1)
    }
    const { newest, base } = tally
    if (newest === null) return
    tally.newest = null
    tally.base = newest
    if (base === null) return
    const pending = this.#tallyOf(type, tally.revisionAt(newest.gen))
    if (pending !== undefined) eachIncrement(newest, base, (name, by) => pending.add(name, by))
  }

  /** Adds everything that is pending to the store, once. */
  async stop(): Promise<void> {
    await this.#flushNext()
    this.#cancel?.()
  }

  /** Flushes behind the flush that is under way. */
  #flushNext(): Promise<void> {
    this.#cancel?.()
    this.#cancel = null
    return (this.#flushing = this.#flushing.then(() => this.#flush()))
  }

  #tallyOf(type: string, revision: string | null): PendingTally | undefined {
    if (revision === null) return undefined
    const ofType = this.#pending.get(type) ?? new Map<string, PendingTally>()
    this.#pending.set(type, ofType)
    const known = ofType.get(revision)
    if (known !== undefined || ofType.size >= MAX_REVISIONS) return known
    const pending = new PendingTally()
    ofType.set(revision, pending)
    this.#cancel ??= this.#deps.master.timers.after(TALLIES_EVERY_MS, () => void this.#flushNext())
    return pending
  }

  async #flush(): Promise<void> {
    const taken = this.#pending
    this.#pending = new Map()
    await Promise.all([...taken].map(([type, tallies]) => this.#add(type, tallies)))
  }

  /** What was certainly not added is added the next time. After an unknown outcome a repeat may count twice. */
  async #add(type: string, tallies: ReadonlyMap<string, PendingTally>): Promise<void> {
    const { master, logThrottle } = this.#deps
    const increments = [...tallies].map(([revision, { counters }]) => ({
      revision,
      counters: Object.fromEntries(counters),
    }))
    try {
      await master.backend.revisions.addTallies(type, increments)
    } catch (error) {
      const isKept = error instanceof FleetError && error.outcome === 'not_sent'
      logThrottle.run('tallies', (suppressed) =>
        master.log.warn('failed to store what workers did under their revisions', { error, isKept, suppressed }),
      )
      if (!isKept) return
      for (const [revision, { counters }] of tallies) {
        const pending = this.#tallyOf(type, revision)
        for (const [name, by] of counters) pending?.add(name, by)
      }
    }
  }
}
