/**
 * @module master/runs/routes
 * Serves what the runs of a type did in the last minute (D151): of the whole type from the samples of the load (D139),
 * and of the workers that failed most from their stored statistics. Only a few workers are read: those that the
 * snapshot of the fleet shows in ERROR, with an error, or with the greatest share of failed runs.
 */
import { API_PREFIX, LOAD_WINDOW_MS, RunsBody, RunsQuery, toSeconds, type WorkerRuns } from '../../protocol/index.ts'
import { truncateError } from '../../runtime/index.ts'
import type { WorkerRow } from '../../storage/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { requirePermission, workersShown } from '../auth/index.ts'
import { route } from '../http/index.ts'
import type { LoadSample } from '../load/index.ts'
import type { FleetSnapshot } from '../metrics/index.ts'
import { unknownWorker } from '../registry/index.ts'
import { countRuns, MAX_FRAMES, WINDOW_SECONDS } from './worker-runs.ts'

export interface RunsDeps extends MasterDeps {
  readonly snapshot: () => Promise<FleetSnapshot>
  /** The samples of a type, oldest first; empty for a type without a queue. */
  readonly samples: (type: string) => readonly LoadSample[]
}

/** Workers of which statistics are read. */
const MAX_SUSPECTS = 20
const MAX_WORKERS = 10
const MAX_ERROR_CHARS = 512

type SnapshotWorker = FleetSnapshot['types'][number]['workers'][number]

interface Runs extends Part {
  /** What the runs of a type did in the last minute, with the workers that failed most. */
  read(type: string): Promise<RunsBody>
}

export function createRuns(deps: RunsDeps): Runs {
  const worstOf = perSnapshot(deps)
  const bodyOf = (type: string, workers: readonly WorkerRuns[]): RunsBody => ({
    ts: toSeconds(deps.clock.wallMs()),
    ...totalsOf(deps.samples(type)),
    workers: [...workers],
  })
  return {
    read: async (type) => bodyOf(type, await worstOf(type)),
    routes: [
      route({
        method: 'GET',
        path: `${API_PREFIX}/automations/{type}/runs`,
        access: 'scoped',
        needs: 'read',
        query: RunsQuery,
        response: RunsBody,
        summary:
          'What runs did in the last minute: of the type, and of the 10 workers that failed most or of one worker; ' +
          'with the last error and the last config change of each.',
        handle: async ({ entry: { type }, query: { worker_id: id }, principal }) => {
          if (id !== undefined) requirePermission(principal, 'read', type, id)
          const shows = workersShown(principal)
          const workers =
            id === undefined
              ? (await worstOf(type)).filter((each) => shows(type, each.worker_id))
              : [await oneWorker(deps, { type, id })]
          return { body: bodyOf(type, workers) }
        },
      }),
    ],
  }
}

/** The counts between the newest sample and the oldest one that is at most a minute older. */
function totalsOf(samples: readonly LoadSample[]): Pick<RunsBody, 'window_seconds' | 'done' | 'failed' | 'died'> {
  const last = samples.at(-1)
  const first = last && samples.find(({ atMs }) => last.atMs - atMs <= LOAD_WINDOW_MS)
  if (first === undefined || last === undefined || first === last)
    return { window_seconds: 0, done: null, failed: null, died: null }
  const [from, to] = [first.counts.totals, last.counts.totals]
  return {
    window_seconds: Math.round(last.atMs - first.atMs) / 1_000,
    done: to.acked - from.acked,
    failed: to.nacked - from.nacked,
    died: to.died - from.died,
  }
}

/** @returns a function that reads the worst workers of a type once for each snapshot, at most every 5 s. */
function perSnapshot(deps: RunsDeps): (type: string) => Promise<readonly WorkerRuns[]> {
  let kept: { readonly of: FleetSnapshot; readonly byType: Map<string, Promise<readonly WorkerRuns[]>> } | null = null
  return async (type) => {
    const fleet = await deps.snapshot()
    if (kept?.of !== fleet) kept = { of: fleet, byType: new Map() }
    const { byType } = kept
    const known = byType.get(type)
    if (known !== undefined) return known
    const workers = fleet.types.find((each) => each.type === type)?.workers ?? []
    const reading = readWorst(deps, type, suspectsOf(workers))
    byType.set(type, reading)
    reading.catch(() => byType.delete(type)) // The next caller reads the store again.
    return reading
  }
}

/** A share of few runs says little: 1 failed run of 1 ranks behind 30 of 60. */
const PRIOR_RUNS = 5

function suspicionOf({ state, masterId, hasError, runs }: SnapshotWorker): number {
  if (masterId === null) return 0
  const share = runs === null ? 0 : runs.failed / (runs.failed + runs.done + PRIOR_RUNS)
  return share + (state === 'ERROR' ? 2 : 0) + (hasError ? 1 : 0)
}

function suspectsOf(workers: readonly SnapshotWorker[]): readonly string[] {
  return workers
    .map((worker) => ({ id: worker.id, suspicion: suspicionOf(worker) }))
    .filter(({ suspicion }) => suspicion > 0)
    .toSorted((a, b) => b.suspicion - a.suspicion)
    .slice(0, MAX_SUSPECTS)
    .map(({ id }) => id)
}

async function readWorst(deps: RunsDeps, type: string, ids: readonly string[]): Promise<readonly WorkerRuns[]> {
  const rows = ids.length === 0 ? [] : await deps.backend.workers.get(ids.map((id) => ({ type, id })))
  const found: WorkerRuns[] = []
  for (const row of rows) if (row !== null) found.push(await runsOf(deps, row)) // One by one: frames may be large.
  return found
    .filter(({ failed, last_error: error }) => failed > 0 || error !== null)
    .toSorted((a, b) => b.failed - a.failed)
    .slice(0, MAX_WORKERS)
}

async function oneWorker(deps: RunsDeps, ref: { readonly type: string; readonly id: string }): Promise<WorkerRuns> {
  const [row = null] = await deps.backend.workers.get([ref])
  if (row === null) throw unknownWorker(ref)
  return runsOf(deps, row)
}

async function runsOf({ backend, clock }: RunsDeps, row: WorkerRow): Promise<WorkerRuns> {
  const { type, id, appliedGen, config, registeredAtMs, lastError } = row
  const ref = { type, id }
  const [stats, history] = await Promise.all([
    backend.stats.read(ref, toSeconds(clock.wallMs()) - WINDOW_SECONDS, MAX_FRAMES),
    config.changedAtMs === null ? [] : backend.configs.history(ref, 1),
  ])
  const frames = stats.kind === 'frames' ? stats.frames : []
  const counts = countRuns(frames, toSeconds(Math.max(registeredAtMs, config.changedAtMs ?? 0)), appliedGen)
  const [newest] = history
  return {
    worker_id: id,
    done: counts.done,
    failed: counts.failed,
    died: counts.died,
    window_seconds: Math.round(1_000 * counts.windowSeconds) / 1_000,
    config_gen: config.gen,
    config_done: counts.config.done,
    config_failed: counts.config.failed,
    config_changed_at: config.changedAtMs === null ? null : toSeconds(config.changedAtMs),
    config_changed_by: config.actor,
    config_changed: newest?.gen === config.gen ? [...newest.changed] : [],
    last_error: lastError === null ? null : truncateError(lastError, MAX_ERROR_CHARS),
    last_error_runs: counts.lastErrorRuns,
  }
}
