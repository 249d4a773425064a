import { describe, expect, it } from '@jest/globals'
import { Batchers } from '../../../src/storage/redis/batcher.ts'
import { fails } from '../contract/fixture.ts'

/** An item that fills a group on its own. */
const LARGE = -1

interface Group {
  readonly items: readonly number[]
  end(): void
  fail(): void
}

/** A store that responds with twice each item when the test calls `end`. */
function slowStore(isUnavailable = false) {
  const groups: Group[] = []
  const lanes = new Batchers(() => isUnavailable)
  const run = (items: readonly number[]): Promise<readonly number[]> =>
    new Promise((resolve, reject) => {
      groups.push({ items, end: () => resolve(items.map((n) => 2 * n)), fail: () => reject(new Error('unavailable')) })
    })
  return {
    groups,
    add: (items: readonly number[], name = 'ack') =>
      lanes.add(name, items, (n) => (n === LARGE ? 2 * 1_048_576 : 1), run),
  }
}
const turn = (): Promise<void> => new Promise(setImmediate)
/** Starts four groups, one per event loop turn. */
async function fourUnderWay(add: (items: readonly number[]) => Promise<unknown>): Promise<readonly Promise<unknown>[]> {
  const calls: Promise<unknown>[] = []
  for (let n = 1; n <= 4; n += 1) {
    calls.push(add([n]))
    await turn()
  }
  return calls
}
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i)

describe('Batchers', () => {
  it('sends the calls of one turn together and returns each its own results', async () => {
    const { groups, add } = slowStore()
    const results = Promise.all([add([1]), add([2, 3]), add([4], 'nack')])
    await turn()
    expect(groups.map(({ items }) => items)).toEqual([[1, 2, 3], [4]])
    for (const group of groups) group.end()
    expect(await results).toEqual([[2], [4, 6], [8]])
  })

  it('collects calls while four groups are in flight, and sends at most 128 items or 1 MiB per group', async () => {
    const { groups, add } = slowStore()
    const first = await fourUnderWay(add)
    const rest = [...upTo(600).map((n) => add([n])), add([LARGE]), add([2])]
    await turn()
    expect(groups.map(({ items }) => items.length)).toEqual([1, 1, 1, 1])
    for (let sent = 0; sent < groups.length; sent += 1) {
      groups[sent]?.end()
      await turn()
    }
    await Promise.all([...first, ...rest])
    expect(groups.map(({ items }) => items.length)).toEqual([1, 1, 1, 1, 128, 128, 128, 128, 88, 1, 1])
  })

  it('rejects all calls of a failed group, and then continues', async () => {
    const { groups, add } = slowStore()
    const [one, other] = [add([1]), add([2])]
    await turn()
    groups[0]?.fail()
    await expect(one).rejects.toThrow('unavailable')
    await expect(other).rejects.toThrow('unavailable')
    const next = add([3])
    await turn()
    groups[1]?.end()
    expect(await next).toEqual([6])
  })

  it.each([
    [false, 10_000],
    [true, 2_000],
  ])(
    'rejects calls immediately above the limit of waiting items; store unavailable %p: %d items',
    async (isUnavailable, most) => {
      const { groups, add } = slowStore(isUnavailable)
      const busy = await fourUnderWay(add)
      const waiting = add(upTo(most))
      await expect(add([1])).rejects.toEqual(fails('STORAGE_OVERLOADED'))
      for (let sent = 0; sent < groups.length; sent += 1) {
        groups[sent]?.end()
        await turn()
      }
      expect(await waiting).toHaveLength(most)
      await Promise.all(busy)
    },
  )
})
