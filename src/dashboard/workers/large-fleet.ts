/**
 * @module dashboard/workers/large-fleet
 * Fills the worker store of a large fleet while a page shows its rows (D161): all pages once, then what changed.
 *
 *   all pages in columns ──▶ wait 2.5 s ──▶ changes, and statistics of up to 1,000 workers in turn ──▶ wait 2.5 s ──▶ …
 *            ▲                                └── `is_reset`, or the store of the master was replaced ──┐
 *            └──────────────────────────────────────────────────────────────────────────────────────────┘
 *
 * Every 30 s it also reads one page again, because the master may fail to record a change.
 */
import type { WorkerChangesBody, WorkerColumnsBody } from '../../protocol/index.ts'
import { asProblem } from '../api/problem.ts'
import { heartbeatsOf, rowsOf } from './from-columns.ts'
import { againMs, type ReadingDeps } from './reading.ts'
import { keyOf } from './row.ts'

const POLL_MS = 2_500
/** Statistics are read at every second poll, so that 10,000 workers take 50 s. */
const POLLS_PER_STATS = 2
const POLLS_PER_PAGE = 12

interface Page {
  readonly type: string
  readonly after: string | null
  readonly round: number
}

/** Reads into one store. It remembers where it stopped, so that a page that is opened again reads only changes. */
export class LargeFleet {
  readonly #deps: Omit<ReadingDeps, 'signal' | 'pause'>
  /** null: all pages have to be read. */
  #cursor: string | null = null
  #statsAfter = ''
  #polls = 0
  #page: Page | null = null

  constructor(deps: Omit<ReadingDeps, 'signal' | 'pause'>) {
    this.#deps = deps
  }

  /** Reads until the signal aborts. */
  async run({ signal, pause }: Pick<ReadingDeps, 'signal' | 'pause'>): Promise<void> {
    const { report } = this.#deps
    while (!signal.aborted) {
      try {
        this.#cursor = this.#cursor === null ? await this.#readAll(signal) : await this.#poll(this.#cursor, signal)
        report(undefined)
      } catch (error) {
        if (signal.aborted) return
        const problem = asProblem(error)
        report(problem)
        await pause(againMs(problem))
        continue
      }
      if (this.#cursor !== null && !signal.aborted) await pause(POLL_MS)
    }
  }

  /** @returns the cursor of the first page. */
  async #readAll(signal: AbortSignal): Promise<string | null> {
    let cursor: string | null = null
    for (const type of this.#deps.types) {
      let page: Page | null = this.#firstOf(type)
      while (page !== null) {
        const read = await this.#readPage(page, signal)
        cursor ??= read.cursor
        page = read.next
      }
    }
    return cursor
  }

  #firstOf(type: string): Page {
    return { type, after: null, round: this.#deps.store.beginRound(type) }
  }

  async #readPage({ type, after, round }: Page, signal: AbortSignal): Promise<{ cursor: string; next: Page | null }> {
    const { api, store } = this.#deps
    const path = ['automations', type, 'worker-columns']
    const { body } = await api.get<WorkerColumnsBody>(path, after === null ? {} : { after }, signal)
    store.takePage(type, round, rowsOf(type, body.workers, body.ts), body.next === null)
    return { cursor: body.cursor, next: body.next === null ? null : { type, after: body.next, round } }
  }

  /** @returns the next cursor; null if all pages have to be read again. */
  async #poll(since: string, signal: AbortSignal): Promise<string | null> {
    const { api, store } = this.#deps
    this.#polls += 1
    const withStats = this.#polls % POLLS_PER_STATS === 0 ? { stats_after: this.#statsAfter } : {}
    let cursor = since
    for (let isFirst = true; ; isFirst = false) {
      const query = { since: cursor, ...(isFirst && withStats) }
      const { body } = await api.get<WorkerChangesBody>(['worker-changes'], query, signal)
      if (body.is_reset) return null
      const { changed, removed, stats } = body
      store.takeChanges(
        Object.entries(changed).flatMap(([type, columns]) => rowsOf(type, columns, body.ts)),
        Object.entries(removed).flatMap(([type, ids]) =>
          ids.map((id) => keyOf({ automation_type: type, worker_id: id })),
        ),
        Object.entries(stats?.workers ?? {}).flatMap(([type, columns]) => heartbeatsOf(type, columns, stats?.ts ?? 0)),
      )
      this.#statsAfter = stats?.after ?? this.#statsAfter
      cursor = body.cursor
      if (!body.has_more) break
    }
    if (this.#polls % POLLS_PER_PAGE === 0) await this.#repair(signal)
    return cursor
  }

  /** Reads one page again: the one behind the page that was read before. */
  async #repair(signal: AbortSignal): Promise<void> {
    const { types } = this.#deps
    const [first] = types
    if (first === undefined) return
    const page = this.#page ?? this.#firstOf(first)
    const { next } = await this.#readPage(page, signal)
    const following = types[types.indexOf(page.type) + 1] ?? first
    this.#page = next ?? this.#firstOf(following)
  }
}
