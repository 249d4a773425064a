/**
 * @module automation/testing/slots
 * As many slots as the config asks for, told to stop in the worker's words: `disabled`, `slots`, `recycle`, `drain`,
 * `shutdown`. What has to end within a time is killed after it (D53).
 */
import { toMs } from '../../protocol/index.ts'
import type { Cancel, Timers } from '../../runtime/index.ts'
import { SlotStopped, type AppliedConfig, type SlotControl, type StopReason } from '../index.ts'

/** What `SVC_DRAIN_TIMEOUT_SECONDS` is by default. */
const DRAIN_TIMEOUT_MS = 30_000
/** Slots are not replaced more often than this, whatever the config says. */
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
  /** The slot is gone. */
  readonly onEnd: (slotId: number) => void
  readonly onFailure: (error: unknown) => void
}

export class Slots {
  readonly #deps: SlotsDeps
  /** By age, oldest first. */
  readonly #slots = new Map<number, Slot>()
  #config: AppliedConfig | undefined
  #stopped = false

  constructor(deps: SlotsDeps) {
    this.#deps = deps
  }

  /** No slot runs, and none will. */
  get areOver(): boolean {
    return this.#stopped && this.#slots.size === 0
  }

  apply(config: AppliedConfig): void {
    this.#config = config
    this.#adjust()
  }

  stop(why: 'drain' | 'shutdown' | 'recycle'): void {
    if (why !== 'recycle') this.#stopped = true
    for (const slot of this.#slots.values()) this.#tell(slot, why)
  }

  has(slotId: number): boolean {
    return this.#slots.has(slotId)
  }

  /** Leaves behind what runs in the slot. */
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
      this.#tell(slot, enabled ? 'slots' : 'disabled')
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
        this.#tell(slot, 'recycle'),
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

  /** A batch slot ends after its task, however long that takes; at a shutdown, and always where it is continuous, within the drain timeout. */
  #tell(slot: Slot, why: StopReason): void {
    slot.stopping.abort(new SlotStopped(why))
    if (this.#deps.isBatch && why !== 'shutdown') return
    this.#deps.timers.after(DRAIN_TIMEOUT_MS, () => slot.killed.abort(new SlotStopped(why)))
  }
}
