/** @module storage/memory/rollups  Implements `rollups` of the contract: a ring of steps for each resolution. */
import { HISTORY_RESOLUTIONS, type HistoryResolution, type JsonText } from '../../protocol/index.ts'
import { addToStep, numbersOf, resolutionOf, stepRange } from '../index.ts'
import type { RollupIncrement, Rollups, RollupStep, Sync } from '../index.ts'
import { RECORD_OVERHEAD } from './memory-budget.ts'
import { valueOf, type Store } from './store.ts'

interface Step {
  readonly number: number
  readonly text: JsonText
}
/** By place. */
type Ring = Map<number, Step>

export class MemoryRollups implements Sync<Rollups> {
  readonly #store: Store
  /** By type and length of the steps. */
  readonly #types = new Map<string, Map<number, Ring>>()

  constructor(store: Store) {
    this.#store = store
  }

  add(increments: readonly RollupIncrement[]): void {
    for (const increment of increments) {
      const rings = valueOf(this.#types, increment.type, () => new Map<number, Ring>())
      for (const resolution of HISTORY_RESOLUTIONS)
        this.#addTo(
          valueOf(rings, resolution.stepMs, () => new Map<number, Step>()),
          resolution,
          increment,
        )
    }
  }

  read(type: string, stepMs: number, fromMs: number, toMs: number): readonly RollupStep[] {
    const ring = this.#types.get(type)?.get(stepMs)
    if (ring === undefined) return []
    const { first, last } = stepRange(resolutionOf(stepMs), this.#store.now(), fromMs, toMs)
    return [...ring.values()]
      .filter(({ number }) => number >= first && number <= last)
      .toSorted((a, b) => a.number - b.number)
      .map(({ number, text }) => ({ startMs: number * stepMs, ...numbersOf(text) }))
  }

  #addTo(ring: Ring, { stepMs, steps }: HistoryResolution, increment: RollupIncrement): void {
    const number = Math.floor(this.#store.now() / stepMs)
    const place = number % steps
    const stored = ring.get(place)
    const text = addToStep(stored?.number === number ? stored.text : null, increment)
    const growth = text.length + RECORD_OVERHEAD - (stored === undefined ? 0 : stored.text.length + RECORD_OVERHEAD)
    this.#store.budget.require(growth)
    this.#store.budget.add(growth)
    ring.set(place, { number, text })
  }
}
