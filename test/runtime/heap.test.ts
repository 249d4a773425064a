/** @module test/runtime/heap */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { Heap } from '../../src/runtime/index.ts'

/** Values with their ranks, as the heap should order them. */
const inOrder = (ranks: readonly number[]): readonly (readonly number[])[] =>
  ranks.map((rank, index) => [rank, index]).toSorted(([a = 0, i = 0], [b = 0, j = 0]) => a - b || i - j)

function heapOf(ranks: readonly number[]): Heap<readonly number[]> {
  const heap = new Heap<readonly number[]>()
  for (const [index, rank] of ranks.entries()) heap.add(rank, [rank, index])
  return heap
}

const drained = <T>(heap: Heap<T>): (T | undefined)[] => Array.from({ length: heap.size }, () => heap.pop())

describe('Heap', () => {
  it('returns the smallest rank first, and equal ranks in insertion order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 9 })), (ranks) => {
        const heap = heapOf(ranks)
        expect(heap.peek()?.value).toEqual(inOrder(ranks)[0])
        expect(drained(heap)).toEqual(inOrder(ranks))
        expect(heap.peek()).toBeUndefined()
        expect(heap.pop()).toBeUndefined()
      }),
    )
  })

  it('keeps the order when entries are added between removals', () => {
    const heap = heapOf([5, 3, 8])
    expect(heap.pop()).toEqual([3, 1])
    heap.add(4, [4, 3])
    heap.add(9, [9, 4])
    expect(drained(heap)).toEqual([
      [4, 3],
      [5, 0],
      [8, 2],
      [9, 4],
    ])
  })

  it('keeps the order of the rest after a filter', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 9 })), fc.integer({ min: 1, max: 4 }), (ranks, divisor) => {
        const heap = heapOf(ranks)
        heap.filter(({ value: [, index = 0] }) => index % divisor === 0)
        expect(drained(heap)).toEqual(inOrder(ranks).filter(([, index = 0]) => index % divisor === 0))
      }),
    )
  })

  it('returns the entry of a value, whose value may be replaced', () => {
    const heap = new Heap<string | null>()
    heap.add(1, 'a')
    const entry = heap.add(2, 'b')
    entry.value = null
    expect(drained(heap)).toEqual(['a', null])
  })
})
