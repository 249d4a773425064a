/** Tests the logic of test/bench: exactness, gates, tables and the order of subjects. */
import { describe, expect, it } from '@jest/globals'

interface Figures {
  readonly value: number
  readonly [cost: string]: number
}
interface Gate {
  readonly subject: string
  readonly over?: string
  readonly field?: string
  readonly atLeast?: number
  readonly atMost?: number
}
interface Bench {
  readonly scale: number
  count(n: number): number
  once(key: string, work: () => unknown): unknown
}
interface Row {
  readonly id: string
  readonly level: string
  readonly title: string
  readonly unit: string
  readonly better: string
  readonly note: string
  readonly aim?: number
  readonly rounds?: number
  readonly gates?: readonly Gate[]
  readonly subjects: Readonly<Record<string, (bench: Bench) => Promise<Figures>>>
}
interface Result {
  readonly row: Row
  readonly figures: Record<string, Figures[]>
  readonly skipped: Record<string, string>
  readonly failed: Record<string, string>
}
interface Judged {
  readonly text: string
  readonly met: boolean | null
}
interface Summary {
  readonly lines: readonly {
    readonly subject: string
    readonly median: number
    readonly ratio?: number
    readonly share?: number
    readonly missing?: string
  }[]
  readonly gates: readonly Judged[]
}
interface Measured extends Summary {
  readonly measured: {
    readonly date: string
    readonly commit: string
    readonly rounds: number
    readonly calmness: string
  }
}
interface Parts {
  readonly median: (numbers: readonly number[]) => number
  readonly format: (number: number) => string
  readonly judge: (result: Result, gate: Gate) => Judged
  readonly summaryOf: (result: Result) => Summary
  readonly isSound: (summary: Summary) => boolean
  readonly tableOf: (summaries: readonly Summary[]) => readonly (readonly string[])[]
  readonly markdown: (table: readonly (readonly string[])[]) => string
  readonly pageOf: (run: { machine: readonly string[]; summaries: readonly Measured[]; notes: string }) => string
  readonly checkDelivery: (submitted: readonly string[], done: readonly string[]) => void
  readonly createBench: (settings: { scale: number; directory: string; rounds: number }) => (round: number) => Bench
  readonly runRow: (
    row: Row,
    settings: {
      benchOf: (round: number) => Bench
      rounds: number
      onFigures: (round: number, name: string) => void
      before: () => Promise<void>
    },
  ) => Promise<Result>
  Unavailable: new (message: string) => Error
  readonly distribution: (numbers: readonly number[]) => Readonly<Record<'n' | 'p50' | 'p90' | 'p99' | 'max', number>>
  readonly verdictsOf: (result: object) => readonly {
    readonly title: string
    readonly value: number | undefined
    readonly met: boolean | null | undefined
  }[]
}
/** Plain modules without types, because their imports are not installed where types are checked. */
const partsIn = async (name: string): Promise<Partial<Parts>> =>
  (await import(new URL(`../bench/${name}.mjs`, import.meta.url).href)) as Partial<Parts>
const {
  median,
  format,
  judge,
  summaryOf,
  isSound,
  tableOf,
  markdown,
  pageOf,
  checkDelivery,
  createBench,
  runRow,
  Unavailable,
} = { ...(await partsIn('report')), ...(await partsIn('load')), ...(await partsIn('run')) } as Parts
const { distribution, verdictsOf } = (await partsIn('operator/verdicts')) as Parts

const row = (rest: Partial<Row> = {}): Row => ({
  id: 'submit',
  level: 'storage',
  title: 'submit',
  unit: 'tasks/s',
  better: 'higher',
  note: 'as it is',
  subjects: {},
  ...rest,
})
const figures = (...values: readonly number[]): Figures[] => values.map((value) => ({ value }))
const measured = (found: Readonly<Record<string, Figures[]>>, rest: Partial<Row> = {}): Result => ({
  row: row({
    subjects: Object.fromEntries(Object.keys(found).map((name) => [name, async () => ({ value: 0 })])),
    ...rest,
  }),
  figures: { ...found },
  skipped: {},
  failed: {},
})

describe('bench report', () => {
  it('takes the median, which is the mean of the two middle values for an even number of rounds', () => {
    expect([median([9, 1, 5]), median([4, 1, 3, 2])]).toEqual([5, 2.5])
  })

  it('writes readable numbers', () => {
    expect([1_234_567.8, 999.4, 12.345, 0.1906, Number.NaN].map(format)).toEqual([
      '1,234,568',
      '999',
      '12.3',
      '0.191',
      '–',
    ])
  })

  it('compares values of the same round', () => {
    const result = measured({ 'Muster, Redis': figures(100, 50, 10), BullMQ: figures(20, 10, 2) })
    expect(judge(result, { subject: 'Muster, Redis', over: 'BullMQ', atLeast: 5 })).toEqual({
      text: '5 × BullMQ (≥ 5)',
      met: true,
    })
    expect(judge(result, { subject: 'Muster, Redis', over: 'BullMQ', atLeast: 5.1 })).toMatchObject({ met: false })
  })

  it('compares a count with its bound', () => {
    const result = measured({ 'Muster, Redis': [{ value: 1, innerCalls: 0.31 }] })
    expect(judge(result, { subject: 'Muster, Redis', field: 'innerCalls', atMost: 0.3 })).toEqual({
      text: 'innerCalls 0.31 (≤ 0.3)',
      met: false,
    })
  })

  it('fails a gate whose subject failed, but not one whose subject is not available', () => {
    const result = measured({ 'Muster, Redis': figures(1) })
    const gate = { subject: 'Muster, Redis', over: 'BullMQ', atLeast: 5 }
    expect([
      judge({ ...result, failed: { BullMQ: 'late' } }, gate).met,
      judge({ ...result, skipped: { BullMQ: 'not installed' } }, gate).met,
    ]).toEqual([false, null])
  })

  it('names our value next to the best peer and next to the limit', () => {
    const { lines } = summaryOf(
      measured({
        'Muster, Redis': figures(100),
        BullMQ: figures(20),
        'bee-queue': figures(40),
        'limit: HSET': figures(400),
      }),
    )
    expect(lines.map(({ ratio, share }) => [ratio, share])).toEqual([
      [2.5, 0.25],
      [undefined, undefined],
      [undefined, undefined],
      [undefined, undefined],
    ])
  })

  it('prefers the lowest value where lower is better', () => {
    const {
      lines: [ours],
    } = summaryOf(
      measured(
        { 'Muster, Redis': figures(8), BullMQ: figures(40), 'bee-queue': figures(16), 'limit: EVALSHA': figures(2) },
        { better: 'lower' },
      ),
    )
    expect(ours).toMatchObject({ ratio: 0.5, share: 0.25 })
  })

  it('is not valid with a missed gate or a failed subject', () => {
    const gates = [{ subject: 'Muster', over: 'BullMQ', atLeast: 2 }]
    const result = measured({ Muster: figures(3), BullMQ: figures(1) }, { gates })
    const lacking = { ...result, figures: { Muster: figures(3) } }
    expect([
      isSound(summaryOf(result)),
      isSound(summaryOf({ ...lacking, failed: { BullMQ: 'lost a task' } })),
      isSound(summaryOf({ ...lacking, skipped: { BullMQ: 'not installed' } })),
    ]).toEqual([true, false, true])
  })

  it('shows in the table what is missing and why', () => {
    const result = measured(
      { Muster: figures(3), 'pg-boss': figures(1) },
      { aim: 10, gates: [{ subject: 'Muster', over: 'pg-boss', atLeast: 2 }] },
    )
    expect(
      tableOf([
        summaryOf({
          ...result,
          figures: { Muster: figures(3, 5, 4) },
          skipped: { 'pg-boss': 'PostgreSQL is not installed' },
        }),
      ]).slice(1),
    ).toEqual([
      ['submit (tasks/s)', 'Muster', '4', '3 to 5', '', '', '≥ 10', 'skipped: × pg-boss ≥ 2: not measured'],
      ['', 'pg-boss', 'skipped: PostgreSQL is not installed', '', '', '', '', ''],
    ])
  })

  it('writes valid Markdown tables', () => {
    expect(
      markdown([
        ['a', 'b'],
        ['x|y', ''],
      ]),
    ).toBe('| a | b |\n|---|---|\n| x\\|y |  |')
  })

  it('ends the page with the notes', () => {
    const run = { date: '2026-11-22', commit: 'abc', rounds: 3, calmness: 'calm' }
    const page = pageOf({
      machine: ['2 processors'],
      summaries: [{ ...summaryOf(measured({ Muster: figures(3) })), measured: run }],
      notes: '## Missed, and why\n\nNothing.\n',
    })
    expect(page).toContain('- 2 processors\n')
    expect(page).toContain('- **submit**: as it is. Measured 2026-11-22 (abc) in 3 rounds; calm.\n')
    expect(page.endsWith('## Missed, and why\n\nNothing.\n')).toBe(true)
  })
})

describe('bench delivery', () => {
  it('is exact when each ID was done once, in any order', () => {
    expect(() => checkDelivery(['a', 'b'], ['b', 'a'])).not.toThrow()
  })

  it.each([
    ['a lost one', ['a', 'b'], ['a'], '1 lost, 0 doubled, 0 unknown'],
    ['a doubled one', ['a', 'b'], ['a', 'b', 'a'], '0 lost, 1 doubled, 0 unknown'],
    ['an unsubmitted one', ['a'], ['a', 'c'], '0 lost, 0 doubled, 1 unknown'],
    ['an id that was given twice', ['a', 'a'], ['a', 'a'], '1 ids were given twice'],
  ])('is not exact with %s', (_, submitted, done, words) => {
    expect(() => checkDelivery(submitted, done)).toThrow(words)
  })
})

describe('bench run', () => {
  const benchOf = createBench({ scale: 0.5, directory: '', rounds: 2 })

  it('alternates subjects, continues after a failed one, and distinguishes it from an unavailable one', async () => {
    const order: string[] = []
    const subjects = {
      A: async () => ({ value: 1 }),
      B: async () => Promise.reject(new Error('lost a task')),
      C: async () => Promise.reject(new Unavailable('not installed')),
      D: async () => ({ value: 2 }),
    }
    const result = await runRow(row({ subjects }), {
      benchOf,
      rounds: 2,
      onFigures: (round, name) => order.push(`${name}${round}`),
      before: async () => undefined,
    })
    expect(order).toEqual(['A1', 'B1', 'C1', 'D1', 'A2', 'D2'])
    expect(result).toMatchObject({
      figures: { A: figures(1, 1), D: figures(2, 2) },
      failed: { B: 'lost a task' },
      skipped: { C: 'not installed' },
    })
  })

  it('runs a row only as often as its time is worth', async () => {
    const result = await runRow(row({ rounds: 1, subjects: { A: async () => ({ value: 1 }) } }), {
      benchOf,
      rounds: 2,
      onFigures: () => undefined,
      before: async () => undefined,
    })
    expect(result.figures).toEqual({ A: figures(1) })
  })

  it('measures once per round what several rows share', () => {
    let made = 0
    const measure = (round: number): unknown => benchOf(round).once('life', () => (made += 1))
    expect([measure(1), measure(1), measure(2)]).toEqual([1, 1, 2])
  })

  it('scales counts, rounded to thousands', () => {
    expect([benchOf(1).count(30_000), benchOf(1).count(500)]).toEqual([15_000, 1_000])
  })
})

describe('the measurement of the operator', () => {
  it('calculates percentiles by nearest rank', () => {
    expect(distribution(Array.from({ length: 200 }, (_, at) => 200 - at))).toEqual({
      n: 200,
      p50: 100,
      p90: 180,
      p99: 198,
      max: 200,
    })
    expect(distribution([7])).toEqual({ n: 1, p50: 7, p90: 7, p99: 7, max: 7 })
  })

  it('compares values with the gates, and lists what was not measured', () => {
    const metOf = (measuredFigures: object, loops = {}): Map<string, unknown> =>
      new Map(verdictsOf({ figures: measuredFigures, loops }).map(({ title, met }) => [title, met]))
    const met = metOf(
      {
        cold: { classifiedSeconds: 15, statusesSeconds: 119.9, inForceSeconds: 500 },
        restart: { patches: 0, statusWrites: 1 },
      },
      { cold: { cpuMs: 49, wallMs: 200 }, restart: { cpuMs: 20, wallMs: 20 } },
    )
    expect(met.get('cold start: all are judged')).toBe(false)
    expect(met.get('cold start: all first statuses are written')).toBe(true)
    expect(met.get('cold start: all are in force, and their statuses say so')).toBeNull()
    expect(met.get('warm restart, nothing changed: PATCHes')).toBe(true)
    expect(met.get('warm restart, nothing changed: status writes')).toBe(false)
    expect(met.get('longest block of the event loop, its own processor time')).toBe(true)
    expect(met.get('master unavailable: calls to it')).toBeUndefined()
  })
})
