/**
 * @module master/streams/collector
 * The outputs of one automation type on their way into its stream.
 *
 *   add ──▶ pending ──end of the tick──▶ one push in flight ──▶ stored
 *                                          │  ▲
 *                                 store away  └── the same entries under the same sequence number, with backoff
 *                                          └ store full, or given up at the end ──▶ dropped, counted
 *
 * One push at a time keeps the order; its sequence number makes a repeat harmless when the answer of the first was
 * lost. Memory is bounded by whoever feeds it: {@link Collector.full} says when to stop reading.
 */
import { FleetError, type JsonText } from '../../protocol/index.ts'
import { Backoff, type Log, type Random, type Timers } from '../../runtime/index.ts'
import type { Streams } from '../../storage/index.ts'

/** What one push may hold: the contract's bound on entries, and a size that keeps a store's step short. */
const PUSH_ENTRIES = 1_000
const PUSH_BYTES = 1_048_576
/** Waiting for the store, per type: above it the sockets that feed the type are not read. */
const FULL_ENTRIES = 20_000
const FULL_BYTES = 8 * 1_048_576
const RETRY = { baseMs: 100, capMs: 2_000, floor: 0.5 }

export type DropReason = 'store_full' | 'store_failed' | 'shutdown'

export interface CollectorPorts {
  readonly streams: Streams
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  /** Names this master towards the store; with the sequence number it tells a repeat. */
  readonly producer: string
  /** Aborts when waiting for the store has to end. */
  readonly giveUp: AbortSignal
  readonly onDropped: (type: string, count: number, reason: DropReason, cause: unknown) => void
  readonly onStored: (type: string, bytes: number, trimmed: number) => void
  readonly onGone: (type: string, bytes: number) => void
}

interface Batch {
  readonly entries: readonly JsonText[]
  readonly bytes: number
}

export class Collector {
  readonly #type: string
  readonly #ports: CollectorPorts
  #pending: JsonText[] = []
  #sizes: number[] = []
  #bytes = 0
  #full = false
  #sequence = 0
  #flushing: Promise<void> | null = null

  constructor(type: string, ports: CollectorPorts) {
    this.#type = type
    this.#ports = ports
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Full from the bound on, until half of it has drained. */
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

  /** Resolves when nothing is pending; at once when nothing is. */
  async settled(): Promise<void> {
    await this.#flushing
  }

  async #flush(): Promise<void> {
    await Promise.resolve() // What the same tick adds goes along.
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
    const { streams, producer, onStored, onDropped, onGone } = this.#ports
    try {
      const { trimmed } = await this.#untilAnswered(() => streams.push(this.#type, producer, sequence, entries))
      onStored(this.#type, bytes, trimmed)
    } catch (error) {
      onDropped(this.#type, entries.length, reasonOf(error, this.#ports.giveUp), error)
    }
    this.#bytes -= bytes
    onGone(this.#type, bytes)
  }

  async #untilAnswered<T>(call: () => Promise<T>): Promise<T> {
    const backoff = new Backoff({ ...RETRY, random: this.#ports.random })
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (!isAway(error) || this.#ports.giveUp.aborted) throw error
        // Giving up ends the pause early: one last try follows.
        await this.#ports.timers.sleep(backoff.nextMs(), this.#ports.giveUp).catch(() => {})
      }
    }
  }
}

function isAway(error: unknown): boolean {
  return (
    error instanceof FleetError &&
    ['STORAGE_UNAVAILABLE', 'STORAGE_OVERLOADED', 'STORAGE_NOT_OPEN'].includes(error.code)
  )
}

function reasonOf(error: unknown, giveUp: AbortSignal): DropReason {
  if (error instanceof FleetError && error.code === 'STORAGE_FULL') return 'store_full'
  return isAway(error) && giveUp.aborted ? 'shutdown' : 'store_failed'
}
