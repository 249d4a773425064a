/**
 * @module automation/testing/slots
 * Runs as many slots as the config requests, and stops them with the reasons of the worker: `disabled`, `slots`,
 * `recycle`, `drain` and `shutdown`. Slots that exceed their time limit are killed (D53).
 */
import { toMs } from '../../protocol/index.ts'
import type { Cancel, Timers } from '../../runtime/index.ts'
import { SlotStopped, type AppliedConfig, type SlotControl, type StopReason } from '../index.ts'

/** The default of `SVC_DRAIN_TIMEOUT_SECONDS`. */
const DRAIN_TIMEOUT_MS = 30_000
/** Minimum lifetime of a slot, even if the config requests a shorter one. */
const MIN_RECYCLE_MS = 1_000

interface Slot {
  readonly id: number
  readonly stopping: AbortController
  readonly killed: AbortController
  cancelRecycle?: Cancel
}

export interface SlotsDeps {
  readonly timers: Timers
  readonly workerId: string
  readonly isBatch: boolean
  readonly run: (control: SlotControl) => Promise<void>
  /** Called when the slot has ended. */
  readonly onEnd: (slotId: number) => void
  readonly onFailure: (error: unknown) => void
}

export class Slots {
  readonly #deps: SlotsDeps
  /** In order of age, oldest first. */
  readonly #slots = new Map<number, Slot>()
  #config: AppliedConfig | undefined
  #stopped = false

  constructor(deps: SlotsDeps) {
    this.#deps = deps
  }

  /** Whether no slot runs and none will start. */
  get areOver(): boolean {
    return this.#stopped && this.#slots.size === 0
  }

  apply(config: AppliedConfig): void {
    this.#config = config
    this.#adjust()
  }

  stop(why: 'drain' | 'shutdown' | 'recycle'): void {
    if (why !== 'recycle') this.#stopped = true
    for (const slot of this.#slots.values()) this.#stop(slot, why)
  }

  has(slotId: number): boolean {
    return this.#slots.has(slotId)
  }

  /** Abandons the run of the slot. */
  kill(slotId: number): void {
    this.#slots.get(slotId)?.killed.abort(new SlotStopped('shutdown'))
  }

  killAll(): void {
    this.#stopped = true
    for (const slotId of this.#slots.keys()) this.kill(slotId)
  }

  #adjust(): void {
    if (this.#stopped || this.#config === undefined) return
    const { enabled, slots } = this.#config
    const target = enabled ? slots : 0
    const active = [...this.#slots.values()].filter(({ stopping }) => !stopping.signal.aborted)
    for (const slot of active.slice(0, Math.max(0, active.length - target)))
      this.#stop(slot, enabled ? 'slots' : 'disabled')
    while (this.#slots.size < target) this.#spawn(this.#config)
  }

  #spawn({ recycle_seconds: recycleSeconds }: AppliedConfig): void {
    const { timers, workerId, run, onEnd, onFailure } = this.#deps
    let id = 0
    while (this.#slots.has(id)) id += 1
    const slot: Slot = { id, stopping: new AbortController(), killed: new AbortController() }
    this.#slots.set(id, slot)
    if (recycleSeconds > 0)
      slot.cancelRecycle = timers.after(Math.max(toMs(recycleSeconds), MIN_RECYCLE_MS), () =>
        this.#stop(slot, 'recycle'),
      )
    run({ workerId, slotId: id, stopping: slot.stopping.signal, killed: slot.killed.signal })
      .catch(onFailure)
      .finally(() => {
        slot.cancelRecycle?.()
        this.#slots.delete(id)
        onEnd(id)
        this.#adjust()
      })
  }

  /**
   * Stops a slot. A batch slot ends after its task, without a time limit. A continuous slot, and any slot at a
   * shutdown, is killed after the drain timeout.
   */
  #stop(slot: Slot, why: StopReason): void {
    slot.stopping.abort(new SlotStopped(why))
    if (this.#deps.isBatch && why !== 'shutdown') return
    this.#deps.timers.after(DRAIN_TIMEOUT_MS, () => slot.killed.abort(new SlotStopped(why)))
  }
}
