import { describe, expect, it } from '@jest/globals'
import type { OverviewBody } from '../../../src/protocol/index.ts'
import { explainedTypes, explainFleet } from '../../../src/dashboard/diagnosis/explain-fleet.ts'
import type { WorkerFacts } from '../../../src/diagnosis/index.ts'
import { runs, workerRuns } from '../../diagnosis/facts.ts'
import { attentionOf } from '../../../src/dashboard/diagnosis/attention.ts'
import type { FleetFacts, RunsByType } from '../../../src/diagnosis/index.ts'

const NOW = 10_000
const queue = (part: object) => ({
  high: 0,
  normal: 0,
  low: 0,
  in_flight: 0,
  scheduled: 0,
  dead: 0,
  oldest_submitted_at: null,
  ...part,
})
const overview = (types: Readonly<Record<string, object>>): OverviewBody => ({
  ts: NOW,
  automations: Object.fromEntries(
    Object.entries(types).map(([type, part]) => [
      type,
      {
        kind: 'BatchAutomation',
        workers: { total: 3, connected: 3, behind: 0, IDLE: 0, RUNNING: 0, ERROR: 3, DRAINING: 0 },
        slots: 3,
        queue: queue(part),
        stream: { length: 0 },
      },
    ]),
  ),
})
const worker = (id: string, part: Partial<WorkerFacts> = {}): WorkerFacts => ({
  worker_id: id,
  automation_type: 'mailer',
  connected: true,
  state: 'ERROR',
  state_since: NOW - 120,
  draining: false,
  last_error: 'ECONNREFUSED',
  config: { enabled: true, slots: 1 },
  config_gen: 3,
  applied_config_gen: 3,
  config_changed_at: NOW - 600,
  config_changed_by: null,
  current_stats: null,
  ...part,
})
const causesOf = (facts: FleetFacts, runsByType: RunsByType = new Map()) =>
  explainFleet(facts, attentionOf(facts), runsByType).map(({ text, links }) => [text, links[0]?.href])

describe('explainFleet', () => {
  it('returns the cause of a single worker with a link to it', () => {
    const facts = { overview: overview({ mailer: { dead: 2 } }), workers: [worker('m-7')], nowSeconds: NOW }
    expect(causesOf(facts)).toEqual([
      [
        'mailer/m-7 fails every task it takes. Its config changed 10 min ago. Last error: ECONNREFUSED',
        '#/workers/mailer/m-7?tab=config',
      ],
      [
        'mailer: 2 dead tasks. m-7 fails every task it takes: ECONNREFUSED. Its config changed 10 min ago.',
        '#/workers/mailer/m-7?tab=config',
      ],
    ])
  })

  it('shows what the runs of the worker did, and every link that fixes it', () => {
    const facts = { overview: overview({ mailer: {} }), workers: [worker('m-7')], nowSeconds: NOW }
    const runsOf = new Map([
      ['mailer', runs({ workers: [workerRuns({ worker_id: 'm-7', config_changed: ['host'] })] })],
    ])
    const [cause] = explainFleet(facts, attentionOf(facts), runsOf)
    expect(cause?.text).toMatch(/^mailer\/m-7 has failed every task since its config changed 10 min ago \(host\)/)
    expect(cause?.links).toEqual([
      { text: 'Edit its config', href: '#/workers/mailer/m-7?tab=config' },
      { text: 'Show the change', href: '#/workers/mailer/m-7?tab=history&diff=2..3' },
      { text: 'Drain it', href: '#/workers/mailer/m-7?act=drain' },
      { text: 'Replay the dead tasks', href: '#/tasks/mailer?tab=dead' },
      { text: 'Show its log', href: '#/workers/mailer/m-7?tab=logs' },
    ])
    expect(explainedTypes(attentionOf(facts))).toEqual(['mailer'])
  })

  it('counts dead tasks that no failing worker explains', () => {
    const facts = { overview: overview({ mailer: { dead: 2 } }), workers: [], nowSeconds: NOW }
    expect(causesOf(facts)).toEqual([['mailer: 2 dead tasks.', '#/tasks/mailer?tab=dead']])
  })

  it('returns the most frequent error of several workers', () => {
    const workers = [worker('m-1'), worker('m-2', { last_error: 'ETIMEDOUT' }), worker('m-3')]
    expect(causesOf({ overview: overview({ mailer: {} }), workers, nowSeconds: NOW })[0]?.[0]).toBe(
      'mailer: 3 workers are in ERROR, 2 of them: ECONNREFUSED.',
    )
  })

  it('returns the cause of a queue without a worker that can take tasks', () => {
    const facts = {
      overview: overview({ mailer: { normal: 4 } }),
      workers: [worker('m-1', { state: 'IDLE', config: { enabled: false } })],
      nowSeconds: NOW,
    }
    expect(causesOf(facts)[0]?.[0]).toBe(
      'mailer: The only connected worker is not enabled. A worker takes tasks only if its config has enabled: true.',
    )
  })

  it('names the rollout that needs a person', () => {
    const facts = { overview: overview({ mailer: {} }), workers: [], nowSeconds: NOW }
    const { mailer } = facts.overview.automations
    if (mailer === undefined) throw new TypeError('no mailer')
    mailer.rollouts = [
      { name: 'a', set: 'prod/crawlers', phase: 'RolledBack', paused: false, since: NOW, stage: 2, stages: 3 },
    ]
    expect(causesOf(facts)).toEqual([
      ['prod/crawlers: rollout was rolled back in stage 2 of 3.', expect.stringContaining('#/automations/mailer')],
    ])
  })

  it('falls back to the counts of the overview while no worker record is loaded', () => {
    expect(causesOf({ overview: overview({ mailer: {} }), workers: null, nowSeconds: NOW })[0]?.[0]).toBe(
      'mailer: 3 workers are in ERROR.',
    )
  })
})
