import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { driftOf, sortedKeys } from '../../../src/dashboard/workers/order.ts'
import { NOW, row } from './rows.ts'

const ids = (rows: Parameters<typeof sortedKeys>[0], sort: string): string[] =>
  sortedKeys(rows, sort, NOW).map((key) => key.split('/')[1] ?? '')
const stats = (cpu: number, rss = 1, slots = 1) => ({ current_stats: { cpu_pct: cpu, rss_mb: rss, slots, ts: NOW } })

describe('the order of workers', () => {
  it('compares numbers in IDs as numbers', () => {
    expect(ids([row('m-10'), row('m-9'), row('M-1')], 'worker')).toEqual(['M-1', 'm-9', 'm-10'])
  })

  it('without a choice lists workers by severity, and within it by name', () => {
    const behind = { config_gen: 3, applied_config_gen: 2 }
    const fleet = [
      row('a-run'),
      row('b-idle', { state: 'IDLE' }),
      row('c-run'),
      row('drained', { connected: false, state: 'DRAINING' }),
      row('ended', { connected: false, ended: true }),
      row('drain', { state: 'DRAINING', ...behind }),
      row('behind', behind),
      row('late', { last_seen: NOW - 60 }),
      row('off', { connected: false, state: 'ERROR', last_error: 'e' }),
      row('err-10', { state: 'ERROR' }),
      row('err-9', { state: 'ERROR', ...behind }),
    ]
    const expected = 'err-9 err-10 off late behind drain drained ended a-run b-idle c-run'.split(' ')
    expect(ids(fleet, '')).toEqual(expected)
    expect(ids(fleet, 'state')).toEqual(expected)
  })

  it('of 10,000 workers lists the 63 in ERROR first', () => {
    const fleet = Array.from({ length: 10_000 }, (_, n) => row(`m-${n}`, n % 159 === 7 ? { state: 'ERROR' } : {}))
    const first = ids(fleet, '').slice(0, 63)
    expect(first).toEqual(fleet.filter(({ state }) => state === 'ERROR').map(({ worker_id: id }) => id))
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
    ['nonsense', ['off', 'a', 'b']],
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
