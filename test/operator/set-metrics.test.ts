/** Tests the metrics of FleetWorkerSets: counts from their statuses, and rollouts from the changes of these. */
import { describe, expect, it } from '@jest/globals'
import { Registry } from 'prom-client'
import type { FleetWorkerSetObject } from '../../src/operator/fleetworkerset/index.ts'
import { FleetWorkerSetMetrics } from '../../src/operator/set-metrics.ts'
import { VirtualTime } from '../../src/runtime/index.ts'

/** A status, with the fields of rollouts with stages. */
interface Status {
  readonly currentRevision?: string
  readonly updateRevision?: string
  readonly rollout?: { readonly revision: string; readonly attempt: number; readonly phase: string }
  readonly failed?: readonly { readonly revision: string; readonly gate?: string }[]
  readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason?: string }[]
  readonly workers?: Readonly<Record<string, number>>
}

const set = (status: Status, spec: object = {}, uid = 'u1'): FleetWorkerSetObject =>
  ({
    metadata: { name: 'secret-name', namespace: 'prod', uid, generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { type: 'crawler', selector: { idPatterns: ['*'] }, ...spec },
    status,
  }) as unknown as FleetWorkerSetObject

const staged = (phase: string, revision = 'new', more: Status = {}): Status => ({
  currentRevision: 'old',
  updateRevision: revision,
  rollout: { revision, attempt: 1, phase },
  ...more,
})
const REST: Status = { currentRevision: 'old', updateRevision: 'old' }
const refused = (updateRevision: string): Status => ({
  ...REST,
  updateRevision,
  conditions: [{ type: 'Synced', status: 'False', reason: 'Rejected' }],
})
const aborted = { failed: [{ revision: 'new', gate: 'aborted' }] }

class Fixture {
  readonly time = new VirtualTime()
  readonly registry = new Registry()
  objects: FleetWorkerSetObject[] = []
  readonly metrics = new FleetWorkerSetMetrics({
    registry: this.registry,
    clock: this.time,
    objects: () => this.objects,
  })

  /** Observes these states of one object, one second apart. The cache has each of them before its event arrives. */
  async observe(states: readonly (FleetWorkerSetObject | undefined)[], isLeader = true): Promise<void> {
    for (const [index, after] of states.entries()) {
      this.metrics.changed(
        { key: 'prod/secret-name', before: index === 0 ? undefined : (after ?? states[index - 1]), after },
        isLeader,
      )
      await this.time.advance(1_000)
    }
  }

  /** Outcomes that were counted, in the order of the metric. */
  async outcomes(): Promise<Record<string, number>> {
    const lines = [
      ...(await this.registry.metrics()).matchAll(/^svc_operator_rollouts_total\{outcome="(\w+)"\} (\d+)/gm),
    ]
    return Object.fromEntries(
      lines.map(([, outcome, count]) => [outcome, Number(count)]).filter(([, count]) => count !== 0),
    )
  }
}

describe('the metrics of FleetWorkerSets', () => {
  it.each<[string, Record<string, number>, readonly Status[]]>([
    [
      'a rollout without stages',
      { complete: 1 },
      [REST, { ...REST, updateRevision: 'new' }, { currentRevision: 'new', updateRevision: 'new' }],
    ],
    [
      'the first rollout of a set',
      { complete: 1 },
      [{}, { updateRevision: 'new' }, { currentRevision: 'new', updateRevision: 'new' }],
    ],
    [
      'a rollout with stages',
      { complete: 1 },
      [
        REST,
        staged('Writing'),
        staged('Acknowledging'),
        staged('Baking'),
        staged('WaitingForApproval'),
        staged('Writing'),
        staged('Inconclusive'),
        { currentRevision: 'new', updateRevision: 'new' },
      ],
    ],
    [
      'a rollout that is rolled back, then reverted',
      { rolled_back: 1 },
      [REST, staged('Baking'), staged('RollingBack'), staged('RolledBack'), REST],
    ],
    [
      'an aborted rollout',
      { aborted: 1 },
      [REST, staged('Baking'), staged('RollingBack', 'new', aborted), staged('RolledBack', 'new', aborted)],
    ],
    [
      'a rollout that failed and is aborted later',
      { failed: 1 },
      [REST, staged('Baking'), staged('Failed'), staged('RollingBack'), staged('RolledBack')],
    ],
    [
      'a rollout that is retried',
      { complete: 1, rolled_back: 1 },
      [
        REST,
        staged('Baking'),
        staged('RolledBack'),
        staged('Writing'),
        { currentRevision: 'new', updateRevision: 'new' },
      ],
    ],
    ['a rollout that another edit ends', { superseded: 1 }, [REST, staged('Baking'), staged('Writing', 'newer')]],
    ['a rollout that is reverted', { superseded: 1 }, [REST, staged('Baking'), REST]],
    [
      'a config that the master refuses',
      { failed: 1 },
      [
        REST,
        { ...REST, updateRevision: 'new' },
        { ...REST, updateRevision: 'new', conditions: [{ type: 'Synced', status: 'False', reason: 'Rejected' }] },
        REST,
      ],
    ],
    [
      'a config that the master refuses immediately',
      { failed: 2 },
      [REST, refused('new'), refused('new'), refused('newer'), REST],
    ],
    [
      'rollouts that are complete in one status',
      { complete: 2 },
      [{}, REST, { currentRevision: 'new', updateRevision: 'new' }],
    ],
    ['a revision that failed before', {}, [REST, staged('RollingBack'), staged('RolledBack')]],
    ['a rollout that is under way', {}, [REST, staged('Writing'), staged('Baking')]],
  ])('count %s', async (_, expected, states) => {
    const fixture = new Fixture()
    await fixture.observe(states.map((status) => set(status)))
    expect(await fixture.outcomes()).toEqual(expected)
  })

  it('count nothing of sets that are suspended or only observed', async () => {
    const fixture = new Fixture()
    await fixture.observe([set(REST), set(staged('Baking')), set(REST, { suspend: true })])
    const spec = { managementPolicy: 'Observe' }
    await fixture.observe([set(REST, spec), set({ ...REST, updateRevision: 'new' }, spec), set(REST, spec)])
    expect(await fixture.outcomes()).toEqual({})
  })

  it('count only what the leader does, and objects apart by their uid', async () => {
    const fixture = new Fixture()
    await fixture.observe([set(REST), set(staged('Baking')), set(REST)], false)
    await fixture.observe([set(staged('Baking'), {}, 'u1'), set(REST, {}, 'u2'), undefined])
    expect(await fixture.outcomes()).toEqual({})
  })

  it('measure the time from the start of a rollout to its outcome, if both were seen', async () => {
    const fixture = new Fixture()
    await fixture.observe([set(REST), set(staged('Writing')), set(staged('Baking')), set(staged('RollingBack'))])
    const complete = { currentRevision: 'new', updateRevision: 'new' }
    await fixture.observe([set(staged('Baking'), {}, 'u2'), set(complete, {}, 'u2')])
    const text = await fixture.registry.metrics()
    expect(text).toContain('svc_operator_rollout_seconds_sum{outcome="rolled_back"} 2\n')
    expect(text).toContain('svc_operator_rollout_seconds_count{outcome="rolled_back"} 1\n')
    expect(text).not.toContain('svc_operator_rollout_seconds_count{outcome="complete"}')
    expect(await fixture.outcomes()).toEqual({ complete: 1, rolled_back: 1 })
  })

  it('show conditions and workers of all sets, and no names', async () => {
    const fixture = new Fixture()
    const conditions = [
      { type: 'Ready', status: 'True' },
      { type: 'RolledBack', status: 'True' },
    ]
    fixture.objects = [
      set({ conditions, workers: { matched: 3, ready: 2 } }),
      set({ conditions: [{ type: 'Ready', status: 'False' }], workers: { matched: 4, unavailable: 1 } }, {}, 'u2'),
      set({}, {}, 'u3'),
    ]
    const text = await fixture.registry.metrics()
    for (const line of [
      'svc_operator_sets{condition="Ready",status="True"} 1',
      'svc_operator_sets{condition="Ready",status="False"} 1',
      'svc_operator_sets{condition="Ready",status="Unknown"} 0',
      'svc_operator_sets{condition="RolledBack",status="True"} 1',
      'svc_operator_set_workers{state="matched"} 7',
      'svc_operator_set_workers{state="ready"} 2',
      'svc_operator_set_workers{state="unavailable"} 1',
      'svc_operator_set_workers{state="conflicted"} 0',
      'svc_operator_rollouts_total{outcome="aborted"} 0',
    ])
      expect(text).toContain(`${line}\n`)
    expect(text).not.toContain('secret-name')
  })
})
