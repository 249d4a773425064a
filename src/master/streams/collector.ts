/**
 * @module master/streams/collector
 * Writes the outputs of one automation type to its stream.
 *
 *   add ──▶ pending ──end of the tick──▶ one push in flight ──▶ stored
 *                                          │  ▲
 *                         store unavailable│  └── the same entries with the same sequence number, after a backoff
 *                                          └ store full, or stopped while retrying ──▶ dropped, counted
 *
 * Pushing one batch at a time keeps the order. The sequence number makes a repeat harmless if the first response was
 * lost. The sender limits the memory: {@link Collector.full} shows when to stop reading. It is no Batcher of the
 * runtime, because entries have no caller that waits for a result, and a batch keeps its sequence number when it is
 * repeated.
 */
import { FleetError, type JsonText } from '../../protocol/index.ts'
import { Backoff, sleep, type Log, type Random, type Timers } from '../../runtime/index.ts'
import type { Streams } from '../../storage/index.ts'

/** Limits of one push: the entries of the storage contract, and a size that keeps a step of the store short. */
const PUSH_ENTRIES = 1_000
const PUSH_BYTES = 1_048_576
/** Limits of pending entries per type. Above them, the sockets of the type are not read. */
const FULL_ENTRIES = 20_000
const FULL_BYTES = 8 * 1_048_576
const RETRY = { baseMs: 100, capMs: 2_000, floor: 0.5 }

export type DropReason = 'store_full' | 'store_failed' | 'shutdown'

export interface CollectorDeps {
  readonly streams: Streams
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  /** Identifies this master to the store. With the sequence number it identifies a repeat. */
  readonly producer: string
  /** Aborts when retrying has to end. */
  readonly giveUp: AbortSignal
  readonly onDropped: (type: string, count: number, reason: DropReason, cause: unknown) => void
  readonly onStored: (type: string, bytes: number, trimmed: number) => void
  readonly onRemoved: (type: string, bytes: number) => void
}

interface Batch {
  readonly entries: readonly JsonText[]
  readonly bytes: number
}

export class Collector {
  readonly #type: string
  readonly #deps: CollectorDeps
  #pending: JsonText[] = []
  #sizes: number[] = []
  #bytes = 0
  #full = false
  #sequence = 0
  #flushing: Promise<void> | null = null

  constructor(type: string, deps: CollectorDeps) {
    this.#type = type
    this.#deps = deps
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Becomes true at the limit, and false again when half of it has drained. */
  get full(): boolean {
    if (this.#full) this.#full = this.#pending.length > FULL_ENTRIES / 2 || this.#bytes > FULL_BYTES / 2
    else this.#full = this.#pending.length >= FULL_ENTRIES || this.#bytes >= FULL_BYTES
    return this.#full
  }

  add(entry: JsonText, bytes: number): void {
    this.#pending.push(entry)
    this.#sizes.push(bytes)
    this.#bytes += bytes
    this.#flushing ??= this.#flush()
  }

  /** Resolves when nothing is pending. */
  async settled(): Promise<void> {
    await this.#flushing
  }

  async #flush(): Promise<void> {
    await Promise.resolve() // Includes everything that is added in the same tick.
    while (this.#pending.length > 0) {
      const batch = this.#take()
      await this.#push(++this.#sequence, batch)
    }
    this.#flushing = null
  }

  #take(): Batch {
    let count = 0
    let bytes = 0
    while (count < this.#pending.length && count < PUSH_ENTRIES) {
      const size = this.#sizes[count] ?? 0
      if (count > 0 && bytes + size > PUSH_BYTES) break
      bytes += size
      count += 1
    }
    this.#sizes.splice(0, count)
    return { entries: this.#pending.splice(0, count), bytes }
  }

  async #push(sequence: number, { entries, bytes }: Batch): Promise<void> {
    const { streams, producer, onStored, onDropped, onRemoved } = this.#deps
    try {
      const { trimmed } = await this.#withRetries(() => streams.push(this.#type, producer, sequence, entries))
      onStored(this.#type, bytes, trimmed)
    } catch (error) {
      onDropped(this.#type, entries.length, reasonOf(error, this.#deps.giveUp), error)
    }
    this.#bytes -= bytes
    onRemoved(this.#type, bytes)
  }

  async #withRetries<T>(call: () => Promise<T>): Promise<T> {
    const backoff = new Backoff({ ...RETRY, random: this.#deps.random })
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (!isRetryable(error) || this.#deps.giveUp.aborted) throw error
        // An abort ends the pause early; one last try follows.
        await sleep(this.#deps.timers, backoff.nextMs(), this.#deps.giveUp)
      }
    }
  }
}

function isRetryable(error: unknown): boolean {
  return (
    error instanceof FleetError &&
    ['STORAGE_UNAVAILABLE', 'STORAGE_OVERLOADED', 'STORAGE_NOT_OPEN'].includes(error.code)
  )
}

function reasonOf(error: unknown, giveUp: AbortSignal): DropReason {
  if (error instanceof FleetError && error.code === 'STORAGE_FULL') return 'store_full'
  return isRetryable(error) && giveUp.aborted ? 'shutdown' : 'store_failed'
}
