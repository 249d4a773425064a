/** A minimal model of rollups: all increments with their times. Each read adds them up. */
import { HISTORY_RESOLUTIONS } from '../../../src/protocol/index.ts'
import type { RollupIncrement, RollupStep } from '../../../src/storage/index.ts'
import type { Time } from './tasks-model.ts'

export class RollupsModel {
  readonly #time: Time
  readonly #added: (RollupIncrement & { readonly atMs: number })[] = []

  constructor(time: Time) {
    this.#time = time
  }

  add(increments: readonly RollupIncrement[]): undefined {
    for (const each of increments) this.#added.push({ ...each, atMs: this.#time.now })
  }

  read(type: string, stepMs: number, fromMs: number): readonly RollupStep[] {
    const kept = HISTORY_RESOLUTIONS.find((each) => each.stepMs === stepMs)?.steps ?? 0
    const startOf = (atMs: number): number => atMs - (atMs % stepMs)
    const oldest = Math.max(fromMs, startOf(this.#time.now) - (kept - 1) * stepMs)
    const added = this.#added.filter((each) => each.type === type && startOf(each.atMs) >= oldest)
    const starts = [...new Set(added.map(({ atMs }) => startOf(atMs)))].toSorted((a, b) => a - b)
    return starts.map((startMs) => {
      const peaks: Record<string, number> = {}
      const sums: Record<string, number> = {}
      for (const each of added.filter(({ atMs }) => startOf(atMs) === startMs)) {
        for (const [name, value] of Object.entries(each.peaks))
          if (value > 0) peaks[name] = Math.max(peaks[name] ?? 0, value)
        for (const [name, value] of Object.entries(each.sums))
          if (value > 0) sums[name] = Math.min((sums[name] ?? 0) + value, Number.MAX_SAFE_INTEGER)
      }
      return { startMs, peaks, sums }
    })
  }
}
