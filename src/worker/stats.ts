/**
 * @module worker/stats
 * The stats frame: slots, CPU, memory, and what plugins measure. Made at the moment of sending, so that a reconnect
 * brings fresh figures.
 */
import { MAX_FRAME_BYTES, MAX_JSON_VALUES, toSeconds, type SlotStats } from '../protocol/index.ts'
import type { Clock } from '../runtime/index.ts'
import type { Host } from './host.ts'

const BYTES_PER_MB = 1024 ** 2
/** Below this a CPU share is noise; the last one stands. */
const MIN_SAMPLE_MS = 1_000
/** JSON values of one entry of `per_slot`, its counters apart. */
const SLOT_VALUES = 4

export interface StatsDeps {
  readonly clock: Clock
  readonly host: Host
  /** Flat numbers, as D55 names them. */
  readonly metrics: () => Readonly<Record<string, number>>
  readonly perSlot: () => readonly SlotStats[]
}

/** The share of one core this process used since the last sample, in percent. */
class CpuSampler {
  readonly #clock: Clock
  readonly #host: Host
  #atMs: number
  #cpuMs: number
  #percent = 0

  constructor(clock: Clock, host: Host) {
    this.#clock = clock
    this.#host = host
    this.#atMs = clock.monotonicMs()
    this.#cpuMs = host.cpuMs()
  }

  percent(): number {
    const elapsedMs = this.#clock.monotonicMs() - this.#atMs
    if (elapsedMs < MIN_SAMPLE_MS) return this.#percent
    const cpuMs = this.#host.cpuMs()
    this.#percent = Math.round(((cpuMs - this.#cpuMs) / elapsedMs) * 1_000) / 10
    this.#atMs += elapsedMs
    this.#cpuMs = cpuMs
    return this.#percent
  }
}

export class Stats {
  readonly #deps: StatsDeps
  readonly #cpu: CpuSampler
  #reportedSlots = 0

  constructor(deps: StatsDeps) {
    this.#deps = deps
    this.#cpu = new CpuSampler(deps.clock, deps.host)
  }

  get cpuPercent(): number {
    return this.#cpu.percent()
  }

  get rssMegabytes(): number {
    return Math.round((this.#deps.host.rssBytes() / BYTES_PER_MB) * 10) / 10
  }

  /** Whether there are more or fewer slots than the last frame told. */
  get hasSlotCountChanged(): boolean {
    return this.#deps.perSlot().length !== this.#reportedSlots
  }

  /** The frame as JSON; what does not fit a frame, or would be too many values, is left out, `per_slot` first. */
  frame(): string {
    const { clock, metrics, perSlot } = this.#deps
    const slots = perSlot()
    this.#reportedSlots = slots.length
    const base = {
      type: 'stats',
      slots: slots.length,
      cpu_pct: this.cpuPercent,
      rss_mb: this.rssMegabytes,
      ts: toSeconds(clock.wallMs()),
    }
    const full = JSON.stringify({ ...base, metrics: metrics(), per_slot: slots })
    const values = slots.reduce((sum, { counters }) => sum + SLOT_VALUES + Object.keys(counters).length, 0)
    if (Buffer.byteLength(full) <= MAX_FRAME_BYTES && values <= MAX_JSON_VALUES / 2) return full
    const short = JSON.stringify({ ...base, metrics: metrics() })
    return Buffer.byteLength(short) <= MAX_FRAME_BYTES ? short : JSON.stringify({ ...base, metrics: {} })
  }
}
