/**
 * Selects few rows that contain every possible pair of choices of a matrix, because most faults of switches need two of
 * them. Greedy and deterministic.
 * @see Cohen, Dalal, Fredman, Patton 1997, "The AETG system".
 */
export type Matrix = Readonly<Record<string, readonly unknown[]>>
export type Row = Readonly<Record<string, unknown>>

const pairOf = (a: string, one: unknown, b: string, other: unknown): string =>
  a < b ? JSON.stringify([a, one, b, other]) : JSON.stringify([b, other, a, one])

/** All possible pairs of choices. */
function pairsOf(matrix: Matrix, isPossible: (row: Row) => boolean): Map<string, Row> {
  const switches = Object.entries(matrix)
  const pairs = switches.flatMap(([a, ones], index) =>
    switches
      .slice(index + 1)
      .flatMap(([b, others]) =>
        ones.flatMap((one) =>
          others.map((other): [string, Row] => [pairOf(a, one, b, other), { [a]: one, [b]: other }]),
        ),
      ),
  )
  return new Map(pairs.filter(([, row]) => isPossible(row)))
}

/** The choice that covers most missing pairs. */
function best(
  name: string,
  choices: readonly unknown[],
  row: Row,
  open: ReadonlyMap<string, Row>,
  isPossible: (row: Row) => boolean,
): unknown {
  const possible = choices.filter((choice) => isPossible({ ...row, [name]: choice }))
  if (possible.length === 0) throw new Error(`no choice of ${name} may stand beside ${JSON.stringify(row)}`)
  const gain = (choice: unknown): number =>
    Object.entries(row).filter(([other, value]) => open.has(pairOf(name, choice, other, value))).length
  return possible.reduce((a, b) => (gain(b) > gain(a) ? b : a))
}

/** @param isPossible is also called for incomplete rows. */
export function pairwise(matrix: Matrix, isPossible: (row: Row) => boolean): readonly Row[] {
  const open = pairsOf(matrix, isPossible)
  const rows: Row[] = []
  for (const seed of open.values()) {
    // A pair that was covered meanwhile is no longer in the set.
    const row = Object.entries(matrix).reduce<Row>(
      (whole, [name, choices]) =>
        name in whole ? whole : { ...whole, [name]: best(name, choices, whole, open, isPossible) },
      seed,
    )
    const entries = Object.entries(row)
    for (const [index, [a, one]] of entries.entries())
      for (const [b, other] of entries.slice(index + 1)) open.delete(pairOf(a, one, b, other))
    rows.push(row)
  }
  return rows
}
