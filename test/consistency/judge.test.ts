/** Shows that each model of the judge accepts good histories and rejects bad ones, before a run relies on it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { History, type ArgsOf, type Operation, type ResultOf } from '../kit/history.ts'
import { buildJudge, judge, withGo, type Verdict } from './judge.ts'

const SECOND_NS = 1_000_000_000
const HOUR_MS = 3_600_000

/** One call: it starts and ends at these seconds. Without a result it is unknown. */
type Timed = {
  [O in Operation]: readonly [
    fromSeconds: number,
    toSeconds: number,
    operation: O,
    args: ArgsOf<O>,
    result?: ResultOf<O> | undefined,
  ]
}[Operation]

const key = 'n/k'

/** Writes the lines of the recorder, in the order of time. */
async function recorded(calls: readonly Timed[], file: string): Promise<void> {
  let nowNs = 0
  const lines: string[] = []
  const history = new History(
    (line) => lines.push(line),
    () => nowNs,
  )
  const ends: { readonly atNs: number; readonly end: () => void }[] = []
  const pending: Promise<unknown>[] = []
  const endUntil = async (atNs: number): Promise<void> => {
    for (const each of ends.toSorted((a, b) => a.atNs - b.atNs)) {
      if (each.atNs > atNs) continue
      nowNs = each.atNs
      each.end()
      ends.splice(ends.indexOf(each), 1)
      await new Promise(setImmediate)
    }
  }
  for (const [from, to, operation, args, result] of calls.toSorted((a, b) => a[0] - b[0])) {
    await endUntil(from * SECOND_NS)
    nowNs = from * SECOND_NS
    const replied = new Promise<never>((resolve) => {
      if (result !== undefined) ends.push({ atNs: to * SECOND_NS, end: () => resolve(result as never) })
    })
    pending.push(history.call('c', operation, args, () => replied))
  }
  await endUntil(Infinity)
  writeFileSync(file, `${lines.join('\n')}\n`)
}

const set = (from: number, to: number, value: string, ttlMs: number | null = null): Timed => [
  from,
  to,
  'kv_set',
  { key, value, ttlMs },
  null,
]
const get = (from: number, to: number, value: string | null): Timed => [from, to, 'kv_get', { key }, value]
const acquire = (from: number, to: number, token: number | null, holdMs = HOUR_MS): Timed => [
  from,
  to,
  'lock_acquire',
  { key, holdMs },
  token,
]
const release = (from: number, to: number, token: number, result = true): Timed => [
  from,
  to,
  'lock_release',
  { key, token },
  result,
]
const add = (from: number, to: number, delta: number, sum?: number): Timed => [
  from,
  to,
  'counter_add',
  { key, delta },
  sum,
]
const register: Timed = [0, 1, 'config_register', { key, config: 'a' }, null]
const put = (from: number, to: number, expectGen: number, config: string, gen?: number | null): Timed => [
  from,
  to,
  'config_put',
  { key, expectGen, config },
  gen,
]
const row = (from: number, to: number, gen: number, config: string): Timed => [
  from,
  to,
  'config_get',
  { key },
  { gen, config },
]
const raise = (from: number, to: number, above: number, gen: number): Timed => [
  from,
  to,
  'config_raise',
  { key, above },
  gen,
]
const submit: Timed = [0, 1, 'task_submit', { key }, null]
const reserve = (from: number, to: number, token: number): Timed => [
  from,
  to,
  'task_reserve',
  { type: 'n', limit: 1 },
  [{ id: 'k', token }],
]
const ack = (from: number, to: number, token: number, result: 'ok' | 'lease_lost'): Timed => [
  from,
  to,
  'task_ack',
  { key, token },
  result,
]
const cancel = (from: number, to: number, result?: 'cancelled' | 'not_found'): Timed =>
  result === undefined ? [from, to, 'task_cancel', { key }] : [from, to, 'task_cancel', { key }, result]
const keep = (from: number, to: number, id: string, other?: string | null): Timed => [
  from,
  to,
  'unique_keep',
  { key, value: id },
  other,
]
const replace = (from: number, to: number, id: string, other: string | null): Timed => [
  from,
  to,
  'unique_replace',
  { key, value: id },
  other,
]
const cancelUnique = (from: number, to: number, id: string, result: 'cancelled' | 'not_found'): Timed => [
  from,
  to,
  'unique_cancel',
  { key, value: id },
  result,
]
const locate = (from: number, to: number, place: string | null): Timed => [from, to, 'task_locate', { key }, place]

const GOOD: Readonly<Record<string, readonly Timed[]>> = {
  'a read concurrent with a set returns the old or the new value': [
    set(0, 1, 'a'),
    set(2, 6, 'b'),
    get(3, 4, 'a'),
    get(4.5, 5, 'b'),
  ],
  'a set without a reply may act late': [
    set(0, 1, 'a'),
    [2, 3, 'kv_set', { key, value: 'b', ttlMs: null }],
    get(4, 5, 'a'),
    get(6, 7, 'b'),
  ],
  'a set without a reply may never act': [[0, 1, 'kv_set', { key, value: 'b', ttlMs: null }], get(4, 5, null)],
  'a value ends after its time to live': [set(0, 1, 'a', 1_000), get(1.5, 1.9, 'a'), get(1.95, 2.1, null)],
  'a deleted value is gone': [set(0, 1, 'a'), [2, 3, 'kv_delete', { key }, true], get(4, 5, null)],
  'a lock passes on after its release': [acquire(0, 1, 7), acquire(2, 3, null), release(4, 5, 7), acquire(6, 7, 8)],
  'a lock passes on after the end of its hold': [acquire(0, 1, 7, 1_000), acquire(2.2, 3, 9), release(4, 5, 7, false)],
  'a lock may be held by an acquire without a reply': [
    [0, 1, 'lock_acquire', { key, holdMs: HOUR_MS }],
    acquire(2, 3, null),
  ],
  'a raise that was sent twice acts before and after a change': [
    register,
    raise(2, 9, 1, 3),
    row(3, 4, 2, 'a'),
    put(5, 6, 2, 'b', 3),
    row(7, 8, 3, 'b'),
  ],
  'a unique key names one task until it is cancelled or replaced': [
    keep(0, 1, 'a', null),
    keep(2, 3, 'b', 'a'),
    replace(4, 5, 'c', 'a'),
    cancelUnique(6, 7, 'a', 'not_found'),
    cancelUnique(8, 9, 'c', 'cancelled'),
    keep(10, 11, 'd', null),
  ],
  'a task without a reply may have the unique key later': [
    keep(0, 1, 'a'),
    keep(2, 3, 'b', null),
    cancelUnique(4, 5, 'b', 'cancelled'),
    keep(6, 7, 'c', 'a'),
  ],
  'a recovery finds an earlier task of a unique key': [
    keep(0, 1, 'a', null),
    replace(2, 3, 'b', 'a'),
    [4, 5, 'unique_recover', { key, value: 'r' }, 'a'],
    keep(6, 7, 'c', 'a'),
  ],
  'an extended lock is held longer': [
    acquire(0, 0.1, 7, 1_000),
    [0.2, 0.3, 'lock_extend', { key, token: 7, holdMs: HOUR_MS }, true],
    acquire(5, 6, null),
  ],
  'an addition without a reply may count': [add(0, 1, 1, 1), add(2, 3, 1), add(4, 5, 1, 3)],
  'an addition without a reply may not count': [add(0, 1, 1, 1), add(2, 3, 1), add(4, 5, 1, 2)],
  'one of two concurrent config changes conflicts': [
    register,
    put(2, 5, 0, 'b', 1),
    put(3, 4, 0, 'c', null),
    row(6, 7, 1, 'b'),
  ],
  'a config change without a reply may be stored': [
    register,
    put(2, 3, 0, 'b'),
    put(4, 5, 0, 'c', null),
    row(6, 7, 1, 'b'),
  ],
  'a task is leased, released, leased again and acked': [
    submit,
    reserve(2, 3, 5),
    [4, 5, 'task_release', { key, token: 5 }, 'ok'],
    reserve(6, 7, 6),
    ack(8, 9, 5, 'lease_lost'),
    ack(8, 9, 6, 'ok'),
    ack(10, 11, 6, 'ok'),
    locate(12, 13, null),
  ],
  'a task is cancelled during its lease': [
    submit,
    reserve(2, 3, 5),
    cancel(4, 5, 'cancelled'),
    ack(6, 7, 5, 'lease_lost'),
    cancel(8, 9, 'not_found'),
    locate(10, 11, null),
  ],
  'a cancel without a reply may act later': [submit, cancel(2, 3), reserve(4, 5, 5), ack(6, 7, 5, 'lease_lost')],
  'a reserve without a reply may have leased a task': [
    submit,
    [2, 3, 'task_reserve', { type: 'n', limit: 1 }],
    locate(4, 5, 'in_flight'),
    reserve(6, 7, 9),
  ],
  'a recovery finds a prefix': [
    add(0, 1, 1, 1),
    add(2, 3, 1, 2),
    add(4, 5, 1, 3),
    [6, 7, 'counter_recover', { key }, 2],
    add(8, 9, 1, 3),
  ],
  'a recovery finds a lock held under an older token': [
    acquire(0, 1, 7),
    release(2, 3, 7),
    acquire(4, 5, 8),
    [6, 7, 'lock_recover', { key, holdMs: HOUR_MS }, null],
    release(8, 9, 8, false),
    release(10, 11, 7),
  ],
  'a recovery finds no task, which was acked and then never submitted': [
    submit,
    reserve(2, 3, 5),
    ack(4, 5, 5, 'ok'),
    [6, 7, 'task_recover', { key }, null],
    ack(8, 9, 5, 'lease_lost'),
  ],
  'a recovery finds a lock free that was held': [
    acquire(0, 1, 7),
    [2, 3, 'lock_recover', { key, holdMs: HOUR_MS }, 9],
    release(4, 5, 7, false),
  ],
}

const BAD: Readonly<Record<string, readonly Timed[]>> = {
  'a stale read': [set(0, 1, 'a'), set(2, 3, 'b'), get(4, 5, 'a')],
  'a value that comes back': [set(0, 1, 'a'), set(2, 9, 'b'), get(3, 4, 'b'), get(5, 6, 'a')],
  'a lost set': [set(0, 1, 'a'), get(2, 3, null)],
  'a set without a reply that acts twice': [
    set(0, 1, 'a'),
    [2, 3, 'kv_set', { key, value: 'b', ttlMs: null }],
    get(4, 5, 'b'),
    set(6, 7, 'c'),
    get(8, 9, 'b'),
  ],
  'a value that ends early': [set(0, 1, 'a', 5_000), get(2, 3, null)],
  'a value that ends late': [set(0, 1, 'a', 1_000), get(2.5, 3, 'a')],
  'two holders of a lock': [acquire(0, 1, 7), acquire(2, 3, 8)],
  'a lock that is held after its release': [acquire(0, 1, 7), release(2, 3, 7), acquire(4, 5, null)],
  'a token that comes twice': [acquire(0, 1, 7), release(2, 3, 7), acquire(4, 5, 7)],
  'a release with an old token': [acquire(0, 1, 7, 1_000), acquire(3, 4, 8), release(5, 6, 7)],
  'a lost addition': [add(0, 1, 1, 1), add(2, 3, 1, 1)],
  'an addition that counts twice': [add(0, 1, 1, 1), add(2, 3, 1, 3)],
  'a lost update of a config': [register, put(2, 5, 0, 'b', 1), put(3, 4, 0, 'c', 1)],
  'a config that falls back': [register, put(2, 3, 0, 'b', 1), row(4, 5, 0, 'a')],
  'a task with two leases': [submit, reserve(2, 3, 5), reserve(4, 5, 6)],
  'a task that is delivered after its ack': [submit, reserve(2, 3, 5), ack(4, 5, 5, 'ok'), reserve(6, 7, 6)],
  'a raise that acts twice after its end': [register, raise(2, 3, 1, 2), put(5, 6, 2, 'b', 3), row(7, 8, 4, 'b')],
  'a raise that was sent twice and acts before its start': [register, row(2, 3, 2, 'a'), raise(4, 5, 1, 2)],
  'an ack with an old token': [
    submit,
    reserve(2, 3, 5),
    [4, 5, 'task_release', { key, token: 5 }, 'ok'],
    reserve(6, 7, 6),
    ack(8, 9, 5, 'ok'),
  ],
  'a task that is delivered after its cancel': [submit, cancel(2, 3, 'cancelled'), reserve(4, 5, 5)],
  'an ack after a cancel': [submit, reserve(2, 3, 5), cancel(4, 5, 'cancelled'), ack(6, 7, 5, 'ok')],
  'a cancel that does not find its task': [submit, cancel(2, 3, 'not_found')],
  'two tasks with one unique key': [keep(0, 1, 'a', null), keep(2, 3, 'b', null)],
  'a unique key of a cancelled task': [
    keep(0, 1, 'a', null),
    cancelUnique(2, 3, 'a', 'cancelled'),
    keep(4, 5, 'b', 'a'),
  ],
  'a task that is replaced twice': [keep(0, 1, 'a', null), replace(2, 3, 'b', 'a'), replace(4, 5, 'c', 'a')],
  'a recovery that finds a task that never had the unique key': [
    keep(0, 1, 'a', null),
    keep(2, 3, 'b', 'a'),
    [4, 5, 'unique_recover', { key, value: 'r' }, 'b'],
  ],
  'a lost task': [submit, locate(2, 3, null)],
  'a smaller token': [submit, reserve(2, 3, 5), [4, 5, 'task_release', { key, token: 5 }, 'ok'], reserve(6, 7, 4)],
  'a recovery that finds what never was': [add(0, 1, 2, 2), add(2, 3, 2, 4), [6, 7, 'counter_recover', { key }, 3]],
  // Their orders are 479 million, and the last value of each set of them 24,576.
  'a recovery that finds none of 12 concurrent changes': [
    ...Array.from({ length: 12 }, (_, i) => set(0, 1, `${i}`)),
    [2, 3, 'kv_recover', { key }, 'none of them'],
  ],
  'a read of a lost value after the recovery': [
    set(0, 1, 'a'),
    set(2, 3, 'b'),
    [4, 5, 'kv_recover', { key }, 'a'],
    get(6, 7, 'b'),
  ],
  'a task token that is used again after a loss': [
    submit,
    reserve(2, 3, 5),
    [4, 5, 'task_recover', { key }, 'pending'],
    reserve(6, 7, 5),
  ],
  'a token that is used again after a loss': [acquire(0, 1, 7), [2, 3, 'lock_recover', { key, holdMs: HOUR_MS }, 7]],
}

withGo('the judge of histories', () => {
  describe('the judge of histories', () => {
    let program = ''
    const folder = temporaryFolder()
    const judged = async (calls: readonly Timed[]): Promise<Verdict> => {
      const file = join(folder, 'history.jsonl')
      await recorded(calls, file)
      return judge(program, [file])
    }

    beforeAll(() => void (program = buildJudge(folder)), 300_000)

    it.each(Object.entries(GOOD))('accepts: %s', async (_, calls) => {
      expect(await judged(calls)).toMatchObject({ violations: [], undecided: [], calls: calls.length })
    })

    it.each(Object.entries(BAD))('rejects: %s', async (_, calls) => {
      const { violations } = await judged(calls)
      expect(violations).toHaveLength(1)
      expect(violations[0]?.calls?.length).toBeGreaterThan(0)
    })

    it('leaves out calls of a counterexample that came later, and reads that it does not need', async () => {
      const { violations } = await judged([
        set(0, 1, 'a'),
        get(2, 3, 'a'),
        get(4, 5, 'b'),
        set(6, 7, 'c'),
        get(8, 9, 'c'),
      ])
      expect(violations[0]?.calls).toMatchObject([{ operation: 'kv_set' }, { operation: 'kv_get', result: 'b' }])
    })

    it('counts the acknowledged changes that a recovery did not find', async () => {
      const calls: readonly Timed[] = [1, 2, 3, 4, 5].map((sum) => add(2 * sum, 2 * sum + 1, 1, sum))
      const { lost, cuts } = await judged([...calls, [20, 21, 'counter_recover', { key }, 3]])
      expect(lost).toEqual({ counter: 2 })
      expect(cuts).toEqual([
        {
          key: 'counter n/k',
          recoveredNs: 21 * SECOND_NS,
          keptStartNs: 6 * SECOND_NS,
          lostEndNs: 9 * SECOND_NS,
          lost: 2,
        },
      ])
    })

    it('counts no change as lost that a call without a reply may have replaced', async () => {
      const late: Timed = [0, 1, 'kv_set', { key, value: 'late', ttlMs: null }, undefined]
      const { violations, cuts } = await judged([late, set(2, 3, 'a'), [20, 21, 'kv_recover', { key }, 'late']])
      expect(violations).toEqual([])
      expect(cuts).toMatchObject([{ lostEndNs: 0, lost: 0 }])
    })
  })
})
