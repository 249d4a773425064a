/**
 * @module operator/fleetworkerset/counters
 * Reads what workers did under the two revisions of a rollout from the master, and judges the gates by it. A read is
 * used for a moment, since the looks at a set may follow each other closely.
 */
import {
  isSnapshotFor,
  judgeGates,
  snapshotOf,
  windowBetween,
  type Cohort,
  type Counters,
  type GateResult,
} from './gates/index.ts'
import type { CatalogType } from '../fleet/index.ts'
import type { SetContext } from './context.ts'
import type { RolloutStatus, RolloutWindow } from './rollout-schema.ts'

/** The counters at the master follow what workers do by some seconds, so a newer read says no more. */
const USED_MS = 2_000

/** Counters by revision. */
type Tallies = ReadonlyMap<string, Counters>

/** @returns the counters of each revision of the type; `undefined` if the master did not say. */
export async function readTallies({ deps, set, signal, state }: SetContext): Promise<Tallies | undefined> {
  const nowMs = deps.clock.monotonicMs()
  if (state.tallies !== undefined && nowMs - state.tallies.readMs < USED_MS) return state.tallies.byRevision
  const response = await deps.revisions.list(set.spec.type, signal)
  if (response.kind !== 'ok') return undefined
  const byRevision = new Map(response.value.map(({ revision, counters }) => [revision, counters]))
  state.tallies = { readMs: nowMs, byRevision }
  return byRevision
}

/** Counts of the workers that gates compare. */
export interface Compared {
  readonly updated: number
  readonly failing: number
  /** Online workers with another config. */
  readonly others: number
}

export interface Judged {
  /** Counters of now, for the snapshot with which a bake begins. */
  readonly snapshot: RolloutWindow
  readonly gates: readonly GateResult[]
  /** What the others did since the bake began. */
  readonly baseline: Counters | undefined
  /** The gates were edited since the bake began, so it has to begin again. */
  readonly isWindowOutdated: boolean
}

/** @param isEnd Whether the bake has ended; before it, only what is certain fails. */
export function judge(
  { set }: SetContext,
  { kind }: CatalogType,
  rollout: RolloutStatus,
  tallies: Tallies,
  facts: { readonly current: string | undefined; readonly compared: Compared; readonly isEnd: boolean },
): Judged {
  const { gates = {} } = set.spec.rollout ?? {}
  const { window = {} } = rollout
  const tallyOf = (revision: string): Counters => snapshotOf(gates, tallies.get(revision) ?? {})
  const { current } = facts
  const snapshot = {
    updated: tallyOf(rollout.revision),
    ...(current !== undefined && { current: tallyOf(current) }),
  }
  const others = othersOf(snapshot, window, facts.compared)
  return {
    snapshot,
    baseline: others?.counters,
    isWindowOutdated: window.updated !== undefined && !isSnapshotFor(gates, window.updated),
    gates: judgeGates({
      gates,
      kind: kind === 'BatchAutomation' ? 'batch' : 'continuous',
      look: facts.isEnd ? 'end' : 'bake',
      updated: {
        workers: facts.compared.updated,
        failedWorkers: facts.compared.failing,
        counters: windowBetween(window.updated ?? snapshot.updated, snapshot.updated),
      },
      current: others,
    }),
  }
}

/** When all workers have the new config, what the others did in the stage before stands in for them. */
function othersOf(snapshot: RolloutWindow, window: RolloutWindow, { others }: Compared): Cohort | undefined {
  if (others > 0 && snapshot.current !== undefined)
    return { workers: others, counters: windowBetween(window.current ?? snapshot.current, snapshot.current) }
  return window.baseline === undefined ? undefined : { workers: window.workers ?? 1, counters: window.baseline }
}
