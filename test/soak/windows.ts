/**
 * Checks an endless history in bounded memory. Tasks are submitted in windows, and a task names its window:
 * `w12.345`. A window ends when each acknowledged task of it was acked; then the checkers of the shared kit run over
 * its calls, which are dropped. A later delivery of such a task is a violation (G2).
 */
import { checkKeys, checkLeases, checkTasks } from '../kit/history-checkers.ts'
import type { Call, LeaseOf } from '../kit/history.ts'

interface Window {
  readonly calls: Call[]
  /** Acknowledged tasks that were not acked yet. */
  readonly open: Set<string>
  readonly acked: Set<string>
  isComplete: boolean
  startNs: number
  changedNs: number
}

/** How long a window must have been quiet: a call without a response may still take effect. */
const QUIET_NS = 60e9

const windowOf = (id: string): number => Number(/^w(?<window>\d+)\./.exec(id)?.groups?.['window'] ?? -1)

export class HistoryWindows {
  readonly #windows = new Map<number, Window>()
  readonly #onViolation: (violation: string) => void
  #calls = 0
  #tasks = 0
  #newest = -1

  constructor(onViolation: (violation: string) => void) {
    this.#onViolation = onViolation
  }

  get callCount(): number {
    return this.#calls
  }

  /** Tasks whose window was checked. */
  get checkedTasks(): number {
    return this.#tasks
  }

  get openWindows(): number {
    return this.#windows.size
  }

  /** Opens the next window. The ones before get no further tasks. */
  open(nowNs: number): number {
    const last = this.#windows.get(this.#newest)
    if (last !== undefined) last.isComplete = true
    this.#newest += 1
    this.#windows.set(this.#newest, {
      calls: [],
      open: new Set(),
      acked: new Set(),
      isComplete: false,
      startNs: nowNs,
      changedNs: nowNs,
    })
    return this.#newest
  }

  submitted(window: number, call: Call<'submit'>, nowNs: number): void {
    const into = this.#windows.get(window)
    if (into === undefined) throw new Error(`window ${window} is not open`)
    this.#add(into, call, nowNs)
    for (const id of call.result ?? []) if (!into.acked.has(id)) into.open.add(id)
  }

  /** Adds a reserve or settle to the window of each of its tasks. */
  leases(
    call: Omit<Call<'reserve' | 'ack' | 'nack' | 'release'>, 'args' | 'result'>,
    leases: readonly LeaseOf[],
    results: readonly string[] | undefined,
    nowNs: number,
  ): void {
    const parts = new Map<number, number[]>()
    for (const [i, { id }] of leases.entries()) parts.set(windowOf(id), [...(parts.get(windowOf(id)) ?? []), i])
    for (const [number, places] of parts) {
      const into = this.#windows.get(number)
      const some = places.flatMap((i) => leases[i] ?? [])
      if (into === undefined) {
        if (call.operation === 'reserve')
          this.#onViolation(`${some.map(({ id }) => id).join()}: delivered after its ack`)
        continue
      }
      const part = partOf(call, some, results && places.map((i) => results[i] ?? ''))
      this.#add(into, part, nowNs)
      if (call.operation !== 'ack' || results === undefined) continue
      for (const i of places) if (results[i] === 'ok') acked(into, leases[i]?.id ?? '')
    }
  }

  /** Checks the windows that have ended. @returns the tasks that are not done although they are older than `lateNs`. */
  sweep(nowNs: number, lateNs: number): readonly string[] {
    const late: string[] = []
    for (const [number, window] of this.#windows) {
      if (!window.isComplete) continue
      if (window.open.size === 0 && nowNs - window.changedNs > QUIET_NS) {
        this.#check(window)
        this.#windows.delete(number)
      } else if (nowNs - window.startNs > lateNs) late.push(...window.open)
    }
    return late
  }

  /** Adds where tasks are. A task that is in no place is lost, and its window no longer waits for it. */
  located(ids: readonly string[], places: readonly (string | null)[], startNs: number, endNs: number): void {
    for (const [i, id] of ids.entries()) {
      const window = this.#windows.get(windowOf(id))
      if (window === undefined || !window.open.has(id)) continue
      const result = [places[i] ?? null]
      window.calls.push({
        operation: 'locate',
        client: 'judge',
        args: { ids: [id] },
        start: startNs,
        end: endNs,
        result,
      })
      if (result[0] === null) window.open.delete(id)
    }
  }

  /** Checks the rest at the end of a run. */
  finish(): void {
    for (const window of this.#windows.values()) this.#check(window)
    this.#windows.clear()
  }

  #add(window: Window, call: Call, nowNs: number): void {
    window.calls.push(call)
    window.changedNs = nowNs
    this.#calls += 1
  }

  #check({ calls, acked: { size } }: Window): void {
    const ordered = calls.toSorted((a, b) => a.start - b.start)
    for (const check of [checkTasks, checkKeys, checkLeases]) for (const each of check(ordered)) this.#onViolation(each)
    this.#tasks += size
  }
}

function acked(window: Window, id: string): void {
  window.open.delete(id)
  window.acked.add(id)
}

function partOf(
  { operation, client, start, end }: Omit<Call<'reserve' | 'ack' | 'nack' | 'release'>, 'args' | 'result'>,
  leases: readonly LeaseOf[],
  results: readonly string[] | undefined,
): Call {
  const common = { operation, client, start, end }
  if (operation === 'reserve') return { ...common, args: { limit: leases.length }, result: leases }
  return { ...common, args: { leases }, result: results }
}
