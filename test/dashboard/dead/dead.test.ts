import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { SelectedBody } from '../../../src/protocol/index.ts'
import { Problem } from '../../../src/dashboard/api/problem.ts'
import { selectInCalls, type SelectedCalls } from '../../../src/dashboard/components/select-calls.ts'
import { tallyText } from '../../../src/dashboard/dead/actions.ts'
import { groupKey, groupsOf, type DeadItem } from '../../../src/dashboard/dead/groups.ts'
import { FIRST_N, nextN } from '../../../src/dashboard/dead/reading.ts'
import { listed, NONE, ticked, withIds } from '../../../src/dashboard/dead/selection.ts'
import { SLACK } from '../../kit/index.ts'

const item = (id: string, error: string | null, diedAt = 100): DeadItem => ({
  id,
  payload: {},
  attempt: 3,
  max_attempts: 3,
  submitted_at: 1,
  priority: 0,
  last_error: error,
  died_at: diedAt,
})

describe('the key of a group', () => {
  it.each([
    ['connect ECONNREFUSED 10.0.0.7:465', 'connect ECONNREFUSED 10.0.0.8:587'],
    ['no file "a.png"', 'no file "b c.png"'],
    ['order 0f8fad5b-d9cb-469f-a165-70867728950e is gone', 'order 7C9E6679-7425-40DE-944B-E07FC1F90AE7 is gone'],
    ['commit deadbeef01 missing', 'commit 00c0ffee42 missing'],
    ['took 1.5s', 'took 12,000s'],
    ['timeout   of 5', 'timeout of\n9'],
  ])('is the same for %j and %j', (a, b) => {
    expect(groupKey(a)).toBe(groupKey(b))
  })

  it.each([
    ["can't read", "can't write"],
    ['facade fell', 'decade fell'],
    ['ECONNRESET', 'ECONNREFUSED'],
    ['x', ''],
  ])('differs for %j and %j', (a, b) => {
    expect(groupKey(a)).not.toBe(groupKey(b))
  })

  it('is computed quickly for the longest possible errors', () => {
    const began = performance.now()
    for (const part of ['"', "'", 'a', '0', '0x', 'ab-', " 'a", '12345678-']) groupKey(part.repeat(4_096 / part.length))
    expect(performance.now() - began).toBeLessThan(1_000 * SLACK)
  })
})

describe('groups of dead tasks', () => {
  it('contain every task once, largest group first', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.constantFrom('a 1', 'a 2', 'b', null), fc.nat(9))), (deaths) => {
        const items = deaths.map(([error, at], n) => item(String(n), error, at))
        const groups = groupsOf(items)
        expect(groups.flatMap((group) => group.items.map(({ id }) => id)).toSorted()).toEqual(
          items.map(({ id }) => id).toSorted(),
        )
        for (const [n, group] of groups.entries()) {
          expect(group.items.length).toBeLessThanOrEqual(groups[n - 1]?.items.length ?? Infinity)
          expect(new Set(group.items.map(({ last_error: error }) => groupKey(error))).size).toBe(1)
        }
      }),
    )
  })

  it('report the first and last death and the latest error', () => {
    expect(groupsOf([item('a', 'code 1', 5), item('b', 'code 2', 9), item('c', 'code 3', 7)])).toMatchObject([
      { error: 'code 2', firstDiedAt: 5, lastDiedAt: 9 },
    ])
  })
})

describe('the number of dead letters to read', () => {
  it('doubles while the response is small and there are more', () => {
    expect(nextN(FIRST_N, 100, 12_400, () => 30_000)).toBe(200)
    expect(nextN(6_400, 6_400, 12_400, () => 400_000)).toBe(10_000)
    expect(nextN(10_000, 10_000, 12_400, () => 400_000)).toBe(10_000)
    expect(nextN(200, 150, 150, () => 30_000)).toBe(200)
    expect(nextN(200, 180, 400, () => 30_000)).toBe(200) // The response was truncated at its size limit (D56).
    expect(nextN(1_600, 1_600, 12_400, () => 600_000)).toBe(1_600)
  })
})

describe('a selection', () => {
  it('contains the listed and selected tasks in list order', () => {
    const selection = withIds(withIds(NONE, ['c', 'a', 'gone'], true), ['x'], false)
    expect(listed(selection, [{ id: 'a' }, { id: 'b' }, { id: 'c' }])).toEqual(['a', 'c'])
    expect([ticked(selection, ['a', 'c']), ticked(selection, ['a', 'b']), ticked(selection, ['b'])]).toEqual([
      'all',
      'some',
      'none',
    ])
  })
})

type Result = SelectedBody['results'][number]

describe('a bulk action on selected tasks', () => {
  const ids = Array.from({ length: 2_500 }, (_, n) => `t-${n}`)
  const answered = (taskIds: readonly string[]): SelectedBody => ({
    results: taskIds.map((id) => ({ task_id: id, outcome: id === 't-7' ? 'not_dead' : 'replayed' })),
  })
  const forever = (): AbortSignal => new AbortController().signal

  it('sends every ID once, 1,000 per call, and reports progress', async () => {
    const calls: (readonly string[])[] = []
    const reports: SelectedCalls<Result>[] = []
    const run = await selectInCalls<Result>({
      ids,
      signal: forever(),
      report: (now) => reports.push(now),
      select: async (taskIds) => {
        calls.push(taskIds)
        return answered(taskIds)
      },
    })
    expect(calls.map(({ length }) => length)).toEqual([1_000, 1_000, 500])
    expect(calls.flat()).toEqual(ids)
    expect(reports.map(({ results }) => results.length)).toEqual([0, 1_000, 2_000, 2_500])
    expect(tallyText('replay', run)).toBe('2,499 tasks requeued. 1 was no longer dead.')
  })

  it('stops at the first failure and reports its tasks as unknown', async () => {
    let calls = 0
    const run = await selectInCalls<Result>({
      ids,
      signal: forever(),
      report: () => {},
      select: async (taskIds) => {
        calls += 1
        if (calls === 2) throw new Error('cut')
        return { results: taskIds.map((id) => ({ task_id: id, outcome: 'removed' })) }
      },
    })
    expect(tallyText('remove', run)).toBe(
      '1,000 tasks removed. The outcome of 1,000 is unknown; the list is reloaded. 500 not attempted.',
    )
    expect(run.failure).toEqual(new Error('cut'))
  })

  it.each([
    [403, /1,000 rejected/],
    [503, /is unknown/],
  ])('distinguishes rejected from unknown outcomes: %d', async (status, text) => {
    const run = await selectInCalls<Result>({
      ids: ids.slice(0, 1_000),
      signal: forever(),
      report: () => {},
      select: () => Promise.reject(new Problem('no', { status })),
    })
    expect(tallyText('replay', run)).toMatch(text)
  })

  it('stops between two calls', async () => {
    const stop = new AbortController()
    const run = await selectInCalls<Result>({
      ids,
      signal: stop.signal,
      report: () => {},
      select: async (taskIds) => {
        stop.abort()
        return answered(taskIds)
      },
    })
    expect(tallyText('replay', run)).toBe(
      '999 tasks requeued. 1 was no longer dead. 1,500 not attempted: stopped by you.',
    )
  })
})
