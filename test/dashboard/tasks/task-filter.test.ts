import { describe, expect, it } from '@jest/globals'
import { labelFault, labelsOf, queryOf, readRows, shownLabels } from '../../../src/dashboard/tasks/task-filter.ts'
import type { TaskListBody } from '../../../src/protocol/index.ts'

type Query = Readonly<Record<string, string | number>>

/** A list in pages; the cursor is the number of the next page. */
function listOf(...pages: readonly (readonly string[])[]) {
  const seen: Query[] = []
  const read = async (query: Query): Promise<TaskListBody> => {
    seen.push(query)
    const at = Number(query['cursor'] ?? 0)
    const items = (pages[at] ?? []).map((id) => ({
      task_id: id,
      place: 'pending' as const,
      payload: {},
      attempt: 0,
      submitted_at: 1,
      priority: 0,
    }))
    return { items, cursor: at + 1 < pages.length ? String(at + 1) : null, examined: 5_000 }
  }
  return { read, seen }
}

describe('the filter of tasks', () => {
  it('sends only the fields that filter', () => {
    expect(queryOf({ place: '', label: '', q: '' })).toEqual({})
    expect(queryOf({ place: 'dead', label: 'a:b', q: 'x' })).toEqual({ place: 'dead', label: ['a:b'], text: 'x' })
  })

  it.each([
    ['', true],
    ['tenant:acme', true],
    ['tenant:', true],
    ['tenant', false],
    ['tenant=acme', true],
    ['=acme', false],
    [':acme', false],
    ['tenant:acme, env:test', true],
    ['tenant, env:test', false],
    [Array.from({ length: 16 }, (_, n) => `k${n}:v`).join(), true],
    [Array.from({ length: 17 }, (_, n) => `k${n}:v`).join(), false],
  ])('accepts the label %j: %s', (label, isGood) => {
    expect(labelFault(label) === null).toBe(isGood)
  })

  it.each([
    ['', []],
    [' , ', []],
    ['tenant:acme', ['tenant:acme']],
    [' tenant:acme ,env:test, ', ['tenant:acme', 'env:test']],
    ['note:a, b,url:http://c', ['note:a, b', 'url:http://c']],
    ['tenant=acme, env:test, url=http://c?d=e', ['tenant:acme', 'env:test', 'url:http://c?d=e']],
  ])('splits the labels %j before each key', (text, labels) => {
    expect(labelsOf(text)).toEqual(labels)
  })
})

describe('the labels of a filter', () => {
  it('are shown as key=value, in whichever form they were typed', () => {
    expect(['tenant:acme,url=http://c', '', 'tenant'].map(shownLabels)).toEqual([
      'tenant=acme, url=http://c',
      '',
      'tenant',
    ])
  })
})

describe('the rows of a list', () => {
  it('are read page by page, and each task is shown once, where it was seen last', async () => {
    const { read, seen } = listOf(['a', 'b'], [], ['b', 'c'])
    const { items, examined, hasMore } = await readRows(100, read)
    expect([items.map(({ id }) => id), examined, hasMore]).toEqual([['a', 'b', 'c'], 15_000, false])
    expect(seen).toEqual([{ limit: 100 }, { limit: 98, cursor: '1' }, { limit: 98, cursor: '2' }])
  })

  it('end at the wanted number, and after 250 examined tasks for each', async () => {
    expect(await readRows(2, listOf(['a', 'b'], ['c']).read)).toMatchObject({ hasMore: true })
    const { read, seen } = listOf([], [], [], [], [], [], [])
    expect(await readRows(100, read)).toEqual({ items: [], examined: 25_000, hasMore: true })
    expect(seen).toHaveLength(5)
  })
})
