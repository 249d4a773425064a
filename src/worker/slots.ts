/**
 * @module worker/slots
 * Supervises the slots. Level-based: each applied config, ended slot and timer adjusts the running slots to the target,
 * `enabled ? slots : 0`.
 *
 *   spawn ─▶ running ──lowered, disabled, recycled, drained──▶ ending ──run settles──▶ ended, its place is free
 *               └── ended by itself or threw: a failed spawn ──▶ retried after 1 s … 60 s
 *
 * Raising the target does not affect running slots; lowering it stops the oldest first. A stopping slot keeps its place
 * until it ends, so never more than `slots` runs are active. A batch slot ends after its task, without a time limit. A
 * continuous slot is killed after the drain timeout (D53). A failing slot does not affect the others.
 */
import { SlotStopped, type AppliedConfig, type SlotControl, type StopReason } from '../automation/index.ts'
import { toMs } from '../protocol/index.ts'
import { Backoff, type Cancel, type Clock, type Log, type Random, type Timers } from '../runtime/index.ts'

const SPAWN_BASE_MS = 1_000
const SPAWN_CAP_MS = 60_000
/** Slots that live this long after a failed spawn show that spawning works again. */
const HEALTHY_MS = 10_000
/** Minimum lifetime of a slot, even if the config requests a shorter one. */
const MIN_RECYCLE_MS = 1_000

export interface SlotsDeps {
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  readonly workerId: string
  /** Runs one slot until it is stopped. Any other end counts as a failed spawn. */
  readonly run: (control: SlotControl) => Promise<void>
  /** How long a stopped slot may continue, in milliseconds; null: without a limit. */
  readonly endWithinMs: number | null
  /** Called with null when spawning works again. */
  readonly onSpawnError: (message: string | null) => void
  /** Called when a slot started, ended or was stopped. */
  readonly onChange: () => void
  /** Called when a slot has ended, so that its records can be removed. */
  readonly onGone: (slotId: number) => void
}

class Slot {
  readonly id: number
  readonly startedAtMs: number
  readonly stopping = new AbortController()
  readonly killed = new AbortController()
  cancelKill: Cancel | undefined

  constructor(id: number, startedAtMs: number) {
    this.id = id
    this.startedAtMs = startedAtMs
  }

  get isActive(): boolean {
    return !this.stopping.signal.aborted
  }

  kill(why: StopReason): void {
    if (!this.killed.signal.aborted) this.killed.abort(new SlotStopped(why))
  }
}

export class Slots {
  readonly #deps: SlotsDeps
  readonly #backoff: Backoff
  /** In order of age, oldest first. */
  readonly #slots = new Map<number, Slot>()
  #target = 0
  #enabled = false
  #recycleMs = 0
  #drained: StopReason | undefined
  #isSpawnPaused = false
  #cancelRecycle: Cancel | undefined
  #cancelHealthy: Cancel | undefined
  #cancelSpawnRetry: Cancel | undefined
  #emptyWaiters: (() => void)[] = []

  constructor(deps: SlotsDeps) {
    this.#deps = deps
    this.#backoff = new Backoff({ baseMs: SPAWN_BASE_MS, capMs: SPAWN_CAP_MS, floor: 0.5, random: deps.random })
  }

  get target(): number {
    return this.#target
  }

  /** Number of running slots that were not stopped. */
  get active(): number {
    let count = 0
    for (const slot of this.#slots.values()) count += slot.isActive ? 1 : 0
    return count
  }

  /** Number of running slots, including those that are stopping. */
  get size(): number {
    return this.#slots.size
  }

  /** Each running slot, with its age. */
  ages(): readonly { readonly slotId: number; readonly ageMs: number }[] {
    const now = this.#deps.clock.monotonicMs()
    return [...this.#slots.values()].map(({ id, startedAtMs }) => ({ slotId: id, ageMs: now - startedAtMs }))
  }

  apply(config: AppliedConfig): void {
    if (this.#drained !== undefined) return
    this.#enabled = config.enabled
    this.#target = config.enabled ? config.slots : 0
    this.#recycleMs = config.recycle_seconds === 0 ? 0 : Math.max(toMs(config.recycle_seconds), MIN_RECYCLE_MS)
    this.#adjust()
  }

  /** Stops all slots and starts no new ones. Resolves when all have ended. */
  async drain(why: 'drain' | 'shutdown'): Promise<void> {
    this.#drained = why
    this.#target = 0
    this.#cancelHealthy?.()
    this.#cancelSpawnRetry?.()
    this.#adjust()
    while (this.#slots.size > 0) await new Promise<void>((resolve) => void this.#emptyWaiters.push(resolve))
  }

  /** Interrupts all running slots. */
  kill(why: StopReason): void {
    for (const slot of this.#slots.values()) slot.kill(why)
  }

  #adjust(): void {
    const active = [...this.#slots.values()].filter((slot) => slot.isActive)
    const why = this.#drained ?? (this.#enabled ? 'slots' : 'disabled')
    for (const slot of active.slice(0, Math.max(0, active.length - this.#target))) this.#stop(slot, why)
    while (!this.#isSpawnPaused && this.#slots.size < this.#target) this.#spawn()
    this.#armRecycle()
    this.#deps.onChange()
  }

  #spawn(): void {
    const { clock, log, run, workerId } = this.#deps
    const slot = new Slot(this.#freeId(), clock.monotonicMs())
    this.#slots.set(slot.id, slot)
    log.debug('slot started', { slot_id: slot.id })
    const control: SlotControl = {
      workerId,
      slotId: slot.id,
      stopping: slot.stopping.signal,
      killed: slot.killed.signal,
    }
    const ended = (async () => run(control))()
    ended.then(
      () => this.#ended(slot, 'it ended without being stopped'),
      (error: unknown) => this.#ended(slot, error instanceof Error ? error.message : String(error)),
    )
  }

  #freeId(): number {
    let id = 0
    while (this.#slots.has(id)) id += 1
    return id
  }

  #stop(slot: Slot, why: StopReason): void {
    const { endWithinMs, log, timers } = this.#deps
    slot.stopping.abort(new SlotStopped(why))
    if (endWithinMs === null) return
    slot.cancelKill = timers.after(endWithinMs, () => {
      log.warn('slot did not stop in time, interrupting it', { slot_id: slot.id, within_ms: endWithinMs })
      slot.kill(why)
    })
  }

  #ended(slot: Slot, how: string): void {
    slot.cancelKill?.()
    this.#slots.delete(slot.id)
    this.#deps.onGone(slot.id)
    if (slot.isActive) this.#spawnFailed(slot, how)
    this.#adjust()
    if (this.#slots.size === 0) for (const wake of this.#emptyWaiters.splice(0)) wake()
  }

  #spawnFailed({ id }: Slot, how: string): void {
    const { log, onSpawnError, timers } = this.#deps
    this.#cancelHealthy?.()
    onSpawnError(`slot ${id} failed to start: ${how}`)
    if (this.#isSpawnPaused || this.#drained !== undefined) return // Slots that fail together count as one failure.
    const waitMs = this.#backoff.nextMs()
    log.error('slot failed to start, retrying', { slot_id: id, error: how, retry_in_ms: Math.round(waitMs) })
    this.#isSpawnPaused = true
    this.#cancelSpawnRetry = timers.after(waitMs, () => {
      this.#isSpawnPaused = false
      this.#adjust()
      this.#cancelHealthy = timers.after(HEALTHY_MS, () => this.#healthy())
    })
  }

  #healthy(): void {
    this.#backoff.reset()
    this.#deps.onSpawnError(null)
  }

  #armRecycle(): void {
    this.#cancelRecycle?.()
    const oldest = [...this.#slots.values()].find((slot) => slot.isActive)
    if (this.#recycleMs === 0 || oldest === undefined) return
    const { clock, timers } = this.#deps
    this.#cancelRecycle = timers.after(oldest.startedAtMs + this.#recycleMs - clock.monotonicMs(), () =>
      this.#recycle(),
    )
  }

  #recycle(): void {
    const bornBefore = this.#deps.clock.monotonicMs() - this.#recycleMs
    for (const slot of this.#slots.values())
      if (slot.isActive && slot.startedAtMs <= bornBefore) this.#stop(slot, 'recycle')
    this.#adjust()
  }
}
