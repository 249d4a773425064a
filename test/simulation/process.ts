/**
 * A simulated process: its clock, its timers and its randomness. Everything that happens in it runs through `run`, so
 * that it can be paused and killed. After a kill nothing leaves the process: its timers and its messages are dropped,
 * so its promises never continue.
 */
import { seededRandom, sleepOn, type Cancel, type Random, type Time } from '../../src/runtime/index.ts'

/** Time moves in steps of a power of two, so that sums and differences of times are exact. */
const STEPS_PER_MS = 1_024
/** So many tasks of one process at one moment are an endless loop: its timers never let the time move. */
const MAX_TASKS_AT_ONE_TIME = 100_000

/** Rounds a delay up to a step of the simulated time. */
export const toStep = (ms: number): number => Math.ceil(ms * STEPS_PER_MS) / STEPS_PER_MS

export class SimProcess implements Time {
  readonly name: string
  readonly random: Random
  readonly #time: Time
  readonly #onKill = new Set<() => void>()
  readonly #backlog: (() => void)[] = []
  #isAlive = true
  #pausedUntilMs = 0
  #wallOffsetMs = 0
  /** Clocks of this process run at this rate. Each change of the rate continues from here. */
  #rate = 1
  #rateSinceMs = 0
  #clockMs = 0
  #slowUntilMs = 0
  #taskMs = 0
  #lastTaskMs = 0
  #tasksAtThisTime = 0

  constructor(name: string, time: Time, seed: number) {
    this.name = name
    this.random = seededRandom(seed)
    this.#time = time
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /** Whether it stands still. */
  get isPaused(): boolean {
    return this.#pausedUntilMs > this.#time.monotonicMs()
  }

  readonly wallMs = (): number =>
    Math.floor(this.#time.wallMs() - this.#time.monotonicMs() + this.monotonicMs()) + this.#wallOffsetMs
  readonly monotonicMs = (): number => this.#clockMs + (this.#time.monotonicMs() - this.#rateSinceMs) * this.#rate
  /** As with the timers of Node, every delay above 0 is at least 1 ms. */
  readonly after = (ms: number, task: () => void): Cancel => {
    let isCancelled = false // A paused process may be cancelled by an earlier task of its backlog.
    const delayMs = ms > 0 ? toStep(Math.max(1, ms) / this.#rate) : 0
    const cancel = this.#time.after(delayMs, () => this.run(() => isCancelled || task()))
    return () => {
      isCancelled = true
      cancel()
    }
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

  /** Runs `task` in this process: now, after its pause, or never. */
  run(task: () => void): void {
    if (!this.#isAlive) return
    if (this.isPaused || this.#backlog.length > 0) return void this.#backlog.push(task)
    this.#runNow(task)
  }

  pause(ms: number): void {
    const untilMs = this.#time.monotonicMs() + ms
    if (untilMs <= this.#pausedUntilMs) return
    this.#pausedUntilMs = untilMs
    this.#time.after(ms, () => this.#catchUp())
  }

  /** For `ms`, every task of this process takes `taskMs`. */
  slowDown(ms: number, taskMs: number): void {
    this.#slowUntilMs = this.#time.monotonicMs() + ms
    this.#taskMs = taskMs
  }

  /** Ends a pause and a slow event loop. Clocks stay as they are. */
  heal(): void {
    this.#slowUntilMs = 0
    this.#pausedUntilMs = 0
    this.#catchUp()
  }

  /** Lets the clocks of this process run faster or slower. Powers of two keep its times exact. */
  slew(rate: number): void {
    this.#clockMs = this.monotonicMs()
    this.#rateSinceMs = this.#time.monotonicMs()
    this.#rate = rate
  }

  /** Steps the wall clock of this process. */
  stepWall(ms: number): void {
    this.#wallOffsetMs += ms
  }

  kill(): void {
    this.#isAlive = false
    this.#backlog.length = 0
    for (const listener of this.#onKill) listener()
    this.#onKill.clear()
  }

  #runNow(task: () => void): void {
    const nowMs = this.#time.monotonicMs()
    this.#tasksAtThisTime = nowMs === this.#lastTaskMs ? this.#tasksAtThisTime + 1 : 0
    this.#lastTaskMs = nowMs
    if (this.#tasksAtThisTime > MAX_TASKS_AT_ONE_TIME)
      throw new Error(`${this.name} runs an endless loop at ${nowMs} ms`)
    task()
    if (nowMs < this.#slowUntilMs) this.pause(this.#taskMs)
  }

  /** Runs what waited for the end of a pause, in order, each as a task of its own. */
  #catchUp(): void {
    if (!this.#isAlive || this.isPaused) return
    const task = this.#backlog.shift()
    if (task === undefined) return
    this.#runNow(task)
    this.#time.after(0, () => this.#catchUp())
  }

  /** Calls `listener` when the process is killed. @returns a function that removes it. */
  onKill(listener: () => void): () => void {
    this.#onKill.add(listener)
    return () => void this.#onKill.delete(listener)
  }
}

/** A seed for the part `name` of a run (FNV-1a), so that one part more does not change the others. */
export function seedOf(seed: number, name: string): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193) >>> 0
  return hash
}
