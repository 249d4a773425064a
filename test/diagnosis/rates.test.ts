import { describe, expect, it } from '@jest/globals'
import type { DeadGroupsBody, RunsBody } from '../../src/protocol/index.ts'
import { deadTypes, ratedTypes, withRates } from '../../src/diagnosis/index.ts'
import { attentionItem } from '../dashboard/diagnosis/items.ts'

const NONE = new Map<string, never>()
const runsOf = (part: Partial<RunsBody>): RunsBody => ({
  ts: 0,
  window_seconds: 60,
  done: 0,
  failed: 0,
  died: 0,
  workers: [],
  ...part,
})
const group = (pattern: string, count: number, diesNow: number, firstDiedAt: number) => ({
  group: '0123456789abcdef',
  pattern,
  count,
  first_died_at: firstDiedAt,
  last_died_at: 9_000,
  trend: [0, diesNow],
  workers: [],
  example: { task_id: 't', error: pattern },
})
const dead = (type: string) =>
  attentionItem({ kind: 'dead', type, subject: type, tone: 'warn', text: '50 dead tasks', count: 50 })

describe('the rates of the attention list', () => {
  it('say how many tasks died in the last minute, of what, and since when', () => {
    const groups: DeadGroupsBody = {
      complete: true,
      as_of: null,
      groups: [group('ENOTFOUND <host>', 20, 7, 8_000), group('bad magic <n>', 30, 0, 1_000)],
    }
    const [item] = withRates(
      [dead('mailer')],
      new Map([['mailer', runsOf({ died: 45 })]]),
      new Map([['mailer', groups]]),
    )
    expect(item).toMatchObject({
      tone: 'bad',
      text: '50 dead tasks, 20 of them: ENOTFOUND <host>',
      rate: '45 died in the last minute',
      since: 8_000,
    })
  })

  it('say how many are dead now if more died in the last minute', () => {
    const [item] = withRates([dead('mailer')], new Map([['mailer', runsOf({ died: 2_076 })]]), NONE)
    expect(item?.rate).toBe('2,076 died in the last minute (50 are dead now)')
  })

  it('rank tasks that die now above workers that are in ERROR, and others last', () => {
    const items = [attentionItem(), attentionItem({ kind: 'offline' }), dead('mailer'), dead('render')]
    const runs = new Map([
      ['mailer', runsOf({ died: 0 })],
      ['render', runsOf({ died: 3 })],
    ])
    expect(withRates(items, runs, NONE).map(({ kind, type, tone }) => `${kind} ${type} ${tone}`)).toEqual([
      'dead render bad',
      'error mailer bad',
      'offline mailer bad',
      'dead mailer warn',
    ])
  })

  it('count the failed runs of the workers that are in ERROR, and leave other items as they are', () => {
    const worker = (id: string) => ({ worker_id: id }) as never
    const error = attentionItem({ affected: [worker('a'), worker('b')] })
    const offline = attentionItem({ kind: 'offline' })
    const ofWorker = (id: string, failed: number) => ({ worker_id: id, failed }) as RunsBody['workers'][number]
    const runs = new Map([['mailer', runsOf({ workers: [ofWorker('a', 5), ofWorker('b', 6), ofWorker('c', 100)] })]])
    expect(withRates([error, offline], runs, NONE)).toEqual([
      { ...error, rate: '11 runs failed in the last minute' },
      offline,
    ])
    expect(withRates([error, offline], NONE, NONE)).toEqual([error, offline])
  })

  it('are read only for types with such items', () => {
    const items = [dead('render'), attentionItem(), attentionItem({ kind: 'offline', type: 'probe' })]
    expect([ratedTypes(items), deadTypes(items)]).toEqual([['mailer', 'render'], ['render']])
  })
})
