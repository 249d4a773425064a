import { describe, expect, it } from '@jest/globals'
import { createBatcher } from '../../../src/master/queue/batcher.ts'
import { FleetError } from '../../../src/protocol/index.ts'
import { allSucceeded } from '../../../src/runtime/index.ts'

/** A batcher whose runs end when the test calls `end`. */
function held() {
  const runs: { items: readonly number[]; end: (error?: Error) => void }[] = []
  const batcher = createBatcher<number, string>(
    (items) =>
      new Promise((resolve, reject) => {
        runs.push({
          items,
          end: (error) => (error === undefined ? resolve(items.map((item) => `a${item}`)) : reject(error)),
        })
      }),
    (item) => (item === -1 ? 40 * 1_048_576 : 1),
  )
  return { batcher, runs }
}
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const range = (n: number): number[] => Array.from({ length: n }, (_, at) => at)

describe('group commit', () => {
  it('sends the calls of one tick as one run, and returns to each call its own results', async () => {
    const { batcher, runs } = held()
    const results = [batcher.add([1, 2]), batcher.add([3]), batcher.add([4, 5])]
    await tick()
    expect(runs.map((run) => run.items)).toEqual([[1, 2, 3, 4, 5]])
    runs[0]?.end()
    expect(await Promise.all(results)).toEqual([['a1', 'a2'], ['a3'], ['a4', 'a5']])
  })

  it('collects items that arrive while a run is in progress', async () => {
    const { batcher, runs } = held()
    const first = batcher.add([1])
    await tick()
    const later = [batcher.add([2]), batcher.add([3])]
    await tick()
    expect(runs).toHaveLength(1)
    runs[0]?.end()
    await first
    await tick()
    expect(runs[1]?.items).toEqual([2, 3])
    runs[1]?.end()
    expect(await Promise.all(later)).toEqual([['a2'], ['a3']])
  })

  it('splits more than 500 items, in order', async () => {
    const { batcher, runs } = held()
    const results = batcher.add(range(1_200))
    await tick()
    expect(runs.map((run) => run.items.length)).toEqual([500, 500, 200])
    for (const run of runs) run.end()
    expect(await results).toEqual(range(1_200).map((item) => `a${item}`))
  })

  it('returns an error for each item of a failed run, and results for the other items', async () => {
    const { batcher, runs } = held()
    const sent = batcher.addEach(range(501))
    await tick()
    runs[0]?.end()
    runs[1]?.end(new Error('gone'))
    const results = await sent
    expect(results[499]).toBe('a499')
    expect(results[500]).toEqual(new Error('gone'))
    expect(() => allSucceeded(results)).toThrow('gone')
  })

  it('continues after a failed run', async () => {
    const { batcher, runs } = held()
    const failed = batcher.add([1])
    await tick()
    runs[0]?.end(new Error('gone'))
    await expect(failed).rejects.toThrow('gone')
    const next = batcher.add([2])
    await tick()
    runs[1]?.end()
    expect(await next).toEqual(['a2'])
  })

  it('rejects items above 10,000 waiting ones, with the outcome not_sent (G17)', async () => {
    const { batcher, runs } = held()
    const sent = batcher.add([0])
    await tick()
    const waiting = batcher.add(range(9_999))
    await expect(batcher.add([1, 2])).rejects.toMatchObject({ code: 'STORAGE_OVERLOADED', outcome: 'not_sent' })
    const last = batcher.add([1])
    runs[0]?.end()
    await sent
    await tick()
    for (const run of runs) run.end()
    expect(await waiting).toHaveLength(9_999)
    expect(await last).toEqual(['a1'])
  })

  it('rejects items above 64 MiB of waiting ones (G17)', async () => {
    const { batcher, runs } = held()
    void batcher.add([0])
    await tick()
    const waiting = batcher.add([-1])
    await expect(batcher.add([-1])).rejects.toBeInstanceOf(FleetError)
    runs[0]?.end()
    await tick()
    runs[1]?.end()
    expect(await waiting).toEqual(['a-1'])
  })
})
