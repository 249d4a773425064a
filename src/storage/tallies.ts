/** @module storage/tallies  Adds to the tally of a revision (D138): bounded in values and in names. */
import { isPluginCounter, MAX_TALLY_COUNTERS } from '../protocol/index.ts'
import type { Tally } from './backend.ts'

/** Adds counters to a tally, in their order. */
export function addToTally(tally: Map<string, number>, counters: Tally): void {
  let plugins = [...tally.keys()].filter(isPluginCounter).length
  for (const [name, value] of Object.entries(counters)) {
    const before = tally.get(name)
    if (before === undefined && isPluginCounter(name)) {
      if (plugins >= MAX_TALLY_COUNTERS) continue
      plugins += 1
    }
    tally.set(name, Math.min((before ?? 0) + value, Number.MAX_SAFE_INTEGER))
  }
}
