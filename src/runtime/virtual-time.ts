/**
 * @module runtime/virtual-time
 * Time that moves only when a test says so. `advance` fires what is due in order of its time and lets everything that
 * was set off settle before it moves on, so that hours pass in milliseconds and always in the same order.
 */
import type { Cancel, Time } from './clock.ts'
import { Heap } from './heap.ts'
import { sleepOn } from './system-time.ts'

/** A timer in the heap, where its rank is its due time. */
interface Timer {
  /** null after the timer has fired or was cancelled. */
  task: (() => void) | null
}

/** Cancelled timers stay in the heap until they are the majority, and more than this. */
const MAX_CANCELLED = 64

/** 2026-01-01T00:00:00Z: a recent round date, so that times in failures are readable. */
const START_MS = 1_767_225_600_000

export class VirtualTime implements Time {
  #nowMs = 0
  #wallOffsetMs: number
  #pending = 0
  readonly #turns: number
  readonly #timers = new Heap<Timer>()

  /** @param turns Turns of the event loop to wait for after each timer. One suffices without real input and output. */
  constructor(wallMs = START_MS, turns = 3) {
    this.#wallOffsetMs = wallMs
    this.#turns = turns
  }

  readonly wallMs = (): number => Math.floor(this.#wallOffsetMs + this.#nowMs)
  readonly monotonicMs = (): number => this.#nowMs

  readonly after = (ms: number, task: () => void): Cancel => {
    const timer: Timer = { task }
    this.#timers.add(this.#nowMs + Math.max(0, ms), timer)
    this.#pending += 1
    return () => this.#cancel(timer)
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
    await settled(this.#turns)
    for (let dueMs = this.#nextDueMs(); dueMs !== null && dueMs <= target; dueMs = this.#nextDueMs()) {
      const timer = this.#timers.pop()
      this.#nowMs = Math.max(this.#nowMs, dueMs)
      if (timer !== undefined) this.#fire(timer)
      await settled(this.#turns)
    }
    this.#nowMs = target
    await settled(this.#turns)
  }

  /** Moves on to the next timer, whenever it is, and fires it. False: no timer is set. */
  async advanceToNext(): Promise<boolean> {
    const dueMs = this.#nextDueMs()
    if (dueMs === null) return false
    await this.advance(dueMs - this.#nowMs)
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
    return this.#pending
  }

  #fire(timer: Timer): void {
    const { task } = timer
    timer.task = null
    this.#pending -= 1
    task?.()
  }

  #cancel(timer: Timer): void {
    if (timer.task === null) return
    timer.task = null
    this.#pending -= 1
    const cancelled = this.#timers.size - this.#pending
    if (cancelled > MAX_CANCELLED && cancelled > this.#pending) this.#timers.filter(({ value }) => value.task !== null)
  }

  /** When the first timer is due; null without timers. Removes cancelled timers before it. */
  #nextDueMs(): number | null {
    for (let first = this.#timers.peek(); first !== undefined; first = this.#timers.peek()) {
      if (first.value.task !== null) return first.rank
      this.#timers.pop()
    }
    return null
  }
}

/** Waits for several turns of the event loop, because a promise that settles may start further work. */
async function settled(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
