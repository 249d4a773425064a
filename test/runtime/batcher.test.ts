import { describe, expect, it } from '@jest/globals'
import { allSucceeded, Batcher, VirtualTime, type BatcherOptions } from '../../src/runtime/index.ts'

/** Each group takes 10 ms. A group with the item 13 fails. `runs` lists the groups with the time of their start. */
function batching(options: Partial<BatcherOptions<number, string>> = {}) {
  const time = new VirtualTime()
  const runs: { readonly atMs: number; readonly items: readonly number[] }[] = []
  let idle = 0
  const batcher = new Batcher<number, string>({
    run: async (items) => {
      runs.push({ atMs: time.monotonicMs(), items })
      await time.sleep(10)
      if (items.includes(13)) throw new Error('unlucky')
      return items.map((item) => `r${item}`)
    },
    maxItems: 3,
    splitsCalls: true,
    maxInFlight: 1,
    overlaps: true,
    waitingLimits: () => ({ items: 10, bytes: 100 }),
    overloaded: () => new Error('overloaded'),
    onIdle: () => void (idle += 1),
    ...options,
  })
  return { time, batcher, runs, idle: () => idle, itemsOf: () => runs.map(({ items }) => items) }
}

describe('Batcher', () => {
  it('sends the calls of one turn as one group, and returns to each call its own results', async () => {
    const { time, batcher, itemsOf, idle } = batching()
    const results = Promise.all([batcher.add([1, 2]), batcher.add([]), batcher.add([3])])
    await time.advance(10)
    expect(await results).toEqual([['r1', 'r2'], [], ['r3']])
    expect(itemsOf()).toEqual([[1, 2, 3]])
    expect(idle()).toBe(1)
  })

  it('collects calls while a group is in flight', async () => {
    const { time, batcher, runs } = batching()
    const calls = [batcher.add([1])]
    await time.advance(5)
    calls.push(batcher.add([2]))
    await time.advance(1)
    calls.push(batcher.add([3]))
    await time.advance(20)
    expect(await Promise.all(calls)).toEqual([['r1'], ['r2'], ['r3']])
    expect(runs).toEqual([
      { atMs: 0, items: [1] },
      { atMs: 10, items: [2, 3] },
    ])
  })

  it('splits a large call over groups, and returns its results in order', async () => {
    const { time, batcher, itemsOf } = batching({ maxInFlight: 2 })
    const results = batcher.add([1, 2, 3, 4, 5, 6, 7])
    await time.advance(20)
    expect(await results).toEqual(['r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7'])
    expect(itemsOf()).toEqual([[1, 2, 3], [4, 5, 6], [7]])
  })

  it('keeps a call together where calls are not split, also above the limit', async () => {
    const { time, batcher, itemsOf } = batching({ splitsCalls: false, maxInFlight: 9 })
    void Promise.all([batcher.add([1, 2]), batcher.add([3, 4]), batcher.add([5]), batcher.add([6, 7, 8, 9])])
    await time.advance(1)
    expect(itemsOf()).toEqual([
      [1, 2],
      [3, 4, 5],
      [6, 7, 8, 9],
    ])
  })

  it('limits the bytes of a group', async () => {
    const { time, batcher, itemsOf } = batching({ maxBytes: 50, bytesOf: (item) => item, maxInFlight: 9 })
    void Promise.all([batcher.add([40]), batcher.add([11]), batcher.add([39])])
    await time.advance(1)
    expect(itemsOf()).toEqual([[40], [11, 39]])
  })

  it('without overlap sends everything that waits, once all earlier groups have ended', async () => {
    const { time, batcher, runs } = batching({ maxInFlight: Infinity, overlaps: false })
    void batcher.add([1])
    await time.advance(5)
    void Promise.all([batcher.add([2, 3, 4, 5]), batcher.add([6])])
    await time.advance(20)
    expect(runs).toEqual([
      { atMs: 0, items: [1] },
      { atMs: 10, items: [2, 3, 4] },
      { atMs: 10, items: [5, 6] },
    ])
  })

  it('returns the error of a failed group for its items alone, and continues', async () => {
    const { time, batcher } = batching()
    const results = Promise.all([batcher.addEach([1, 13]), batcher.addEach([3, 4])])
    await time.advance(20)
    const failure = new Error('unlucky')
    expect(await results).toEqual([
      [failure, failure],
      [failure, 'r4'],
    ])
    const next = batcher.add([5])
    await time.advance(10)
    expect(await next).toEqual(['r5'])
  })

  it('rejects a call for all of whose items the caller wants a result, if one of its groups failed', async () => {
    const { time, batcher } = batching({ maxInFlight: 2 })
    const calls = Promise.allSettled([batcher.add([1, 2, 3, 4, 13]), batcher.add([5]), batcher.add([6, 7])])
    await time.advance(30)
    expect(await calls).toEqual([
      { status: 'rejected', reason: new Error('unlucky') },
      { status: 'rejected', reason: new Error('unlucky') },
      { status: 'fulfilled', value: ['r6', 'r7'] },
    ])
  })

  it('rejects a call above the limits of waiting items or bytes, and accepts calls again after a send', async () => {
    const { time, batcher } = batching({ bytesOf: (item) => item })
    const calls = [batcher.add([1])]
    await time.advance(1)
    calls.push(batcher.add([1, 2, 3, 4]))
    await expect(batcher.add([1, 1, 1, 1, 1, 1, 1])).rejects.toThrow('overloaded')
    await expect(batcher.add([91])).rejects.toThrow('overloaded')
    await time.advance(30)
    calls.push(batcher.add([91]))
    await time.advance(10)
    expect((await Promise.all(calls)).flat()).toEqual(['r1', 'r1', 'r2', 'r3', 'r4', 'r91'])
  })
})

describe('allSucceeded', () => {
  it('returns the results, or throws the first error among them', () => {
    expect(allSucceeded(['a', 'b'])).toEqual(['a', 'b'])
    expect(() => allSucceeded<string>(['a', new Error('first'), new Error('second')])).toThrow('first')
  })
})
