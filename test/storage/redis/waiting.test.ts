import { describe, expect, it } from '@jest/globals'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { WaitQueue } from '../../../src/storage/redis/waiting.ts'

const MIB = 1_048_576
const why = (): string => 'the store is unavailable'

function room(): { time: VirtualTime; wait: (lane: string, bytes?: number) => Promise<string>; wake: () => void } {
  const time = new VirtualTime()
  const waiting = new WaitQueue(time)
  const since = time.monotonicMs()
  return {
    time,
    wait: (lane, bytes = 1) =>
      waiting.wait({ lane, bytes }, since, why).then(
        () => 'woken',
        (error: { code: string }) => error.code,
      ),
    wake: () => waiting.wake(),
  }
}

describe('WaitQueue', () => {
  it('resolves all waiting calls in the order of arrival when the store is back', async () => {
    const { wait, wake } = room()
    const order: number[] = []
    const all = [0, 1, 2].map((n) => wait('a').then(() => order.push(n)))
    wake()
    await Promise.all(all)
    expect(order).toEqual([0, 1, 2])
  })

  it('rejects calls that waited 1.5 s, and from then on every call immediately, as not sent (G18)', async () => {
    const { time, wait } = room()
    const early = wait('a')
    await time.advance(1_000)
    const late = wait('a')
    await time.advance(500)
    expect(await Promise.all([early, late, wait('a')])).toEqual([
      'STORAGE_UNAVAILABLE',
      'STORAGE_UNAVAILABLE',
      'STORAGE_UNAVAILABLE',
    ])
    const { time: clock } = room()
    await expect(new WaitQueue(clock).wait({ lane: 'a', bytes: 1 }, clock.monotonicMs() - 1_500, why)).rejects.toEqual(
      expect.objectContaining({ code: 'STORAGE_UNAVAILABLE', outcome: 'not_sent', retryAfterSeconds: 1 }),
    )
  })

  it('accepts 2,000 calls or 8 MiB per lane, and 64 MiB in total', async () => {
    const { wait, wake } = room()
    const calls = Array.from({ length: 2_000 }, () => wait('many'))
    expect(await wait('many')).toBe('STORAGE_UNAVAILABLE')
    const large = Array.from({ length: 7 }, (_, n) => wait(`large ${n}`, 8 * MIB))
    expect(await wait('large 0', 1)).toBe('STORAGE_UNAVAILABLE')
    expect(await wait('one more', 8 * MIB)).toBe('STORAGE_UNAVAILABLE')
    wake()
    expect(new Set(await Promise.all([...calls, ...large]))).toEqual(new Set(['woken']))
    const again = wait('large 0', 8 * MIB)
    wake()
    expect(await again).toBe('woken')
    const many = Array.from({ length: 2_000 }, () => wait('many'))
    wake()
    expect(new Set(await Promise.all(many))).toEqual(new Set(['woken']))
  })

  it('frees the bytes of a call once, however often the store returns', async () => {
    const { wait, wake } = room()
    const first = wait('first', 8 * MIB)
    wake()
    wake()
    const all = Array.from({ length: 8 }, (_, n) => wait(`large ${n}`, 8 * MIB))
    expect(await wait('one more', 1)).toBe('STORAGE_UNAVAILABLE')
    wake()
    expect(new Set(await Promise.all([first, ...all]))).toEqual(new Set(['woken']))
  })

  it('accepts exactly 64 MiB over all lanes, and frees the bytes of calls that were rejected or woken', async () => {
    const { time, wait, wake } = room()
    const all = Array.from({ length: 8 }, (_, n) => wait(`large ${n}`, 8 * MIB))
    expect(await wait('one more', 1)).toBe('STORAGE_UNAVAILABLE')
    expect(time.pending).toBe(8)
    wake()
    expect([new Set(await Promise.all(all)), time.pending]).toEqual([new Set(['woken']), 0])
    const late = Array.from({ length: 8 }, (_, n) => wait(`large ${n}`, 8 * MIB))
    await time.advance(1_499)
    expect(await wait('large 0', 1)).toBe('STORAGE_UNAVAILABLE')
    await time.advance(1)
    expect([new Set(await Promise.all(late)), time.pending]).toEqual([new Set(['STORAGE_UNAVAILABLE']), 0])
  })

  it('counts calls and bytes of each lane, until its last call has left', async () => {
    const time = new VirtualTime()
    const waiting = new WaitQueue(time)
    const wait = (bytes: number, sinceMs: number) =>
      waiting.wait({ lane: 'a', bytes }, sinceMs, why).then(
        () => 'woken',
        () => 'rejected',
      )
    const first = wait(6 * MIB, time.monotonicMs() - 1_000)
    const second = wait(2 * MIB, time.monotonicMs())
    expect(await wait(1, time.monotonicMs())).toBe('rejected')
    await time.advance(500)
    expect(await first).toBe('rejected')
    const third = wait(6 * MIB, time.monotonicMs())
    expect(await wait(1, time.monotonicMs())).toBe('rejected')
    waiting.wake()
    expect(await Promise.all([second, third])).toEqual(['woken', 'woken'])
  })

  it('says why at the moment of the rejection', async () => {
    const time = new VirtualTime()
    const waiting = new WaitQueue(time)
    let reason = 'the first reason'
    const call = waiting.wait({ lane: 'a', bytes: 1 }, time.monotonicMs(), () => reason)
    reason = 'the last reason'
    const rejected = expect(call).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      outcome: 'not_sent',
      message: expect.stringContaining('the last reason'),
    })
    await time.advance(1_500)
    await rejected
  })
})
