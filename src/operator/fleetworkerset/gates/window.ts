/**
 * @module operator/fleetworkerset/gates/window
 * Computes what a revision counted within a window: the difference of two reads of its tally at the master (D138). The
 * read at the beginning is a snapshot that is stored in the status, so it has only the counters that the gates need.
 *
 *   snapshotOf(gates, tally) ──stored──▶ windowBetween(snapshot, tally later) ──▶ judgeGates
 *
 * A snapshot names each counter that it covers, also with the value 0, except for the 88 buckets of durations, of which
 * it has those above 0. {@link isSnapshotFor} is false when the gates were changed to need more: the missing counters
 * would cover another time than the others, so a new window has to begin.
 */
import { RUN_MS_BUCKETS, RUN_MS_NAMES, TALLIED_METRICS, TALLY_NAMES } from '../../../protocol/index.ts'
import type { Gates } from './schema.ts'

/** Counters by their name in a tally. One that was never added to may be left out. */
export type Counters = Readonly<Record<string, number>>

export const RUNS_OK = 'runs_ok'
export const RUNS_FAILED = 'runs_failed'
export const SLOT_FAILURES = 'slot_failures'
/** The buckets of durations, by index. */
const BUCKET_NAMES: readonly string[] = RUN_MS_NAMES.map((name) => TALLIED_METRICS.get(name) ?? name)
/** Its presence in a snapshot shows that the snapshot has the buckets. */
const FIRST_BUCKET = BUCKET_NAMES.slice(0, 1)

/** @returns the name in a tally of the counter of a gate; it is also the name of the result of the gate. */
export const tallyNameOf = (counter: string): string =>
  counter === SLOT_FAILURES ? SLOT_FAILURES : `counter.${counter}`

/** @returns the names of the counters that a snapshot for these gates always has. */
const coveredNames = ({ runSeconds, counters = [] }: Gates): readonly string[] => [
  RUNS_OK,
  RUNS_FAILED,
  ...(counters.length === 0 ? [] : [TALLY_NAMES.workerSeconds]),
  ...counters.map(({ name }) => tallyNameOf(name)),
  ...(runSeconds === undefined ? [] : FIRST_BUCKET),
]

/** @returns the names of all counters that these gates read. */
export const countersOf = (gates: Gates): readonly string[] => [
  ...new Set([...coveredNames(gates), ...(gates.runSeconds === undefined ? [] : BUCKET_NAMES)]),
]

/** @returns the part of a tally that is stored at the beginning of a window. */
export function snapshotOf(gates: Gates, tally: Counters): Counters {
  const covered = new Set(coveredNames(gates))
  return Object.fromEntries(
    countersOf(gates)
      .map((name) => [name, tally[name] ?? 0] as const)
      .filter(([name, value]) => value > 0 || covered.has(name)),
  )
}

/** Whether a snapshot has what these gates need: false after an edit that added a gate. */
export const isSnapshotFor = (gates: Gates, snapshot: Counters): boolean =>
  coveredNames(gates).every((name) => snapshot[name] !== undefined)

/**
 * Subtracts two reads of the tally of one revision.
 *
 * @param before The snapshot.
 * @param after A later read.
 * @returns the increase of each counter of `after`. A value that is lower than before means that the master lost the
 *   counter, so it counted from 0: the value itself is the increase.
 */
export const windowBetween = (before: Counters, after: Counters): Counters =>
  Object.fromEntries(
    Object.entries(after).map(([name, value]) => {
      const earlier = before[name] ?? 0
      return [name, value < earlier ? value : value - earlier]
    }),
  )

/** @returns the number of runs in each bucket of durations, by its index (reserved-metrics.ts). */
export const bucketsOf = (window: Counters): readonly number[] =>
  Array.from({ length: RUN_MS_BUCKETS }, (_, index) => window[BUCKET_NAMES[index] ?? ''] ?? 0)
