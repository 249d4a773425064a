/**
 * @module automation/run-continuous
 * Runs one slot of a continuous automation: restarts its run whenever it ends, until `stopping` aborts.
 *
 *   threw ─▶ logged, reported; restarted after full jitter of 1 s, 2 s, 4 s … 60 s      returned ─▶ restarted after 1 s
 *   a minute without a failure ─▶ the error is cleared, and the backoff resets
 *   stopping ─▶ signal aborts, the run is awaited      killed ─▶ the run is abandoned
 * @see D53
 */
import { Backoff, sleep, withLogFields } from '../runtime/index.ts'
import type { RunnableEntry } from './catalog.ts'
import { makeContext } from './make-context.ts'
import { Masker } from './mask.ts'
import { failureOf } from './outcome.ts'
import { follow, runUntil, type Ending } from './signals.ts'
import { slotAttributes, slotLogFields, type SlotControl, type SlotDeps } from './slot.ts'

const AGAIN_AFTER_MS = 1_000
const BACKOFF_CAP_MS = 60_000
/** As long as the longest backoff, so a slot that fails every time never counts as recovered. */
const WELL_AFTER_MS = BACKOFF_CAP_MS

/**
 * Runs the slot until it is stopped and its run has ended, or until it is killed.
 * @param entry The automation, of kind ContinuousAutomation.
 * @param control Identifies and stops the slot.
 * @param deps The environment of the slot.
 * @returns A promise that rejects only when a port throws.
 */
export function runContinuousSlot(entry: RunnableEntry, control: SlotControl, deps: SlotDeps): Promise<void> {
  return withLogFields(slotLogFields(entry, control), () =>
    deps.span('slot.run_continuous', slotAttributes(entry, control), () =>
      new ContinuousSlot(entry, control, deps).run(),
    ),
  )
}

class ContinuousSlot {
  readonly #entry: RunnableEntry
  readonly #control: SlotControl
  readonly #deps: SlotDeps
  readonly #masker: Masker
  readonly #backoff: Backoff
  #failing = false

  constructor(entry: RunnableEntry, control: SlotControl, deps: SlotDeps) {
    this.#entry = entry
    this.#control = control
    this.#deps = deps
    this.#masker = new Masker(entry.secrets)
    this.#backoff = new Backoff({ baseMs: AGAIN_AFTER_MS, capMs: BACKOFF_CAP_MS, random: deps.random })
  }

  async run(): Promise<void> {
    const { signal, end } = follow(this.#control.stopping, this.#control.killed)
    try {
      while (!signal.aborted) {
        const config = this.#deps.config()
        const startedMs = this.#deps.clock.monotonicMs()
        const ending = await this.#runOnce(signal)
        if (signal.aborted) {
          this.#stopped(ending, signal)
          break
        }
        const outcome = ending.how === 'threw' ? 'failed' : 'ok'
        this.#deps.onRunEnded({ config, outcome, ms: this.#deps.clock.monotonicMs() - startedMs })
        await sleep(this.#deps.timers, this.#settle(ending), signal)
      }
    } finally {
      end()
    }
  }

  async #runOnce(signal: AbortSignal): Promise<Ending> {
    const config = this.#deps.config
    this.#masker.see(config())
    const { context, end } = makeContext(
      { entry: this.#entry, slotId: this.#control.slotId, slot: this.#deps, signal, masker: this.#masker },
      config,
    )
    const forgetWell = this.#deps.timers.after(WELL_AFTER_MS, () => this.#well())
    try {
      return await runUntil(() => this.#entry.run(context), this.#control.killed)
    } finally {
      forgetWell()
      end()
    }
  }

  /** @returns how long to wait before the next run, in milliseconds. */
  #settle(ending: Ending): number {
    if (ending.how !== 'threw') {
      this.#well()
      return AGAIN_AFTER_MS
    }
    const { text, stack } = failureOf(ending.thrown, this.#masker)
    const waitMs = this.#backoff.nextMs()
    this.#failing = true
    this.#deps.log.error('the automation failed, restarting', {
      error: text,
      stack,
      again_in_ms: Math.round(waitMs),
    })
    this.#deps.onError(text)
    return waitMs
  }

  #well(): void {
    this.#backoff.reset()
    if (this.#failing) this.#deps.onError(null)
    this.#failing = false
  }

  /** Logs an error after the signal at debug level only: most plugins stop by throwing the reason. */
  #stopped(ending: Ending, signal: AbortSignal): void {
    if (ending.how === 'abandoned') this.#deps.log.warn('the automation did not stop in time; its run is abandoned')
    if (ending.how !== 'threw' || ending.thrown === signal.reason) return
    this.#deps.log.debug('the automation ended with an error after it was stopped', {
      error: failureOf(ending.thrown, this.#masker).text,
    })
  }
}
