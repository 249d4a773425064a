import { describe, expect, it } from '@jest/globals'
import { TokenBucket, VirtualTime } from '../../src/runtime/index.ts'

function bucketOf(capacity: number, perSecond: number) {
  const time = new VirtualTime()
  return { time, bucket: new TokenBucket(time, { capacity, perSecond }) }
}
const taken = (bucket: TokenBucket): number => {
  let count = 0
  while (bucket.take()) count += 1
  return count
}

describe('TokenBucket', () => {
  it('permits a burst of its capacity, and then refills evenly', async () => {
    const { time, bucket } = bucketOf(10, 2)
    expect(taken(bucket)).toBe(10)
    await time.advance(499)
    expect(taken(bucket)).toBe(0)
    await time.advance(1)
    expect(taken(bucket)).toBe(1)
    await time.advance(2_000)
    expect(taken(bucket)).toBe(4)
  })

  it('never has more tokens than its capacity', async () => {
    const { time, bucket } = bucketOf(3, 1)
    await time.advance(60_000)
    expect(taken(bucket)).toBe(3)
  })

  it('returns the time until there are enough tokens', async () => {
    const { time, bucket } = bucketOf(4, 2)
    expect([bucket.waitMs(0), bucket.waitMs(), bucket.waitMs(4)]).toEqual([0, 0, 0])
    expect(taken(bucket)).toBe(4)
    expect([bucket.waitMs(0), bucket.waitMs(), bucket.waitMs(4)]).toEqual([0, 500, 2_000])
    await time.advance(400)
    expect(bucket.waitMs()).toBe(100)
  })

  it('goes into debt when more is spent than it contains, and refills the debt first', async () => {
    const { time, bucket } = bucketOf(10, 10)
    bucket.spend(25)
    expect([bucket.waitMs(0), bucket.waitMs(), bucket.take()]).toEqual([1_500, 1_600, false])
    await time.advance(1_500)
    expect([bucket.waitMs(0), bucket.waitMs()]).toEqual([0, 100])
  })

  it('is full again after everything was refilled', async () => {
    const { time, bucket } = bucketOf(2, 1)
    expect(bucket.isFull).toBe(true)
    bucket.spend(2)
    await time.advance(1_999)
    expect(bucket.isFull).toBe(false)
    await time.advance(1)
    expect(bucket.isFull).toBe(true)
  })

  it('has a token after exactly the returned wait, at any rate', async () => {
    for (const perSecond of [1 / 60, 0.1, 0.3, 3, 7, 100, 333]) {
      const { time, bucket } = bucketOf(1, perSecond)
      for (let round = 0; round < 20; round += 1) {
        expect(bucket.take()).toBe(true)
        await time.advance(bucket.waitMs())
      }
    }
  })
})
