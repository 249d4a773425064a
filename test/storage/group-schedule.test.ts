/** Checks the rules of groups against literal cases, and that a schedule can undo what a transaction changed. */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { GroupSchedule, isGroupFull, rateStart, tatAfterStart } from '../../src/storage/index.ts'
import type { GroupPolicy } from '../../src/storage/index.ts'

describe('the rate of a group', () => {
  it.each([
    { title: 'permits the first start at any time', rate: [100, 1], tat: 0, startMs: 0 },
    { title: 'permits the next start after one interval', rate: [100, 1], tat: 5_100, startMs: 5_100 },
    { title: 'permits a burst before', rate: [100, 3], tat: 5_300, startMs: 5_100 },
    { title: 'rounds up to a whole millisecond', rate: [1_000 / 3, 1], tat: 5_000 + 1_000 / 3, startMs: 5_334 },
  ] as const)('$title', ({ rate: [intervalMs, burst], tat, startMs }) => {
    expect(Math.max(0, rateStart({ intervalMs, burst }, tat))).toBe(startMs)
  })

  it.each([
    { title: 'counts a start from now on', tat: 0, tatAfter: 1_100 },
    { title: 'counts a start within a burst behind the others', tat: 1_200, tatAfter: 1_300 },
    { title: 'does not make up for time without a start', tat: 900, tatAfter: 1_100 },
  ])('$title', ({ tat, tatAfter }) => {
    expect(tatAfterStart({ intervalMs: 100, burst: 3 }, tat, 1_000)).toBe(tatAfter)
  })
})

it.each([
  [null, 10_000, false],
  [2, 1, false],
  [2, 2, true],
  [2, 3, true],
] as const)('a group of at most %s leases with %s is full: %s', (maxInFlight, inFlight, isFull) => {
  expect(isGroupFull({ maxInFlight, rate: null }, inFlight)).toBe(isFull)
})

// ── Schedules ───────────────────────────────────────────────────────────────────────────────────────────────────────

const NAMES = ['', 'a', 'b', 'c', '🦊'] as const
const POLICIES: readonly GroupPolicy[] = [
  { maxInFlight: null, rate: null },
  { maxInFlight: 1, rate: null },
  { maxInFlight: null, rate: { intervalMs: 40, burst: 2 } },
  { maxInFlight: 3, rate: { intervalMs: 70 / 3, burst: 1 } },
]
const [PLAIN] = POLICIES as [GroupPolicy]

/** A step that either schedule can take. */
const step = fc.record({
  act: fc.constantFrom('add', 'add', 'add', 'remove', 'lease', 'lease', 'lease', 'end', 'end', 'policy'),
  name: fc.constantFrom(...NAMES),
  policy: fc.constantFrom(...POLICIES),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const rowOf = (schedule: GroupSchedule, name: string, nowMs: number): { pending: number; inFlight: number } =>
  schedule.rows(100, nowMs).find(({ group }) => (group ?? '') === name) ?? { pending: 0, inFlight: 0 }

function take(schedule: GroupSchedule, { act, name, policy }: Step, nowMs: number): void {
  const { pending, inFlight } = rowOf(schedule, name, nowMs)
  const first = act === 'lease' ? schedule.first(nowMs) : undefined
  if (act === 'add') schedule.add(name, nowMs)
  else if (act === 'remove' && pending > 0) schedule.remove(name, nowMs)
  else if (act === 'end' && inFlight > 0) schedule.endLease(name, nowMs)
  else if (act === 'policy') schedule.setPolicy(policy, nowMs)
  else if (first !== undefined) schedule.lease(first, nowMs)
}

/** What it would lease at this time, and what it shows. Changes nothing. */
function view(schedule: GroupSchedule, nowMs: number): unknown {
  const rows = schedule.rows(100, nowMs)
  const totals = schedule.totals(nowMs)
  const nextStartAtMs = schedule.nextStartAtMs(nowMs)
  const order: string[] = []
  schedule.begin()
  for (let name = schedule.first(nowMs); name !== undefined; name = schedule.first(nowMs)) {
    order.push(name)
    schedule.lease(name, nowMs)
  }
  schedule.restore()
  expect(totals).toEqual({
    ready: new Set(order).size,
    waiting: rows.filter((row) => row.nextStartAtMs !== null).length,
    inFlight: rows.filter(({ inFlight }) => inFlight > 0).length,
  })
  return { rows, totals, nextStartAtMs, order, tats: new Map(schedule.tats(nowMs)) }
}

describe('GroupSchedule', () => {
  it('is after a rollback as it was before the transaction', () => {
    const transaction = fc.record({
      isKept: fc.boolean(),
      ms: fc.constantFrom(0, 1, 10, 50),
      steps: fc.array(step, { maxLength: 12 }),
    })
    fc.assert(
      fc.property(fc.array(transaction, { maxLength: 25 }), (transactions) => {
        let nowMs = 1_000
        const [changed, expected] = [0, 1].map(() => new GroupSchedule(PLAIN, [], [], nowMs)) as [
          GroupSchedule,
          GroupSchedule,
        ]
        for (const { isKept, ms, steps } of transactions) {
          nowMs += ms
          changed.begin()
          for (const each of steps) take(changed, each, nowMs)
          if (isKept) for (const each of steps) take(expected, each, nowMs)
          else changed.restore()
          expect(view(changed, nowMs)).toEqual(view(expected, nowMs))
        }
      }),
      { numRuns: 500 },
    )
  })

  it('lets a group join a round that was looked at, and has not begun', () => {
    const schedule = new GroupSchedule(PLAIN, [], [], 0)
    schedule.add('b', 0)
    expect(schedule.first(0)).toBe('b')
    schedule.add('a', 0)
    expect(schedule.first(0)).toBe('a')
  })

  it('continues from the counts and the times of an earlier one', () => {
    const policy: GroupPolicy = { maxInFlight: 2, rate: { intervalMs: 100, burst: 2 } }
    const first = new GroupSchedule(policy, [], [], 0)
    for (const name of ['a', 'a', 'a', 'b']) first.add(name, 0)
    for (let i = 0; i < 3; i += 1) first.lease(first.first(0) ?? '', 0)
    first.endLease('a', 0)
    const counts = [
      { name: 'a', pending: 1, inFlight: 0 },
      { name: 'a', pending: 0, inFlight: 1 },
      { name: 'b', pending: 0, inFlight: 1 },
    ]
    const second = new GroupSchedule(policy, counts, first.tats(0), 0)
    expect(second.rows(10, 0)).toEqual(first.rows(10, 0))
    expect([second.first(99), second.first(100)]).toEqual([undefined, 'a'])
  })

  it('reports the times of rates that a transaction changed', () => {
    const schedule = new GroupSchedule({ maxInFlight: null, rate: { intervalMs: 100, burst: 5 } }, [], [], 0)
    for (const name of ['a', 'a', 'b']) schedule.add(name, 0)
    schedule.lease('a', 0)
    schedule.begin()
    schedule.first(10)
    schedule.lease('b', 10)
    schedule.add('c', 10)
    expect([...schedule.changedTats()]).toEqual([['b', 110]])
    schedule.begin()
    expect([...schedule.changedTats()]).toEqual([])
  })

  it('forgets groups without tasks, but not while their rate is used', () => {
    const schedule = new GroupSchedule({ maxInFlight: null, rate: { intervalMs: 1_000, burst: 1 } }, [], [], 0)
    const runs = (from: number, to: number, nowMs: number): void => {
      for (let i = from; i < to; i += 1) {
        schedule.add(`g${i}`, nowMs)
        schedule.lease(schedule.first(nowMs) ?? '', nowMs)
        schedule.endLease(`g${i}`, nowMs)
      }
    }
    runs(0, 500, 0)
    expect([...schedule.tats(0)]).toHaveLength(500)
    runs(500, 2_000, 5_000)
    expect([...schedule.tats(0)].length).toBeLessThan(2_000)
    schedule.add('g1999', 5_000)
    expect(schedule.first(5_000)).toBeUndefined()
    expect(schedule.nextStartAtMs(5_000)).toBe(6_000)
  })
})
