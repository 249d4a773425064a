/** @module dashboard/config/text-diff  Computes a line diff by the longest common subsequence. */

export interface DiffLine {
  readonly sign: ' ' | '-' | '+'
  readonly text: string
}

/** Above this many pairs of lines, all lines are shown as replaced, because the comparison would block the page. */
const MAX_PAIRS = 250_000

export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [old, now] = [before.split('\n'), after.split('\n')]
  if (old.length * now.length > MAX_PAIRS)
    return [...old.map((text) => ({ sign: '-' as const, text })), ...now.map((text) => ({ sign: '+' as const, text }))]
  return walk(old, now, commonLengths(old, now))
}

/** `lengths[i][j]` is the length of the longest common subsequence of `old.slice(i)` and `now.slice(j)`. */
function commonLengths(old: readonly string[], now: readonly string[]): readonly Uint32Array[] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1))
  for (let i = old.length - 1; i >= 0; i--) {
    const [row, next] = [lengths[i] as Uint32Array, lengths[i + 1] as Uint32Array]
    for (let j = now.length - 1; j >= 0; j--)
      row[j] = old[i] === now[j] ? (next[j + 1] as number) + 1 : Math.max(next[j] as number, row[j + 1] as number)
  }
  return lengths
}

function walk(old: readonly string[], now: readonly string[], lengths: readonly Uint32Array[]): readonly DiffLine[] {
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ sign: ' ', text: old[i] as string })
      i++
      j++
    } else if (j >= now.length || (i < old.length && (lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0)))
      lines.push({ sign: '-', text: old[i++] as string })
    else lines.push({ sign: '+', text: now[j++] as string })
  }
  return lines
}

/** Keeps only the lines around changes; '…' replaces omitted lines. */
export function around(lines: readonly DiffLine[], context = 2): readonly DiffLine[] {
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - context), index + context + 1).some(({ sign }) => sign !== ' '),
  )
  return lines.flatMap((line, index): readonly DiffLine[] => {
    if (near[index] === true) return [line]
    const isFirstOmitted = near[index - 1] === true || index === 0
    return isFirstOmitted ? [{ sign: ' ', text: '…' }] : []
  })
}
