/**
 * @module diagnosis/failing-text
 * Describes a worker that fails its tasks: how many, with which error, and whether its last config change is suspected.
 *
 *   img-04 has failed every task since its config changed 11 min ago (origin, by ana): ENOTFOUND old.invalid
 *   2,076 runs failed in the last minute, none succeeded, and 1,344 tasks died. All failed with the same error.
 */
import type { RunsBody } from '../protocol/index.ts'
import type { Fix } from './cause.ts'
import { hasNoSlot, type FailingWorker } from './failing-workers.ts'
import { agoText, countText, plural, spanText } from './texts.ts'
import type { WorkerFacts } from './worker-facts.ts'

type WorkerRuns = RunsBody['workers'][number]

/** Changes of these fields alone do not make tasks fail. An autoscaler may change them every minute. */
const CAPACITY: ReadonlySet<string> = new Set(['enabled', 'slots'])
/** A worker that enters ERROR within this time after a change of its config may do so because of it. */
const SUSPECTED_WITHIN_SECONDS = 60
const ABOUT_A_MINUTE = 45
const MINUTE_SECONDS = 75

/** A config change, as text: `its config changed 11 min ago (origin, by ana)`. */
interface ConfigChange {
  readonly text: string
  readonly generation: number
  /** Whether the failures began with it. */
  readonly isSuspected: boolean
}

function lastChange({ worker, runs }: FailingWorker, nowSeconds: number): ConfigChange | null {
  const { config_changed_at: at, config_changed_by: by, config_gen: generation } = worker
  if (at === null || generation === 0) return null
  const fields = runs?.config_gen === generation ? runs.config_changed : []
  const details = [...(fields.length === 0 ? [] : [fields.join(', ')]), ...(by === null ? [] : [`by ${by}`])]
  const detail = details.length === 0 ? '' : ` (${details.join(', ')})`
  return {
    text: `its config changed ${agoText(nowSeconds - at)}${detail}`,
    generation,
    isSuspected: !isCapacity(fields) && beganWith(worker, runs, at),
  }
}

const isCapacity = (fields: readonly string[]): boolean =>
  fields.length > 0 && fields.every((name) => CAPACITY.has(name))

/** With counts: no run under this config succeeded. Without: the worker is in ERROR since soon after the change. */
function beganWith({ state_since: since }: WorkerFacts, runs: WorkerRuns | null, changedAt: number): boolean {
  if (runs !== null) return runs.config_failed > 0 && runs.config_done === 0
  return since >= changedAt - 1 && since - changedAt <= SUSPECTED_WITHIN_SECONDS
}

export interface FailingText {
  /** Begins with a verb: `has failed every task since its config changed 11 min ago (origin, by ana)`. */
  readonly does: string
  /** The newest error; null if the worker reported none. */
  readonly error: string | null
  /** Further sentences; '' if nothing is known. */
  readonly evidence: string
  readonly fixes: readonly Fix[]
}

export function describeFailing(failing: FailingWorker, nowSeconds: number): FailingText {
  const { worker, runs } = failing
  const change = lastChange(failing, nowSeconds)
  const evidence = [
    runs === null ? '' : countsText(runs),
    runs === null ? '' : sameErrorText(runs),
    change === null || change.isSuspected ? '' : `${capitalized(change.text)}.`,
  ]
  return {
    does: doesText(failing, change),
    error: worker.last_error ?? runs?.last_error ?? null,
    evidence: evidence.filter((sentence) => sentence !== '').join(' '),
    fixes: fixesOf(failing, change),
  }
}

const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

function doesText(failing: FailingWorker, change: ConfigChange | null): string {
  const { worker, runs } = failing
  const since = change?.isSuspected === true ? ` since ${change.text}` : ''
  if (hasNoSlot(worker)) return since === '' ? 'cannot start a slot' : `has not started a slot${since}`
  const share = runs === null ? 1 : runs.failed / (runs.failed + runs.done)
  if (runs !== null && share < 1) return `fails ${Math.max(1, Math.round(100 * share))} % of its tasks`
  return since === '' ? 'fails every task it takes' : `has failed every task${since}`
}

function countsText({ failed, done, died, window_seconds: seconds }: WorkerRuns): string {
  const window = seconds >= ABOUT_A_MINUTE && seconds <= MINUTE_SECONDS ? 'last minute' : `last ${spanText(seconds)}`
  const succeeded = done === 0 ? 'none succeeded' : `${countText(done)} succeeded`
  const deaths = died === null || died === 0 ? '' : `; ${plural(died, 'task')} died`
  return `${plural(failed, 'run')} failed in the ${window}, ${succeeded}${deaths}.`
}

function sameErrorText({ last_error_runs: same, config_failed: failed }: WorkerRuns): string {
  if (same === null || same < 2) return ''
  return same >= failed
    ? 'All failed with the same error.'
    : `The newest error ended ${countText(same)} of ${plural(failed, 'failed run')} under this config.`
}

function fixesOf({ worker, runs }: FailingWorker, change: ConfigChange | null): readonly Fix[] {
  const of = { type: worker.automation_type, worker: worker.worker_id }
  // The history does not have the default config, generation 0.
  const isComparable = change?.isSuspected === true && change.generation > 1
  return [
    { kind: 'edit_config', ...of },
    ...(isComparable ? [{ kind: 'show_config_change', generation: change.generation, ...of } as const] : []),
    { kind: 'drain_worker', ...of },
    ...(runs?.died == null || runs.died === 0 ? [] : [{ kind: 'replay_dead', type: of.type } as const]),
  ]
}

/** The most frequent error of the workers; null if none has one. */
export function mostFrequentError(workers: readonly Pick<WorkerFacts, 'last_error'>[]): string | null {
  const counts = new Map<string, number>()
  for (const { last_error: error } of workers) if (error !== null) counts.set(error, (counts.get(error) ?? 0) + 1)
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a)
  return most?.[0] ?? null
}

/** `a, b, c and 7 more`. */
export function namesText(names: readonly string[], shown = 3): string {
  if (names.length <= shown) return names.join(', ')
  return `${names.slice(0, shown).join(', ')} and ${countText(names.length - shown)} more`
}

/** Ends a sentence with a colon and the error; with a full stop if there is none. */
export const withError = (sentence: string, error: string | null): string =>
  error === null ? `${sentence}.` : `${sentence}: ${error}${/[.!?]$/.test(error) ? '' : '.'}`
