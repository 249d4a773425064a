/**
 * @module dashboard/workers/sparks
 * Loads the last 40 CPU readings of the visible rows, six requests at a time, after scrolling stops. Keeps them for the
 * 500 most recently used workers and appends the newer values of the worker list.
 */
import type { Api } from '../api/client.ts'
import { keyOf, type WorkerRow } from './row.ts'

export interface Reading {
  readonly ts: number
  readonly cpu: number
}

const READINGS = 40
const KEPT = 500
const IN_FLIGHT = 6

export class Sparks {
  /** Ordered by last use, oldest first (LRU). */
  readonly #known = new Map<string, readonly Reading[]>()
  readonly #watchers = new Set<() => void>()
  #wanted: WorkerRow[] = []
  readonly #inFlight = new Set<string>()
  #version = 0

  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  readonly version = (): number => this.#version

  of(key: string): readonly Reading[] | undefined {
    return this.#known.get(key)
  }

  /** Loads the readings of rows that are not cached. Replaces earlier requests that have not started. */
  want(rows: readonly WorkerRow[], api: Api, signal: AbortSignal): void {
    for (const row of rows) this.#use(keyOf(row))
    this.#wanted = rows.filter(
      (row) => row.connected && !this.#known.has(keyOf(row)) && !this.#inFlight.has(keyOf(row)),
    )
    while (this.#inFlight.size < IN_FLIGHT && this.#next(api, signal));
  }

  /** Appends the newest values of the list to the known lines. */
  prolong(rows: Iterable<WorkerRow>): void {
    let isNew = false
    for (const row of rows) {
      const { current_stats: stats } = row
      const readings = this.#known.get(keyOf(row))
      if (readings === undefined || stats === null || stats.ts <= (readings.at(-1)?.ts ?? 0)) continue
      this.#known.set(keyOf(row), [...readings, { ts: stats.ts, cpu: stats.cpu_pct }].slice(-READINGS))
      isNew = true
    }
    if (isNew) this.#changed()
  }

  /** Marks the key as most recently used. */
  #use(key: string): void {
    const readings = this.#known.get(key)
    if (readings === undefined) return
    this.#known.delete(key)
    this.#known.set(key, readings)
  }

  #next(api: Api, signal: AbortSignal): boolean {
    const row = this.#wanted.shift()
    if (row === undefined || signal.aborted) return false
    this.#inFlight.add(keyOf(row))
    void this.#read(row, api, signal).finally(() => {
      this.#inFlight.delete(keyOf(row))
      this.#next(api, signal)
    })
    return true
  }

  async #read(row: WorkerRow, api: Api, signal: AbortSignal): Promise<void> {
    try {
      const path = ['automations', row.automation_type, 'workers', row.worker_id, 'stats']
      const { body } = await api.get<readonly { readonly ts: number; readonly cpu_pct: number }[]>(
        path,
        { limit: READINGS, view: 'summary' },
        signal,
      )
      this.#keep(
        keyOf(row),
        body.map(({ ts, cpu_pct: cpu }) => ({ ts, cpu })),
      )
    } catch {
      // The line stays empty. It is loaded again when the row becomes visible again.
    }
  }

  #keep(key: string, readings: readonly Reading[]): void {
    this.#known.delete(key)
    this.#known.set(key, readings)
    const [oldest] = this.#known.keys()
    if (this.#known.size > KEPT && oldest !== undefined) this.#known.delete(oldest)
    this.#changed()
  }

  #changed(): void {
    this.#version += 1
    for (const each of this.#watchers) each()
  }
}

const WIDTH = 64
const HEIGHT = 20
/** Readings further apart are not connected by a line. */
const GAP_SECONDS = 45

/** The SVG path in a box of 64 by 20. The y axis shows 0 to at least 100 %. */
export function sparkPath(readings: readonly Reading[]): string {
  const first = readings[0]?.ts ?? 0
  const span = Math.max(1, (readings.at(-1)?.ts ?? 0) - first)
  const most = readings.reduce((top, { cpu }) => Math.max(top, cpu), 100)
  return readings
    .map(({ ts, cpu }, index) => {
      const isGap = index === 0 || ts - (readings[index - 1]?.ts ?? 0) > GAP_SECONDS
      const x = ((ts - first) / span) * WIDTH
      const y = HEIGHT - 1 - (Math.max(0, cpu) / most) * (HEIGHT - 2)
      return `${isGap ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`
    })
    .join('')
}
