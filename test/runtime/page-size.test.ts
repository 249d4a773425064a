import { describe, expect, it } from '@jest/globals'
import { PageSize } from '../../src/runtime/index.ts'

const sizes = (bytesPerItem: number, pages = 5): readonly number[] => {
  const size = new PageSize({ first: 10, most: 200, targetBytes: 2_000_000 })
  return Array.from({ length: pages }, () => {
    const { limit } = size
    size.received(limit, limit * bytesPerItem)
    return limit
  })
}

describe('the size of a page', () => {
  it('starts small, grows at most fourfold, and stays near the target for items of any size', () => {
    expect([sizes(3_000), sizes(100_000), sizes(1_200_000)]).toEqual([
      [10, 40, 160, 200, 200],
      [10, 20, 20, 20, 20],
      [10, 1, 1, 1, 1],
    ])
  })

  it('drops to a quarter after a page that was too large, but not to zero', () => {
    const size = new PageSize({ first: 10, most: 200, targetBytes: 2_000_000 })
    const limits = [1, 2, 3].map(() => {
      size.tooLarge()
      return size.limit
    })
    expect(limits).toEqual([2, 1, 1])
    size.received(0, 50)
    expect(size.limit).toBe(4)
  })
})
