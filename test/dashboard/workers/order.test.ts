import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { driftOf, sortedKeys } from '../../../src/dashboard/workers/order.ts'
import { NOW, row } from './rows.ts'

const ids = (rows: Parameters<typeof sortedKeys>[0], sort: string): string[] =>
  sortedKeys(rows, sort, NOW).map((key) => key.split('/')[1] ?? '')
const stats = (cpu: number, rss = 1, slots = 1) => ({ current_stats: { cpu_pct: cpu, rss_mb: rss, slots, ts: NOW } })

describe('the order of workers', () => {
  it('compares numbers in IDs as numbers', () => {
    expect(ids([row('m-10'), row('m-9'), row('M-1')], '')).toEqual(['M-1', 'm-9', 'm-10'])
  })

  it('by state lists workers that need attention first', () => {
    expect(
      ids(
        [
          row('run'),
          row('idle', { state: 'IDLE' }),
          row('off', { connected: false }),
          row('err', { state: 'ERROR' }),
          row('late', { last_seen: NOW - 60 }),
          row('drain', { state: 'DRAINING' }),
        ],
        'state',
      ),
    ).toEqual(['err', 'off', 'late', 'drain', 'idle', 'run'])
  })

  it.each([
    ['cpu', ['off', 'a', 'b']],
    ['-cpu', ['b', 'a', 'off']],
    ['-rss', ['a', 'b', 'off']],
    ['slots', ['off', 'a', 'b']],
    ['-seen', ['off', 'a', 'b']],
    ['nonsense', ['a', 'b', 'off']],
  ])('by %s leaves those without a number at one end', (sort, expected) => {
    const rows = [
      row('b', stats(90, 10, 3)),
      row('a', stats(5, 50, 2)),
      row('off', { connected: false, last_seen: NOW - 900, ...stats(99, 99, 99) }),
    ]
    expect(ids(rows, sort)).toEqual(expected)
  })

  it('lists workers that are behind, managed or have an error before the others', () => {
    const rows = [
      row('plain'),
      row('other', { config_gen: 3, applied_config_gen: 2, managed_by: 'kubernetes:a/b', last_error: 'e' }),
    ]
    for (const sort of ['config', 'managed', 'error']) expect(ids(rows, sort)[0]).toBe('other')
  })

  it('does not depend on the initial order', () => {
    const rows = Array.from({ length: 30 }, (_, n) => row(`m-${n}`, stats(n % 3)))
    fc.assert(
      fc.property(
        fc.shuffledSubarray(rows, { minLength: 30 }),
        fc.constantFrom('', 'cpu', '-cpu', 'state', '-worker'),
        (shuffled, sort) => expect(ids(shuffled, sort)).toEqual(ids(rows, sort)),
      ),
    )
  })
})

describe('the drift of a frozen list', () => {
  it('is 0 while the list is in order, and counts rows that were added, removed or moved', () => {
    expect(driftOf(['a', 'b', 'c'], ['a', 'b', 'c'])).toBe(0)
    expect(driftOf(['a', 'b', 'c'], ['b', 'c', 'a'])).toBe(1)
    expect(driftOf(['a', 'b'], ['a', 'b', 'c'])).toBe(1)
    expect(driftOf(['a', 'b', 'c'], ['a', 'c'])).toBe(1)
  })
})
