/**
 * @module worker/state-reporter
 * Decides when to send a state frame: every 15 s, and after each change. Changes within 100 ms share a frame, so that
 * frequently failing tasks do not cause a flood of frames.
 *
 *   IDLE     disabled, no slots requested, or stopped
 *   RUNNING  slots are requested
 *   ERROR    slots are requested, and the last run of each one failed, or no slot can be started
 *
 * Only the master sets DRAINING (D6).
 */
import { STATE_EVERY_MS, toSeconds, type ReportedState } from '../protocol/index.ts'
import type { Cancel, Clock, Timers } from '../runtime/index.ts'

const MIN_GAP_MS = 100

/** The content of a state frame. Equal contents are not sent again before the period ends. */
export interface WorkerCondition {
  readonly state: ReportedState
  readonly configGen: number
  readonly lastError: string | null
}

/** The state of a worker with a target of `target` slots. */
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
  /** Requests a state frame from the outbox. */
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

  /** Sends a state frame if the condition changed since the last one. */
  sendIfChanged(): void {
    if (this.#cancelGap !== undefined || !this.#hasChanged()) return
    const gapMs = this.#lastSentAtMs + MIN_GAP_MS - this.#deps.clock.monotonicMs()
    if (gapMs <= 0) return this.#deps.send()
    this.#cancelGap = this.#deps.timers.after(gapMs, () => {
      this.#cancelGap = undefined
      if (this.#hasChanged()) this.#deps.send()
    })
  }

  /** Creates the frame with the current condition. */
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
