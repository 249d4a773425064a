/**
 * @module storage/redis/workers-batches
 * One call of the contract names workers of any types; one script serves one type, and so many items that no other call
 * waits long. So a call becomes a series of scripts for each type, the types side by side; results keep the order of
 * the items. Each script is one atomic step, the call over several of them is not.
 */
import type { Ref } from '../index.ts'

const MAX_ITEMS = 500
const MAX_BYTES = 1_048_576

interface Placed<T> {
  readonly item: T
  readonly at: number
}

/**
 * @param charsOf about how much an item adds to the call.
 * @param run one script; one result per item, in order.
 */
export async function inBatches<T extends Ref, A>(
  items: readonly T[],
  charsOf: (item: T) => number,
  run: (type: string, part: readonly T[]) => Promise<readonly A[]>,
): Promise<readonly A[]> {
  const results: A[] = []
  const series = [...byType(items)].map(async ([type, placed]) => {
    for (const part of parts(placed, charsOf)) {
      const ran = await run(
        type,
        part.map(({ item }) => item),
      )
      for (const [i, result] of ran.entries()) results[part[i]?.at ?? -1] = result
    }
  })
  // Nothing of this call is under way once it rejects.
  const failed = (await Promise.allSettled(series)).find((each) => each.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return results
}

function byType<T extends Ref>(items: readonly T[]): Map<string, Placed<T>[]> {
  const types = new Map<string, Placed<T>[]>()
  for (const [at, item] of items.entries()) {
    const of = types.get(item.type)
    if (of === undefined) types.set(item.type, [{ item, at }])
    else of.push({ item, at })
  }
  return types
}

function* parts<T>(placed: readonly Placed<T>[], charsOf: (item: T) => number): Generator<readonly Placed<T>[]> {
  let part: Placed<T>[] = []
  let chars = 0
  for (const each of placed) {
    const size = charsOf(each.item)
    if (part.length >= MAX_ITEMS || (part.length > 0 && chars + size > MAX_BYTES)) {
      yield part
      part = []
      chars = 0
    }
    part.push(each)
    chars += size
  }
  if (part.length > 0) yield part
}
