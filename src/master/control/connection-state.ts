/**
 * @module master/control/connection-state
 * What the components of the control channel keep about one connection, one class per component. They have no closures
 * or timers of their own, since there are thousands of connections.
 */
import type { JsonText } from '../../protocol/index.ts'
import type { FrameSocket, TokenBucket } from '../../runtime/index.ts'
import type { RecordedStatus, WorkerReport } from '../../storage/index.ts'
import type { CounterFrame } from './counter-frames.ts'

/** Why reading is paused; bits of {@link ReadPause}. */
export const PAUSE = { registering: 1, sink: 2, unflushed: 4 } as const

export type ReportedStateFrame = NonNullable<WorkerReport['state']>

/** The status of a new record. */
export const INITIAL_STATUS: RecordedStatus = { state: 'IDLE', lastError: null, appliedGen: null }

/** Pauses reading from a socket while there is at least one reason to pause it (backpressure.ts). */
export class ReadPause {
  readonly #socket: Pick<FrameSocket, 'pause' | 'resume'>
  /** Bits of {@link PAUSE}. */
  #reasons = 0
  /** Bytes of statistics that were read and are not stored yet. */
  unflushedBytes = 0

  constructor(socket: Pick<FrameSocket, 'pause' | 'resume'>) {
    this.#socket = socket
  }

  get isPaused(): boolean {
    return this.#reasons !== 0
  }

  isPausedFor(reasons: number): boolean {
    return (this.#reasons & reasons) !== 0
  }

  add(reason: number): void {
    if (this.#reasons === 0) this.#socket.pause()
    this.#reasons |= reason
  }

  remove(reasons: number): void {
    if (!this.isPausedFor(reasons)) return
    this.#reasons &= ~reasons
    if (this.#reasons === 0) this.#socket.resume()
  }

  /** Removes every reason. */
  end(): void {
    this.remove(this.#reasons)
  }
}

/** What the next report to the store contains (heartbeat-writer.ts). */
export class PendingReport {
  #state: ReportedStateFrame | null = null
  #stats: JsonText[] = []
  /** The newest state that arrived, stored or not. */
  #newest: ReportedStateFrame | null = null
  #hasStats = false
  /** When the last report was taken; monotonic. */
  lastReportMs = 0

  /** @returns whether it differs from the state before. */
  setState(state: ReportedStateFrame): boolean {
    const before = this.#newest
    this.#newest = state
    this.#state = state
    return before?.state !== state.state || before.gen !== state.gen || before.lastError !== state.lastError
  }

  /** @returns whether they are the first ones of the connection. */
  addStats(text: JsonText): boolean {
    const isFirst = !this.#hasStats
    this.#hasStats = true
    this.#stats.push(text)
    return isFirst
  }

  /** Takes everything that is pending. */
  take(nowMs: number): { readonly state: ReportedStateFrame | null; readonly stats: readonly JsonText[] } {
    const taken = { state: this.#state, stats: this.#stats }
    this.#state = null
    if (taken.stats.length > 0) this.#stats = []
    this.lastReportMs = nowMs
    return taken
  }

  /** Puts back what the store rejected, before what arrived meanwhile. A newer state replaces the old one. */
  putBack({ state, stats }: ReturnType<PendingReport['take']>): void {
    this.#state ??= state
    this.#stats.unshift(...stats)
  }
}

/** The frames for one worker that wait until it reads (outbound.ts). */
export class OutboundState {
  /** The highest config generation that was sent to this socket or reported by it, and that the store has not lost. */
  knownGen = 0
  isDrainSent = false
  #reportedGen = 0
  #heldGen: number | null = null
  #isDrainHeld = false
  #stuckBytes = 0
  #stuckSinceMs = 0

  /**
   * Records the generation that the worker runs. A lower one than before belongs to a new epoch, in which higher ones
   * of the epoch before are not known.
   */
  reportGen(gen: number): void {
    this.knownGen = gen < this.#reportedGen ? gen : Math.max(this.knownGen, gen)
    this.#reportedGen = gen
  }

  /**
   * Records the generation that is stored. A lower one shows that the store lost the higher ones, so another config may
   * get one of them (G26). The result of a report that is older than a change costs one repeated frame.
   */
  storedGen(gen: number): void {
    this.knownGen = Math.min(this.knownGen, gen)
  }

  holdConfigChanged(gen: number): void {
    this.knownGen = Math.max(this.knownGen, gen)
    this.#heldGen = gen
  }

  holdDrain(): void {
    this.isDrainSent = true
    this.#isDrainHeld = true
  }

  takeHeld(): { readonly gen: number | null; readonly isDrain: boolean } {
    const held = { gen: this.#heldGen, isDrain: this.#isDrainHeld }
    this.#heldGen = null
    this.#isDrainHeld = false
    return held
  }

  /** Starts measuring how long the peer has read nothing. */
  startProgress(bytes: number, nowMs: number): void {
    this.#stuckBytes = bytes
    this.#stuckSinceMs = nowMs
  }

  /** @returns for how long the peer has read none of its unread bytes, in ms. */
  stuckForMs(bytes: number, nowMs: number): number {
    if (bytes < this.#stuckBytes) this.#stuckSinceMs = nowMs
    this.#stuckBytes = bytes
    return nowMs - this.#stuckSinceMs
  }
}

/** The state in the store, and the state that was last published as an event (state-event-throttle.ts). */
export class StateEvents {
  reported: RecordedStatus = INITIAL_STATUS
  published: RecordedStatus = INITIAL_STATUS
  /** The rate of published states; `null` before the first one. */
  bucket: TokenBucket | null = null
  /** The losses of the event log before the last publication. */
  losses = 0
}

interface WrittenGen {
  readonly gen: number
  readonly revision: string
}

/** What the tallies of revisions need of a connection (tally-collector.ts). */
export class TallyState {
  /** The newest frame whose report is stored; null before the first one. */
  base: CounterFrame | null = null
  /** The newest frame whose report is not stored yet. */
  newest: CounterFrame | null = null
  /** The stored generation; null if no revision wrote it. */
  stored: WrittenGen | null = null
  /** Whether the worker last reported ERROR. */
  isInError = false
  /** The generation that the worker reported last. */
  #applied: WrittenGen | null = null

  /** @returns the revision that wrote this generation, or null. Generations between the last two are not known. */
  revisionAt(gen: number): string | null {
    const written = [this.stored, this.#applied].find((each) => each?.gen === gen) ?? null
    if (written !== null) this.#applied = written
    return written?.revision ?? null
  }
}
