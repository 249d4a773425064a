import { describe, expect, it } from '@jest/globals'
import { RateLimiter } from '../../../src/master/http/index.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

function limited(rps: number) {
  const time = new VirtualTime()
  return { time, limiter: new RateLimiter(time, rps) }
}

describe('RateLimiter', () => {
  it('allows every call at 0', () => {
    const { limiter } = limited(0)
    for (let call = 0; call < 1_000; call += 1) expect(limiter.take('a', 1_000)).toBeNull()
    expect(limiter.size).toBe(0)
  })

  it('has a burst of one second of requests, and refills evenly (D21)', () => {
    const { time, limiter } = limited(5)
    const passed = (): number =>
      Array.from({ length: 10 }, () => limiter.take('a', 1)).filter((wait) => wait === null).length
    expect(passed()).toBe(5)
    time.jump(400)
    expect(passed()).toBe(2)
    time.jump(60_000)
    expect(passed()).toBe(5)
  })

  it('has a burst of one where less than one request per second is allowed, and returns the time to wait', () => {
    const { time, limiter } = limited(0.1)
    expect(limiter.take('a', 1)).toBeNull()
    expect(limiter.take('a', 1)).toBe(10)
    time.jump(9_500)
    expect(limiter.take('a', 1)).toBe(1)
    time.jump(1_000)
    expect(limiter.take('a', 1)).toBeNull()
  })

  it('allows a call after exactly the returned wait', () => {
    const { time, limiter } = limited(3)
    for (let call = 0; call < 200; call += 1) {
      const wait = limiter.take('a', 1 + (call % 4))
      if (wait === null) continue
      time.jump(wait * 1_000)
      expect(limiter.take('a', 1 + (call % 4))).toBeNull()
    }
  })

  it('counts a batch as its length; a batch larger than the bucket delays later calls (D38)', () => {
    const { time, limiter } = limited(10)
    expect(limiter.take('a', 100)).toBeNull()
    expect(limiter.take('a', 1)).toBe(10)
    time.jump(9_000)
    expect(limiter.take('a', 1)).toBe(1)
    time.jump(1_000)
    expect(limiter.take('a', 1)).toBeNull()
  })

  it('limits each caller separately', () => {
    const { limiter } = limited(1)
    expect(limiter.take('a', 1)).toBeNull()
    expect(limiter.take('b', 1)).toBeNull()
    expect(limiter.take('a', 1)).toBe(1)
  })

  it('keeps 10,000 callers and evicts the least recently used one', () => {
    const { limiter } = limited(1)
    for (let caller = 0; caller < 10_000; caller += 1) limiter.take(`${caller}`, 1)
    limiter.take('0', 1)
    limiter.take('one more', 1)
    expect(limiter.size).toBe(10_000)
    expect(limiter.take('0', 1)).toBe(1)
    expect(limiter.take('1', 1)).toBeNull()
  })
})
