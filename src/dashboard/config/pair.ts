/** @module dashboard/config/pair  Two generations of a history, as they stand in the address: `12..14`. */

export interface Pair {
  readonly from: number
  readonly to: number
}

/** What the address says, as far as it is in the history; else the newest against the one before. @param gens newest first */
export function pairOf(text: string, gens: readonly number[]): Pair {
  const [, from, to] = /^(\d+)\.\.(\d+)$/.exec(text) ?? []
  const newest = gens[0] ?? 0
  const known = (gen: string | undefined, fallback: number): number =>
    gen !== undefined && gens.includes(Number(gen)) ? Number(gen) : fallback
  return { from: known(from, gens[1] ?? newest), to: known(to, newest) }
}

export const formatPair = ({ from, to }: Pair): string => `${from}..${to}`
