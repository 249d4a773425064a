import { describe, expect, it } from '@jest/globals'
import type { OverviewBody } from '../../../src/protocol/index.ts'
import { explainFleet } from '../../../src/dashboard/diagnosis/explain-fleet.ts'
import type { WorkerFacts } from '../../../src/dashboard/diagnosis/explain.ts'
import { attentionOf, type FleetFacts } from '../../../src/dashboard/diagnosis/attention.ts'

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
  current_stats: null,
  ...part,
})
const causesOf = (facts: FleetFacts) =>
  explainFleet(facts, attentionOf(facts)).map(({ text, link }) => [text, link?.href])

describe('explainFleet', () => {
  it('returns the cause of a single worker with a link to it', () => {
    const facts = { overview: overview({ mailer: { dead: 2 } }), workers: [worker('m-7')], nowSeconds: NOW }
    expect(causesOf(facts)).toEqual([
      ['mailer/m-7: In ERROR for 2 min: ECONNREFUSED', '#/workers/mailer/m-7'],
      ['mailer: 2 dead tasks. Each shows its last error.', '#/tasks/mailer?tab=dead'],
    ])
  })

  it('returns the most frequent error of several workers', () => {
    const workers = [worker('m-1'), worker('m-2', { last_error: 'ETIMEDOUT' }), worker('m-3')]
    expect(causesOf({ overview: overview({ mailer: {} }), workers, nowSeconds: NOW })[0]?.[0]).toBe(
      'mailer: 3 workers are in ERROR: ECONNREFUSED',
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
