import { describe, expect, it } from '@jest/globals'
import { Registry } from 'prom-client'
import type { FleetWorkerObject } from '../../src/operator/fleetworker/index.ts'
import { FleetWorkerMetrics } from '../../src/operator/metrics.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import { fleetWorker, met } from './made-fleet-workers.ts'

describe('the metrics of FleetWorkers', () => {
  it('measure the time from an edit to its conditions, once', async () => {
    const [time, registry] = [new VirtualTime(), new Registry()]
    const metrics = new FleetWorkerMetrics({ registry, clock: time, comparedCount: () => 2 })
    const before = fleetWorker('w')
    const edited = fleetWorker('w', { generation: 2 })
    const synced = fleetWorker('w', { generation: 2, status: { conditions: [met('Synced', 2), met('Applied', 1)] } })
    const applied = fleetWorker('w', {
      generation: 2,
      status: {
        conditions: [met('Synced', 2), met('Applied', 2)],
        drift: { detectedTime: new Date(time.wallMs() - 60_000).toISOString() },
      },
    })
    const change = (from: FleetWorkerObject | undefined, to: FleetWorkerObject): void =>
      metrics.changed({ key: 'ns/w', before: from, after: to }, true)
    change(before, edited)
    await time.advance(1_000)
    change(edited, synced)
    await time.advance(1_000)
    change(synced, applied)
    change(applied, applied)
    const text = await registry.metrics()
    expect(text).toContain('svc_operator_edit_to_synced_seconds_sum 1\n')
    expect(text).toContain('svc_operator_edit_to_applied_seconds_sum 2\n')
    expect(text).toContain('svc_operator_edit_to_applied_seconds_count 1\n')
    expect(text).toContain('svc_operator_workers{condition="Synced",status="True"} 1\n')
    expect(text).toContain('svc_operator_drift_age_seconds 62\n')
    expect(text).toContain('svc_operator_judged 2\n')
  })
  it('count the statuses that objects have now, also after they are deleted or replaced', async () => {
    const registry = new Registry()
    const metrics = new FleetWorkerMetrics({ registry, clock: new VirtualTime(), comparedCount: () => 0 })
    const drift = { detectedTime: new Date(0).toISOString() }
    const of = (name: string, uid: string, status: 'True' | 'False'): FleetWorkerObject => {
      const object = fleetWorker(name, { status: { conditions: [{ ...met('Ready', 1), status }], drift } })
      return { ...object, metadata: { ...object.metadata, uid } }
    }
    const counts = async (): Promise<readonly (string | undefined)[]> => {
      const text = await registry.metrics()
      return [
        ...['True', 'False'].map((status) => `svc_operator_workers{condition="Ready",status="${status}"} `),
        'svc_operator_drift_age_seconds ',
      ].map((name) =>
        text
          .split('\n')
          .find((line) => line.startsWith(name))
          ?.slice(name.length),
      )
    }
    const [one, other, replaced] = [of('a', '1', 'True'), of('b', '2', 'True'), of('a', '3', 'False')]
    for (const after of [one, other]) metrics.changed({ key: 'ns/w', before: undefined, after }, false)
    expect((await counts()).slice(0, 2)).toEqual(['2', '0'])
    metrics.changed({ key: 'ns/w', before: one, after: replaced }, false)
    expect((await counts()).slice(0, 2)).toEqual(['1', '1'])
    for (const before of [replaced, other]) metrics.changed({ key: 'ns/w', before, after: undefined }, false)
    expect(await counts()).toEqual(['0', '0', '0'])
  })
})
