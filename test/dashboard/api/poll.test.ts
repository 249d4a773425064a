import { describe, expect, it } from '@jest/globals'
import { poll, type Polled } from '../../../src/dashboard/api/poll.ts'
import { Problem } from '../../../src/dashboard/api/problem.ts'
import { ServerClock } from '../../../src/dashboard/api/server-clock.ts'

/** Runs a poll over prepared answers, then stops it; time goes on by one a turn. */
async function run(answers: readonly (string | Error)[]): Promise<{ seen: Polled<string>[]; pauses: number[] }> {
  const [seen, pauses] = [[] as Polled<string>[], [] as number[]]
  const stop = new AbortController()
  const rest = [...answers]
  let now = 0
  await poll<string>({
    load: async () => {
      const answer = rest.shift()
      if (answer === undefined) throw new TypeError('asked too often')
      if (answer instanceof Error) throw answer
      return answer
    },
    everyMs: 1_000, signal: stop.signal, localMs: () => ++now,
    report: (polled) => seen.push(polled),
    pause: async (ms) => {
      pauses.push(ms)
      if (rest.length === 0) stop.abort()
    },
  })
  return { seen, pauses }
}

describe('a poll', () => {
  it('asks again only after a pause that follows the answer', async () => {
    const { seen, pauses } = await run(['a', 'b'])
    expect(seen.map(({ data }) => data)).toEqual(['a', 'b'])
    expect(pauses).toEqual([1_000, 1_000])
  })

  it('keeps the last good data with their time while the master is away, and forgets the problem when it is back', async () => {
    const { seen } = await run(['a', new Problem('away'), new Problem('still away'), 'b'])
    expect(seen.map(({ data, atMs }) => [data, atMs])).toEqual([['a', 1], ['a', 1], ['a', 1], ['b', 2]])
    expect(seen.map(({ problem }) => problem?.message)).toEqual([undefined, 'away', 'still away', undefined])
  })

  it('waits as long as the master asks it to', async () => {
    const { pauses } = await run([new Problem('full', { status: 503, retryAfterSeconds: 7 }), 'a'])
    expect(pauses).toEqual([7_000, 1_000])
  })

  it('shows a mistake of the page as a problem', async () => {
    const { seen } = await run([new TypeError('x is undefined')])
    expect(seen[0]?.problem?.message).toBe('the page made a mistake: x is undefined')
  })

  it('reports nothing after it was stopped', async () => {
    const stop = new AbortController()
    const seen: unknown[] = []
    await poll({ load: async () => stop.abort(), everyMs: 1, pause: async () => {}, localMs: () => 0, report: (polled) => seen.push(polled), signal: stop.signal })
    expect(seen).toEqual([])
  })
})

describe('the master\'s clock', () => {
  const date = (ms: number): string => new Date(ms).toUTCString()

  it('is the local one while an answer could have been written at the local time', () => {
    const clock = new ServerClock(() => 10_900)
    clock.sample(date(10_000), 10_400, 10_600)
    expect(clock.nowSeconds()).toBe(10.9)
  })

  it('is an hour ahead of a computer that is an hour late', () => {
    const clock = new ServerClock(() => 10_500)
    clock.sample(date(3_610_000), 10_400, 10_600)
    expect(Math.abs(clock.nowSeconds() - 3_610.5)).toBeLessThan(1)
    const before = clock.nowSeconds()
    clock.sample(date(3_610_000), 10_450, 10_600)
    expect(clock.nowSeconds()).toBe(before)
  })

  it('learns nothing from an answer without a date', () => {
    const clock = new ServerClock(() => 5_000)
    clock.sample(null, 0, 1)
    expect(clock.nowSeconds()).toBe(5)
  })
})
