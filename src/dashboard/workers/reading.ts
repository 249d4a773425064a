/**
 * @module dashboard/workers/reading
 * Fills the worker store. First it reads all pages without a pause, then it polls one page after the other. Polling is
 * needed because events do not contain the values of a heartbeat (CPU, memory, last seen).
 *
 *   all pages ──▶ wait max(1.5 s, 15 s / pages) ──▶ next page ──▶ …        `reset` or a refresh: all pages again
 */
import type { Api } from '../api/client.ts'
import { asProblem, isProblem, type Problem } from '../api/problem.ts'
import type { WorkerRow } from './row.ts'
import type { WorkerStore } from './store.ts'

export const PAGE_ROWS = 1_000
const ROUND_MS = 15_000
const LEAST_WAIT_MS = 1_500
/** Up to this many unknown workers are read one by one. If there are more, all pages are read again. */
const MOST_SINGLES = 20

export interface ReadingDeps {
  readonly api: Api
  readonly store: WorkerStore
  readonly types: readonly string[]
  readonly signal: AbortSignal
  /** Waits for `ms`. Resolves early with true if all pages have to be read, otherwise with false. */
  readonly pause: (ms: number) => Promise<boolean>
  readonly report: (problem: Problem | undefined) => void
}

interface PageCursor {
  readonly type: string
  readonly after: string | null
  readonly round: number
}

export async function readWorkers(deps: ReadingDeps): Promise<void> {
  const { types, signal, report, pause } = deps
  let pages = 0
  while (!signal.aborted) {
    let problem: Problem | undefined
    pages = 0
    try {
      for (const type of types) pages += await readType(deps, type)
    } catch (error) {
      problem = asProblem(error)
    }
    if (signal.aborted) return
    report(problem)
    if (problem === undefined) await roll(deps, pages)
    else await pause(againMs(problem))
  }
}

export const againMs = ({ retryAfterSeconds }: Problem): number =>
  Math.max(LEAST_WAIT_MS, (retryAfterSeconds ?? 0) * 1_000)

/** Reads every page of a type without a pause. @returns the number of pages */
async function readType(deps: ReadingDeps, type: string): Promise<number> {
  let cursor: PageCursor | null = { type, after: null, round: deps.store.beginRound(type) }
  let pages = 0
  while (cursor !== null && !deps.signal.aborted) {
    cursor = await readPage(deps, cursor)
    pages += 1
  }
  return pages
}

/** Polls one page after the other, with a pause before each, until a refresh is requested or a read fails. */
async function roll({ types, ...deps }: ReadingDeps, pages: number): Promise<void> {
  const waitMs = Math.max(LEAST_WAIT_MS, ROUND_MS / Math.max(1, pages))
  while (!deps.signal.aborted) {
    if (types.length === 0) return void (await deps.pause(ROUND_MS))
    for (const type of types) {
      let cursor: PageCursor | null = { type, after: null, round: deps.store.beginRound(type) }
      while (cursor !== null) {
        if ((await deps.pause(waitMs)) || deps.signal.aborted) return
        try {
          cursor = await readPage({ types, ...deps }, cursor)
          deps.report(undefined)
        } catch (error) {
          const problem = asProblem(error)
          deps.report(problem)
          return void (await deps.pause(againMs(problem)))
        }
      }
    }
  }
}

/** Reads one page into the store. @returns the position of the next page, or null after the last one */
async function readPage(
  { api, store, signal }: ReadingDeps,
  { type, after, round }: PageCursor,
): Promise<PageCursor | null> {
  const query = { view: 'summary', limit: PAGE_ROWS, ...(after === null ? {} : { after }) }
  const since = store.turn
  const { body } = await api.get<readonly WorkerRow[]>(['automations', type, 'workers'], query, signal)
  const last = body.at(-1)
  const isLast = body.length < PAGE_ROWS || last === undefined
  store.takePage(type, round, body, isLast, since)
  return isLast ? null : { type, after: last.worker_id, round }
}

/** Reads workers that events named and the store does not have. @returns false if there are too many to read singly */
export async function readSingles(
  api: Api,
  store: WorkerStore,
  unknown: readonly { readonly type: string; readonly id: string }[],
): Promise<boolean> {
  if (unknown.length > MOST_SINGLES) return false
  const since = store.turn
  await Promise.all(
    unknown.map(async ({ type, id }) => {
      try {
        store.takeOne((await api.get<WorkerRow>(['automations', type, 'workers', id], { view: 'summary' })).body, since)
      } catch (error) {
        if (!isProblem(error, 404)) return // The next round reads it again.
        store.remove([`${type}/${id}`])
      }
    }),
  )
  return true
}
