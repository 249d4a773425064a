import { describe, expect, it } from '@jest/globals'
import { compileValidator, type JsonSchema } from '../../../src/protocol/index.ts'
import { FleetWorkerStatus, statusOf, type StatusFacts } from '../../../src/operator/fleetworker/index.ts'
import { facts, NOTHING_REMEMBERED, NOW_MS, worker } from './samples.ts'

const status = (more: Partial<StatusFacts> = {}): FleetWorkerStatus =>
  statusOf({
    ...facts(),
    uid: 'u-1',
    stats: null,
    memory: NOTHING_REMEMBERED,
    drift: undefined,
    rejected: undefined,
    ...more,
  })

/** The schema without the keywords and formats of Kubernetes that JSON Schema does not know. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !/^x-kubernetes-|^format$|^default$/.test(key))
      .map(([key, each]) => [key, plain(each)]),
  )
}
const check = compileValidator({ ...(plain(FleetWorkerStatus) as JsonSchema), additionalProperties: false })

describe('statusOf', () => {
  it('shows the worker and its statistics as integers', () => {
    expect(status({ stats: { slots: 4, cpu_pct: 12.6, rss_mb: 101.2 } })).toMatchObject({
      observedGeneration: 3,
      state: 'RUNNING',
      lastSeenTime: '2026-01-01T11:59:59Z',
      slots: 4,
      cpuPercent: 13,
      rssMegabytes: 101,
      selector: 'muster.dev/uid=u-1',
      config: { appliedGeneration: 7 },
    })
  })

  it('stores the memory for the next start, in a stable order', () => {
    const sources = new Map([
      ['b', 's:2'],
      ['a', ''],
    ])
    expect(status({ memory: { generation: 7, epoch: 'e1', sources } }).config).toEqual({
      generation: 7,
      appliedGeneration: 7,
      epoch: 'e1',
      sources: [
        { field: 'a', version: '' },
        { field: 'b', version: 's:2' },
      ],
    })
  })

  it('lists the first 20 paths of a drift and counts all', () => {
    const paths = Array.from({ length: 30 }, (_, index) => `/a/${index}`)
    expect(status({ drift: { paths, detectedMs: NOW_MS, by: 'admin' } }).drift).toEqual({
      paths: paths.slice(0, 20),
      count: 30,
      detectedTime: '2026-01-01T12:00:00Z',
      by: 'admin',
    })
  })

  it('omits unknown fields, and never contains an empty object', () => {
    const bare = status({ worker: null, drift: { paths: [], detectedMs: NOW_MS, by: null } })
    expect(Object.keys(bare).toSorted()).toEqual(['conditions', 'observedGeneration', 'selector'])
  })

  it('is valid for the schema, whatever the worker and the master report', () => {
    const long = `\u0007${'é🙂'.repeat(3_000)}\ud800`
    const hostile = status({
      worker: worker({ state: long, lastError: long }),
      stats: { slots: 1e12, cpu_pct: -1, rss_mb: 0.4 },
      memory: { generation: 7, epoch: long, sources: new Map([['a', 's']]) },
      drift: { paths: [long], detectedMs: NOW_MS, by: long },
      synced: { reason: 'Rejected', message: long },
    })
    expect(check(hostile)).toEqual([])
    expect(JSON.stringify(hostile)).not.toMatch(/\\u0007|\\ud800/)
  })
})
