/** @module dashboard/config/pair  Parses and formats the two compared generations in the address: `12..14`. */

export interface Pair {
  readonly from: number
  readonly to: number
}

/**
 * Parses the pair; a generation that is not in the history is replaced by the newest or the one before it.
 * @param gens The generations in the history, newest first.
 */
export function pairOf(text: string, gens: readonly number[]): Pair {
  const [, from, to] = /^(\d+)\.\.(\d+)$/.exec(text) ?? []
  const newest = gens[0] ?? 0
  const known = (gen: string | undefined, fallback: number): number =>
    gen !== undefined && gens.includes(Number(gen)) ? Number(gen) : fallback
  return { from: known(from, gens[1] ?? newest), to: known(to, newest) }
}

export const formatPair = ({ from, to }: Pair): string => `${from}..${to}`
