import { describe, expect, it } from '@jest/globals'
import type { SelectedBody } from '../../../src/protocol/index.ts'
import type { Api, Query } from '../../../src/dashboard/api/client.ts'
import { Problem } from '../../../src/dashboard/api/problem.ts'
import { selectInCalls } from '../../../src/dashboard/components/select-calls.ts'
import { tallyText } from '../../../src/dashboard/dead/actions.ts'
import { groupName, newestTasks, trendText } from '../../../src/dashboard/dead/groups.ts'
import { pollEveryMs, rereadAfterMs } from '../../../src/dashboard/dead/reading.ts'
import { listed, NONE, ticked, withIds } from '../../../src/dashboard/dead/selection.ts'

/** An API whose pages have two tasks each. Their cursor is the number of tasks before. */
function pagesOf(ids: readonly string[], calls: unknown[]) {
  return {
    get: async (path: readonly string[], query: Query = {}) => {
      calls.push([path.at(-1), query])
      const from = Number(query['cursor'] ?? 0)
      const to = Math.min(ids.length, from + Math.min(2, Number(query['n'])))
      const body = { items: ids.slice(from, to).map((id) => ({ id })), cursor: to < ids.length ? String(to) : null }
      return { body, epoch: null }
    },
  }
}

describe('the newest dead tasks', () => {
  it('are read page by page up to the wanted number', async () => {
    const calls: unknown[] = []
    const api = pagesOf(['a', 'b', 'c', 'd', 'e'], calls) as unknown as Pick<Api, 'get'>
    const idsOf = async (n: number): Promise<string[]> =>
      (await newestTasks(api, 'mailer', { group: 'g', n })).map(({ id }) => id)
    expect(await idsOf(3)).toEqual(['a', 'b', 'c'])
    expect(calls).toEqual([
      ['newest', { group: 'g', n: 3 }],
      ['newest', { group: 'g', n: 1, cursor: '2' }],
    ])
    expect(await idsOf(100)).toEqual(['a', 'b', 'c', 'd', 'e'])
  })
})

describe('a group of dead tasks', () => {
  it('is named after its pattern, and its trend is described', () => {
    expect(groupName({ pattern: 'ENOTFOUND <host>' })).toBe('ENOTFOUND <host>')
    expect(groupName({ pattern: null })).toBe('Other errors')
    expect(trendText([0, 1, 2], String)).toBe('2 in the last 5 minutes, 3 in the last hour')
  })
})

describe('the time between two reads of dead letters', () => {
  it('is a minute while events report their number, and otherwise 5 s', () => {
    expect([pollEveryMs(true), pollEveryMs(false)]).toEqual([60_000, 5_000])
  })

  it('grows with the length of the list while tasks keep dying', () => {
    expect([rereadAfterMs(0), rereadAfterMs(50_000), rereadAfterMs(1_000_000)]).toEqual([2_000, 2_000, 20_000])
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

  it('sends every ID once, 1,000 per call', async () => {
    const calls: (readonly string[])[] = []
    const run = await selectInCalls<Result>(ids, async (taskIds) => {
      calls.push(taskIds)
      return answered(taskIds)
    })
    expect(calls.map(({ length }) => length)).toEqual([1_000, 1_000, 500])
    expect(calls.flat()).toEqual(ids)
    expect(tallyText('replay', run)).toBe('2,499 tasks requeued. 1 was no longer dead.')
  })

  it('stops at the first failure and reports its tasks as unknown', async () => {
    let calls = 0
    const run = await selectInCalls<Result>(ids, async (taskIds) => {
      calls += 1
      if (calls === 2) throw new Error('cut')
      return { results: taskIds.map((id) => ({ task_id: id, outcome: 'removed' })) }
    })
    expect(tallyText('remove', run)).toBe(
      '1,000 tasks removed. The outcome of 1,000 is unknown; the list is reloaded. 500 not attempted.',
    )
    expect(run.failure).toEqual(new Error('cut'))
  })

  it.each([
    [403, /1,000 rejected by the master: no\./],
    [503, /is unknown/],
  ])('distinguishes rejected from unknown outcomes: %d', async (status, text) => {
    const run = await selectInCalls<Result>(ids.slice(0, 1_000), () => Promise.reject(new Problem('no', { status })))
    expect(tallyText('replay', run)).toMatch(text)
  })
})
