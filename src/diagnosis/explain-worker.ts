/**
 * @module diagnosis/explain-worker
 * Explains why a worker does not run, or why its runs fail. The error of a worker is not repeated: what shows the
 * causes shows the error too.
 */
import type { RunsBody } from '../protocol/index.ts'
import type { Cause, Fix } from './cause.ts'
import { departureText } from './departure-text.ts'
import { describeFailing } from './failing-text.ts'
import { isFailing, knownRuns } from './failing-workers.ts'
import { refusesConfig } from './problems.ts'
import { spanText } from './texts.ts'
import { isDraining, isEnabled, wantedSlots, type WorkerFacts } from './worker-facts.ts'

/** A new config that is applied within this time is not reported. */
const APPLIED_WITHIN_SECONDS = 5

/**
 * Never returns an empty list. The first cause is the decisive one.
 *
 * @param runs Its runs; null if they are not known.
 */
export function explainWorker(
  worker: WorkerFacts,
  nowSeconds: number,
  runs: RunsBody['workers'][number] | null,
): readonly Cause[] {
  const causes = [
    offlineCause(worker, nowSeconds),
    ...configCauses(worker),
    drainCause(worker, nowSeconds),
    behindCause(worker, nowSeconds),
    failingCause(worker, nowSeconds, runs),
  ]
  const found = causes.filter((cause) => cause !== null)
  return found.length > 0
    ? found
    : [{ tone: 'good', text: 'No problems: connected, enabled and running the latest config.', fixes: [] }]
}

/**
 * Explains why a worker has not applied the newest generation of its config. Leaves out what else keeps it from
 * running, for example that it is not enabled.
 *
 * @returns one cause
 */
export function explainNotApplied(worker: WorkerFacts, nowSeconds: number): readonly Cause[] {
  const { config_gen: saved, config_changed_at: at } = worker
  const age = at === null ? '' : ` ${since(at, nowSeconds)} ago`
  const offline = offlineCause(worker, nowSeconds)
  if (offline !== null) return [{ ...offline, text: `${offline.text} It applies the config when it connects.` }]
  if (refusesConfig(worker)) return [refusedCause(worker, age === '' ? '' : ` Saved${age}.`)]
  if (at !== null && nowSeconds - at < APPLIED_WITHIN_SECONDS)
    return [{ tone: 'calm', text: `Saved${age}. The worker applies a config within a few seconds.`, fixes: [] }]
  const text =
    `Saved${age}. The worker is connected but has not confirmed generation ${saved}: ` +
    'it may be blocked, or may be unable to read its config from the master.'
  return [{ tone: 'warn', text, fixes: [logOf(worker)] }]
}

function since(at: number, nowSeconds: number): string {
  const span = spanText(nowSeconds - at)
  return span === 'now' ? 'less than a second' : span
}
const logOf = (worker: WorkerFacts): Fix => ({ kind: 'show_log', ...ofWorker(worker) })
const ofWorker = ({ automation_type: type, worker_id: worker }: WorkerFacts) => ({ type, worker })

function offlineCause(worker: WorkerFacts, nowSeconds: number): Cause | null {
  const { connected, ended, state_since: at, departure = null } = worker
  if (connected) return null
  if (departure !== null) {
    const isOrderly = departure.kind === 'drained' || departure.kind === 'stopped'
    const next = isOrderly ? 'Start it again, or forget the worker.' : 'Check that its process is running.'
    return { tone: isOrderly ? 'warn' : 'bad', text: `${departureText(departure, nowSeconds)} ${next}`, fixes: [] }
  }
  if (ended === true) {
    const text =
      `Its process ended in an orderly way ${since(at, nowSeconds)} ago, ` +
      'for example because it was drained or scaled in. Start it again, or forget the worker.'
    return { tone: 'warn', text, fixes: [] }
  }
  return {
    tone: 'bad',
    text: `Offline for ${since(at, nowSeconds)}. Check that its process is running and can reach the master.`,
    fixes: [],
  }
}

function configCauses(worker: WorkerFacts): readonly Cause[] {
  const fixes = [{ kind: 'edit_config', ...ofWorker(worker) } as const]
  return [
    ...(isEnabled(worker) ? [] : [{ tone: 'warn', text: 'Not enabled, so no slots run.', fixes } as const]),
    ...(wantedSlots(worker) > 0
      ? []
      : [{ tone: 'warn', text: 'Scaled to zero slots, so nothing runs.', fixes } as const]),
  ]
}

function drainCause(worker: WorkerFacts, nowSeconds: number): Cause | null {
  if (!isDraining(worker) || (!worker.connected && worker.departure?.kind === 'drained')) return null
  return worker.connected
    ? {
        tone: 'warn',
        text:
          `Draining for ${since(worker.state_since, nowSeconds)}: ` +
          'it finishes its running work, takes nothing new, then exits.',
        fixes: [logOf(worker)],
      }
    : { tone: 'warn', text: 'A drain was requested. It starts when the worker reconnects.', fixes: [] }
}

/** The newest error of the worker may be of something else; its log names the field that it refuses. */
const refusedCause = (worker: WorkerFacts, age: string): Cause => ({
  tone: 'bad',
  text: `The worker refuses config generation ${worker.config_gen}.${age} Its log has the reason.`,
  fixes: [{ kind: 'edit_config', ...ofWorker(worker) }, logOf(worker)],
})

function behindCause(worker: WorkerFacts, nowSeconds: number): Cause | null {
  const { config_gen: saved, applied_config_gen: applied, config_changed_at: at, connected } = worker
  if (applied === saved || (applied === null && saved === 0)) return null
  const isRefused = refusesConfig(worker)
  if (at !== null && connected && !isRefused && nowSeconds - at < APPLIED_WITHIN_SECONDS) return null
  const age = at === null ? '' : ` Saved ${since(at, nowSeconds)} ago.`
  const fixes = [{ kind: 'edit_config', ...ofWorker(worker) } as const]
  if (isRefused && connected) return refusedCause(worker, age)
  const what =
    applied === null
      ? `Config generation ${saved} is not applied yet.`
      : `Config generation ${saved} is saved, ${applied} is applied.`
  return connected
    ? { tone: 'bad', text: `${what}${age}`, fixes }
    : { tone: 'warn', text: `${what}${age} It gets the latest when it connects.`, fixes: [] }
}

function failingCause(worker: WorkerFacts, nowSeconds: number, runs: RunsBody['workers'][number] | null): Cause | null {
  const known = knownRuns(worker, runs ?? undefined)
  if (!worker.connected || isDraining(worker) || !isFailing(worker, known)) return null
  const { does, evidence, fixes, error } = describeFailing({ worker, runs: known }, nowSeconds)
  const silent = error === null ? ' It reported no error.' : ''
  return { tone: 'bad', text: `It ${does}. ${evidence}`.trim() + silent, fixes: [...fixes, logOf(worker)] }
}
