/**
 * @module worker/state-reporter
 * When a state frame is due: every 15 s, and whenever what it says has changed. A task that fails now and then must not
 * become a flood of frames, so changes within 100 ms are one.
 *
 *   IDLE     not enabled, no slots asked for, or ended
 *   RUNNING  slots are asked for
 *   ERROR    … and each of them failed last, or none can be started
 *
 * DRAINING is never said here: it is the master's word (D6).
 */
import { STATE_EVERY_MS, toSeconds, type ReportedState } from '../protocol/index.ts'
import type { Cancel, Clock, Timers } from '../runtime/index.ts'

const MIN_GAP_MS = 100

/** What the frame says; equal ones need not be sent again at once. */
export interface WorkerCondition {
  readonly state: ReportedState
  readonly configGen: number
  readonly lastError: string | null
}

/** The state of a worker of which `target` slots are asked for. */
export function stateOf({
  target,
  active,
  failing,
  spawnFails,
}: {
  target: number
  active: number
  failing: number
  spawnFails: boolean
}): ReportedState {
  if (target === 0) return 'IDLE'
  if (active === 0) return spawnFails ? 'ERROR' : 'RUNNING'
  return failing >= active ? 'ERROR' : 'RUNNING'
}

export interface StateReporterDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly condition: () => WorkerCondition
  /** Asks the outbox for a fresh state frame. */
  readonly send: () => void
}

export class StateReporter {
  readonly #deps: StateReporterDeps
  #lastSent: WorkerCondition | undefined
  #lastSentAtMs = -Infinity
  #cancelGap: Cancel | undefined
  #cancelPeriod: Cancel | undefined

  constructor(deps: StateReporterDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#cancelPeriod = this.#deps.timers.every(STATE_EVERY_MS, this.#deps.send)
  }

  stop(): void {
    this.#cancelGap?.()
    this.#cancelPeriod?.()
  }

  /** Something may have changed. */
  sendIfChanged(): void {
    if (this.#cancelGap !== undefined || !this.#hasChanged()) return
    const gapMs = this.#lastSentAtMs + MIN_GAP_MS - this.#deps.clock.monotonicMs()
    if (gapMs <= 0) return this.#deps.send()
    this.#cancelGap = this.#deps.timers.after(gapMs, () => {
      this.#cancelGap = undefined
      if (this.#hasChanged()) this.#deps.send()
    })
  }

  /** The frame, made when it is sent. */
  frame(): string {
    const condition = this.#deps.condition()
    this.#lastSent = condition
    this.#lastSentAtMs = this.#deps.clock.monotonicMs()
    return JSON.stringify({
      type: 'state',
      state: condition.state,
      config_gen: condition.configGen,
      ts: toSeconds(this.#deps.clock.wallMs()),
      last_error: condition.lastError,
    })
  }

  #hasChanged(): boolean {
    const now = this.#deps.condition()
    return (
      now.state !== this.#lastSent?.state ||
      now.configGen !== this.#lastSent.configGen ||
      now.lastError !== this.#lastSent.lastError
    )
  }
}
