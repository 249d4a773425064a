/**
 * @module runtime/virtual-time
 * Time that moves only when a test says so. `advance` fires what is due in order of its time and lets everything that
 * was set off settle before it moves on, so that hours pass in milliseconds and always in the same order.
 */
import type { Cancel, Time } from './clock.ts'
import { sleepOn } from './system-time.ts'

interface Entry {
  readonly at: number
  readonly order: number
  readonly task: () => void
}

/** 2026-01-01T00:00:00Z: a recent round date, so that times in failures are readable. */
const START_MS = 1_767_225_600_000

export class VirtualTime implements Time {
  #nowMs = 0
  #wallOffsetMs: number
  #order = 0
  readonly #entries = new Map<number, Entry>()

  constructor(wallMs = START_MS) {
    this.#wallOffsetMs = wallMs
  }

  readonly wallMs = (): number => Math.floor(this.#wallOffsetMs + this.#nowMs)
  readonly monotonicMs = (): number => this.#nowMs

  readonly after = (ms: number, task: () => void): Cancel => {
    const order = ++this.#order
    this.#entries.set(order, { at: this.#nowMs + Math.max(0, ms), order, task })
    return () => void this.#entries.delete(order)
  }

  readonly every = (ms: number, task: () => void): Cancel => {
    let cancel: Cancel
    const arm = (): void => {
      cancel = this.after(Math.max(1, ms), () => {
        arm()
        task()
      })
    }
    arm()
    return () => cancel()
  }

  readonly sleep = (ms: number, signal?: AbortSignal): Promise<void> => sleepOn(this.after, ms, signal)

  /** Moves on by `ms`, firing every timer that falls due on the way; resolves when all of it has settled. */
  async advance(ms: number): Promise<void> {
    const target = this.#nowMs + ms
    await settled()
    for (let next = this.#next(target); next !== undefined; next = this.#next(target)) {
      this.#entries.delete(next.order)
      this.#nowMs = Math.max(this.#nowMs, next.at)
      next.task()
      await settled()
    }
    this.#nowMs = target
    await settled()
  }

  /** Moves on to the next timer, whenever it is, and fires it. False: no timer is set. */
  async advanceToNext(): Promise<boolean> {
    const next = this.#next(Infinity)
    if (next === undefined) return false
    await this.advance(next.at - this.#nowMs)
    return true
  }

  /** Moves the clock without firing timers: for code that only reads the time. */
  jump(ms: number): void {
    this.#nowMs += ms
  }

  /** Steps the wall clock alone, as an administrator or a bad NTP server would. */
  stepWall(ms: number): void {
    this.#wallOffsetMs += ms
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#entries.size
  }

  #next(latest: number): Entry | undefined {
    let first: Entry | undefined
    for (const entry of this.#entries.values()) {
      if (
        entry.at <= latest &&
        (first === undefined || entry.at < first.at || (entry.at === first.at && entry.order < first.order))
      )
        first = entry
    }
    return first
  }
}

/** Lets promises and the event loop run dry: several turns, since what settles may set off more. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
