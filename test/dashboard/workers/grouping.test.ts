// Groups of the list of workers.
import { describe, expect, it } from '@jest/globals'
import {
  groupFacts,
  groupLayout,
  GroupRow,
  keyOfListRow,
  listRows,
  type Grouping,
} from '../../../src/dashboard/workers/grouping.ts'
import { keyOf } from '../../../src/dashboard/workers/row.ts'
import { NOW, row } from './rows.ts'

const timeout = (ms: number) => ({ state: 'ERROR' as const, last_error: `ETIMEDOUT after ${ms} ms` })
const FLEET = [
  row('run-1'),
  row('run-2', { last_error: 'ETIMEDOUT after 90 ms', hardware: { hostname: 'node-9' } }),
  row('err-1', timeout(10)),
  row('err-2', timeout(20)),
  row('err-3', { ...timeout(20), automation_type: 'probe' }),
  row('auth', { state: 'ERROR', last_error: '535 authentication failed', config_gen: 3, applied_config_gen: 2 }),
  row('off', { connected: false, hardware: { hostname: '' } }),
]
const ROWS = new Map(FLEET.map((each) => [keyOf(each), each]))
const groups = (by: Grouping): GroupRow[] =>
  listRows(groupLayout(FLEET, by, NOW), ROWS, new Set()).filter((each) => each instanceof GroupRow)

describe('groups of workers', () => {
  it('by error differ in more than numbers, show the most frequent one, and begin with the worst', () => {
    expect(groups('error').map(({ title, rows }) => [title, rows.length])).toEqual([
      ['ETIMEDOUT after 20 ms', 4],
      ['535 authentication failed', 1],
      ['No last error', 2],
    ])
  })

  it('by host, generation and type show the error that most of their failing workers have', () => {
    const shown = (by: Grouping) =>
      groups(by).map((group) => [group.title, group.rows.length, groupFacts(group, NOW).reason])
    expect(shown('host')).toEqual([
      ['node-12', 5, 'ETIMEDOUT after 20 ms'],
      ['Unknown host', 1, null],
      ['node-9', 1, null],
    ])
    expect(shown('generation')).toEqual([
      ['Generation 1', 6, 'ETIMEDOUT after 20 ms'],
      ['Generation 3 (2 applied)', 1, '535 authentication failed'],
    ])
    expect(shown('type')).toEqual([
      ['mailer', 6, 'ETIMEDOUT after 10 ms'],
      ['probe', 1, 'ETIMEDOUT after 20 ms'],
    ])
  })

  it('count their workers by state', () => {
    const [first] = groups('error')
    expect(first && groupFacts(first, NOW)).toEqual({
      count: '4 workers',
      states: [
        { word: 'ERROR', count: 3 },
        { word: 'RUNNING', count: 1 },
      ],
      reason: null,
    })
  })

  it('open to their workers, in the order of the list, and without those that are forgotten', () => {
    const layout = groupLayout(FLEET, 'type', NOW)
    const left = new Map(ROWS)
    left.delete('mailer/err-1')
    left.delete('probe/err-3')
    expect(listRows(layout, left, new Set(['type mailer'])).map(keyOfListRow)).toEqual([
      'group type mailer',
      'mailer/run-1',
      'mailer/run-2',
      'mailer/err-2',
      'mailer/auth',
      'mailer/off',
    ])
  })
})
