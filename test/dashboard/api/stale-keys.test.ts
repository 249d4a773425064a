import { describe, expect, it } from '@jest/globals'
import { Problem } from '../../../src/dashboard/api/problem.ts'
import { staleKeys } from '../../../src/dashboard/api/stale-keys.ts'
import { nextPollDelayMs } from '../../../src/dashboard/api/poll-interval.ts'
import { EVENTS } from '../../../src/protocol/index.ts'

describe('the keys that an event makes stale', () => {
  const keys = (name: string) => staleKeys({ name, data: { type: 'mailer', worker_id: 'm-7' } })

  it('are the queue for totals, the worker for worker events, and all keys for a reset', () => {
    // Dead letters are long: they are read again when the event has another number of them (reading.ts).
    expect(keys('queue.totals')).toEqual([['overview'], ['queue', 'mailer'], ['queue-stats', 'mailer']])
    expect(keys('worker.state')).toEqual([['overview'], ['worker', 'mailer', 'm-7']])
    expect(keys('worker.config_changed')).toContainEqual(['history', 'mailer', 'm-7'])
    expect(keys('rollout.changed')).toEqual([['overview'], ['rollouts', 'mailer'], ['revisions', 'mailer']])
    expect(keys('reset')).toBe('all')
    expect(keys('of.the.future')).toEqual([])
  })

  it('are not empty for any event of the protocol', () => {
    for (const name of Object.keys(EVENTS)) expect([name, keys(name).length > 0]).toEqual([name, true])
  })
})

describe('the poll interval', () => {
  it('has 10 % jitter and is deterministic', () => {
    for (let at = 1_700_000_000_000; at < 1_700_000_000_100; at += 7) {
      expect(nextPollDelayMs(15_000, at, null)).toBeGreaterThanOrEqual(13_500)
      expect(nextPollDelayMs(15_000, at, null)).toBeLessThanOrEqual(16_500)
      expect(nextPollDelayMs(15_000, at, null)).toBe(nextPollDelayMs(15_000, at, null))
    }
    expect(new Set([1, 2, 3, 4].map((at) => nextPollDelayMs(15_000, at, null))).size).toBe(4)
  })

  it('respects Retry-After', () => {
    expect(nextPollDelayMs(2_000, 1, new Problem('full', { retryAfterSeconds: 30 }))).toBeGreaterThanOrEqual(24_000)
  })

  it('is short after an outage of the master or its store, and unchanged after a rejected read', () => {
    for (const problem of [
      new Problem('no response'),
      new Problem('unavailable', { status: 503, retryAfterSeconds: 1 }),
    ])
      expect(nextPollDelayMs(15_000, 1, problem)).toBeLessThanOrEqual(3_300)
    expect(nextPollDelayMs(2_000, 1, new Problem('no answer'))).toBeLessThanOrEqual(2_200)
    for (const status of [403, 404])
      expect(nextPollDelayMs(15_000, 1, new Problem('not here', { status }))).toBeGreaterThanOrEqual(13_500)
  })
})
