/**
 * @module worker/stats
 * Creates the stats frame: slots, CPU, memory and metrics of plugins. It is created when it is sent, so that it is
 * current after a reconnect.
 */
import { MAX_FRAME_BYTES, MAX_JSON_VALUES, toSeconds, type SlotStats } from '../protocol/index.ts'
import type { Clock } from '../runtime/index.ts'
import type { Host } from './host.ts'

const BYTES_PER_MB = 1024 ** 2
/** Shorter intervals give inaccurate CPU values; the previous value is used instead. */
const MIN_SAMPLE_MS = 1_000
/** JSON values of one entry of `per_slot`, without its counters. */
const SLOT_VALUES = 6

export interface StatsDeps {
  readonly clock: Clock
  readonly host: Host
  /** Flat metrics by name (D55). */
  readonly metrics: () => Readonly<Record<string, number>>
  readonly perSlot: () => readonly SlotStats[]
}

/** Measures the CPU usage of this process since the last sample, in percent of one core. */
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

  /** Whether the number of slots changed since the last frame. */
  get hasSlotCountChanged(): boolean {
    return this.#deps.perSlot().length !== this.#reportedSlots
  }

  /** Creates the frame as JSON. Omits `per_slot`, then `metrics`, when the frame would be too large. */
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
