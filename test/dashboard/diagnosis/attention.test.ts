import { describe, expect, it } from '@jest/globals'
import type { OverviewBody, OverviewRollout } from '../../../src/protocol/index.ts'
import { attentionOf, worstTone, type Attention } from '../../../src/dashboard/diagnosis/attention.ts'
import { ErrorPatience } from '../../../src/diagnosis/index.ts'
import { fleetSummaryText } from '../../../src/dashboard/diagnosis/summary-text.ts'
import type { WorkerFacts } from '../../../src/diagnosis/index.ts'

const NOW = 10_000
type TypeOverview = OverviewBody['automations'][string]
const workersOf = (part: object = {}): TypeOverview['workers'] => ({
  total: 2,
  connected: 2,
  behind: 0,
  IDLE: 0,
  RUNNING: 2,
  ERROR: 0,
  DRAINING: 0,
  ...part,
})
const queueOf = (part: object = {}): TypeOverview['queue'] => ({
  high: 0,
  normal: 0,
  low: 0,
  in_flight: 0,
  scheduled: 0,
  dead: 0,
  oldest_submitted_at: null,
  ...part,
})
const overviewOf = (types: Readonly<Record<string, Partial<TypeOverview>>>): OverviewBody => ({
  ts: NOW,
  automations: Object.fromEntries(
    Object.entries(types).map(([type, part]) => [
      type,
      { kind: 'BatchAutomation', workers: workersOf(), slots: 4, queue: queueOf(), stream: { length: 0 }, ...part },
    ]),
  ),
})
const worker = (part: Partial<WorkerFacts> = {}): WorkerFacts => ({
  worker_id: 'm-7',
  automation_type: 'mailer',
  connected: true,
  state: 'RUNNING',
  state_since: NOW - 300,
  draining: false,
  last_error: null,
  config: { enabled: true, slots: 2 },
  config_gen: 14,
  applied_config_gen: 14,
  config_changed_at: NOW - 240,
  config_changed_by: null,
  current_stats: null,
  ...part,
})
const problemsOf = (overview: OverviewBody, workers: readonly WorkerFacts[] | null = null) =>
  attentionOf({ overview, workers, nowSeconds: NOW })

describe('the headline', () => {
  it.each<[readonly Attention['tone'][], string | undefined]>([
    [[], undefined],
    [['offline'], 'offline'],
    [['offline', 'warn'], 'warn'],
    [['warn', 'offline', 'bad'], 'bad'],
  ])('has the colour of the worst item: %j', (tones, worst) => {
    expect(worstTone(tones.map((tone) => ({ tone }) as Attention))).toBe(worst)
  })
})

describe('what needs attention', () => {
  it('is an empty list for a healthy fleet', () => {
    const overview = overviewOf({ mailer: {}, render: {} })
    expect(problemsOf(overview)).toEqual([])
    expect(fleetSummaryText(overview, [])).toBe('All 4 workers are connected and up to date.')
    expect(
      fleetSummaryText(overviewOf({ mailer: { workers: workersOf({ total: 0, connected: 0, RUNNING: 0 }) } }), []),
    ).toBe('No worker has registered yet.')
  })

  it('comes from the counts of the overview while no worker record is loaded', () => {
    const overview = overviewOf({ mailer: { workers: workersOf({ total: 5, connected: 2, behind: 2, ERROR: 1 }) } })
    expect(problemsOf(overview).map(({ kind, count, since }) => [kind, count, since])).toEqual([
      ['error', 1, null],
      ['offline', 3, null],
      ['behind', 2, null],
    ])
    expect(fleetSummaryText(overview, problemsOf(overview))).toBe(
      'Attention: 1 worker is in ERROR and 3 workers are offline, and more.',
    )
  })

  it('names a single worker and the start of its problem', () => {
    const [item] = problemsOf(overviewOf({ mailer: {} }), [
      worker(),
      worker({ worker_id: 'm-8', applied_config_gen: 12 }),
    ])
    expect(item).toMatchObject({
      kind: 'behind',
      subject: 'mailer/m-8',
      text: 'config generation 14 saved, 12 applied',
      since: NOW - 240,
      link: { href: '#/workers/mailer/m-8' },
    })
  })

  it('ignores workers that are offline or behind for less than a minute', () => {
    const young = [
      worker({ connected: false, state_since: NOW - 59 }),
      worker({ applied_config_gen: 1, config_changed_at: NOW - 59 }),
    ]
    expect(problemsOf(overviewOf({ mailer: {} }), young)).toEqual([])
  })

  it('groups many workers with the same problem into one item', () => {
    const gone = Array.from({ length: 1_000 }, (_, n) =>
      worker({ worker_id: `m-${n}`, connected: false, state_since: NOW - 100 - n }),
    )
    expect(problemsOf(overviewOf({ mailer: {} }), gone)).toEqual([
      expect.objectContaining({ kind: 'offline', subject: 'mailer', count: 1_000, since: NOW - 1_099 }),
    ])
  })

  it('names the reason of a group, and what a person can do about an item', () => {
    const refused = (id: number) =>
      worker({ worker_id: `e-${id}`, state: 'ERROR', last_error: 'connect ECONNREFUSED 10.0.0.7:25' })
    const of = (workers: readonly WorkerFacts[]) =>
      problemsOf(overviewOf({ mailer: {} }), workers).map(({ item, subject, text, act, mark }) => [
        item,
        subject,
        text,
        act.text,
        mark,
      ])
    expect(of([refused(1), refused(2)])).toEqual([
      [
        'error',
        'mailer',
        '2 workers are in ERROR: connect ECONNREFUSED 10.0.0.7:25',
        'Show workers',
        'connect ECONNREFUSED #.#.#.#:#',
      ],
    ])
    const other = worker({ worker_id: 'e-3', state: 'ERROR', last_error: 'timeout' })
    expect(of([refused(1), refused(2), other])[0]?.[2]).toBe(
      '3 workers are in ERROR, 2 of them: connect ECONNREFUSED 10.0.0.7:25',
    )
    expect(of([other])).toEqual([['error', 'mailer/e-3', 'in ERROR: timeout', 'Fix config', 'timeout']])
    expect(of([worker({ connected: false })])).toEqual([['offline', 'mailer/m-7', 'offline', 'Forget', null]])
    const refusing = { applied_config_gen: 13, refused_config_gen: 14 }
    expect(of([worker(refusing)])).toEqual([
      [
        'behind',
        'mailer/m-7',
        'config generation 14 saved, which it refuses, 13 applied',
        'Fix config',
        'they refuse it',
      ],
    ])
    const paused = { note: null, actor: 'admin', since: NOW, until: null }
    const acts = problemsOf(overviewOf({ mailer: { queue: queueOf({ paused, dead: 1 }) } }), [])
    expect(acts.map(({ act }) => [act.text, act.needs])).toEqual([
      ['Resume', 'operate'],
      ['Replay', 'operate'],
    ])
  })

  it('does not list workers that are offline on purpose', () => {
    const gone = { connected: false, state_since: NOW - 300 }
    const workers = [
      worker({ ...gone, state: 'DRAINING' }),
      worker({ ...gone, worker_id: 'm-8', draining: true }),
      worker({ ...gone, worker_id: 'm-9', ended: true }),
    ]
    const overview = overviewOf({ mailer: { workers: workersOf({ total: 4, connected: 1 }) } })
    expect(problemsOf(overview, workers)).toEqual([])
    expect(fleetSummaryText(overview, [])).toBe('No problems: 1 of 4 workers are connected.')
    expect(fleetSummaryText(overview, [], 1)).toBe('No problems except 1 acknowledged one.')
    expect(problemsOf(overview, [worker(gone)]).map(({ kind }) => kind)).toEqual(['offline'])
  })

  it('keeps a worker whose state changes all the time as one item, with the age of the whole episode', () => {
    const patience = new ErrorPatience()
    let since = NOW
    const listed: boolean[] = []
    for (let second = 0; second < 260; second += 2) {
      const nowSeconds = NOW + second
      const isInError = second < 180 && Math.floor(second / 4) % 2 === 0
      if (second % 4 === 0 && second <= 180) since = nowSeconds
      const flaky = worker({ state: isInError ? 'ERROR' : 'RUNNING', state_since: since })
      patience.update([flaky], nowSeconds)
      const items = attentionOf({ overview: overviewOf({ mailer: {} }), workers: [flaky], patience, nowSeconds })
      listed.push(items.length > 0)
      if (items.length > 0) expect(items[0]?.since).toBe(NOW)
    }
    expect(listed.filter((each, at) => at > 0 && each !== listed[at - 1])).toEqual([true, false])
  })

  it('lists a queue without a worker that can take tasks first', () => {
    const overview = overviewOf({
      mailer: { queue: queueOf({ dead: 3, normal: 2 }), workers: workersOf({ ERROR: 1 }) },
      thumbnail: { queue: queueOf({ low: 1, oldest_submitted_at: NOW - 400 }) },
    })
    const items = problemsOf(overview, [worker(), worker({ automation_type: 'thumbnail', config: { enabled: false } })])
    expect(items.map(({ kind, subject }) => [kind, subject])).toEqual([
      ['unserved', 'thumbnail'],
      ['dead', 'mailer'],
    ])
    expect(fleetSummaryText(overview, items)).toBe(
      "Attention: thumbnail's queue has no worker to take tasks and 3 tasks are dead.",
    )
  })

  it('lists a paused queue once, with who paused it, even if no worker can take its tasks', () => {
    const paused = { note: 'migration', actor: 'admin ada', since: NOW - 400, until: null }
    const overview = overviewOf({
      mailer: { queue: queueOf({ normal: 2, oldest_submitted_at: NOW - 400, paused }) },
      thumbnail: { queue: queueOf({ paused: { ...paused, note: null } }) },
    })
    const items = problemsOf(overview, [])
    expect(items.map(({ kind, subject, text, since }) => [kind, subject, text, since])).toEqual([
      ['paused', 'mailer', 'paused by admin ada (migration), 2 tasks are waiting', NOW - 400],
      ['paused', 'thumbnail', 'paused by admin ada, 0 tasks are waiting', NOW - 400],
    ])
    expect(fleetSummaryText(overview, items)).toBe('Attention: 2 queues are paused.')
  })

  it('lists rollouts that failed or wait for a person, after queues without workers', () => {
    const rollout: OverviewRollout = {
      name: 'a',
      set: 'prod/crawlers',
      phase: 'Baking',
      paused: false,
      since: NOW - 60,
      stage: 2,
      stages: 3,
    }
    const listed = (change: Partial<OverviewRollout>): readonly (readonly [string, string, string])[] =>
      problemsOf(overviewOf({ mailer: { rollouts: [{ ...rollout, ...change }] } })).map(({ tone, subject, text }) => [
        tone,
        subject,
        text,
      ])
    for (const phase of ['Writing', 'Acknowledging', 'Baking', 'Complete'] as const)
      expect(listed({ phase })).toEqual([])
    expect(
      (['WaitingForApproval', 'Inconclusive', 'Failed', 'RollingBack', 'RolledBack'] as const).flatMap((phase) =>
        listed({ phase }),
      ),
    ).toEqual([
      ['warn', 'prod/crawlers', 'rollout waits for approval in stage 2 of 3'],
      ['warn', 'prod/crawlers', 'rollout is inconclusive in stage 2 of 3'],
      ['bad', 'prod/crawlers', 'rollout has failed in stage 2 of 3'],
      ['bad', 'prod/crawlers', 'rollout is rolling back in stage 2 of 3'],
      ['bad', 'prod/crawlers', 'rollout was rolled back in stage 2 of 3'],
    ])
    expect(listed({ paused: true })).toEqual([['warn', 'prod/crawlers', 'rollout is paused in stage 2 of 3']])
    expect(listed({ phase: 'Complete', paused: true })).toEqual([])
    expect(listed({ phase: 'RolledBack', paused: true })[0]?.[2]).toBe('rollout was rolled back in stage 2 of 3')
    const overview = overviewOf({
      mailer: { rollouts: [{ ...rollout, phase: 'RolledBack' }], workers: workersOf({ ERROR: 1 }) },
      thumbnail: { queue: queueOf({ low: 1 }), workers: workersOf({ connected: 0 }) },
    })
    const items = problemsOf(overview)
    expect(items.map(({ kind, link }) => [kind, link.href])).toEqual([
      ['unserved', '#/tasks/thumbnail'],
      ['rollout', '#/automations/mailer'],
      ['error', expect.any(String)],
      ['offline', expect.any(String)],
    ])
    expect(fleetSummaryText(overview, items.slice(1))).toBe(
      'Attention: 1 rollout needs attention and 1 worker is in ERROR, and more.',
    )
  })

  it('reports tasks that wait for over five minutes, and a stream that is nearly full', () => {
    const overview = overviewOf({
      mailer: { queue: queueOf({ normal: 2, oldest_submitted_at: NOW - 301 }), stream: { length: 45_000 } },
    })
    expect(problemsOf(overview).map(({ kind }) => kind)).toEqual(['old', 'stream'])
    expect(
      problemsOf(
        overviewOf({
          mailer: { queue: queueOf({ normal: 2, oldest_submitted_at: NOW - 299 }), stream: { length: 44_999 } },
        }),
      ),
    ).toEqual([])
  })
})
