/**
 * Tests events around a running or stopped operator: deletions, restarts, manual edits of a status, a broken gateway.
 */
import { isDeepStrictEqual } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { FleetWorkerSpec } from '../../../src/operator/fleetworker/index.ts'
import { FLEETWORKERS } from '../fleetworker/kinds.ts'
import { PASS } from './faults.ts'
import { startMasters, FaultFixture, type Masters } from './fixture.ts'

const GOOD: Partial<FleetWorkerSpec> = { config: { url: 'http://a' } }

let masters: Masters
let fixture: FaultFixture
beforeAll(async () => {
  masters = await startMasters()
})
afterEach(() => fixture.close())
afterAll(() => masters.stop())

const isInSync = (): boolean => fixture.condition('Synced') === 'True InSync'

async function begun(spec: Partial<FleetWorkerSpec> = GOOD): Promise<void> {
  fixture = new FaultFixture(masters)
  await fixture.work()
  await fixture.start()
  fixture.create(spec)
}

/** Stops the operator, runs `act`, and starts another operator. */
async function whileStopped(act: () => void | Promise<void>): Promise<void> {
  fixture.kill()
  await fixture.closeKilled()
  await act()
  await fixture.start()
}

describe('the claim of a FleetWorker with Retain', () => {
  it('is released within three minutes if the FleetWorker was deleted while no operator ran', async () => {
    await begun({ ...GOOD, deletionPolicy: 'Retain' })
    expect(await fixture.comesTrue(20_000, isInSync)).toBe(true)
    expect(await fixture.managedBy()).not.toBeNull()
    await whileStopped(() => fixture.remove())
    expect(await fixture.comesTrue(180_000, async () => (await fixture.managedBy()) === null)).toBe(true)
  })
})

describe('a restarted operator', () => {
  it('does not repeat a PATCH that the master rejected, and writes nothing', async () => {
    await begun({ config: { url: 5 } })
    expect(await fixture.comesTrue(20_000, () => fixture.condition('Synced')?.startsWith('False') === true)).toBe(true)
    await fixture.pass(5_000)
    expect(fixture.condition('Synced')).toBe('False Rejected')
    fixture.faults.restart()
    await whileStopped(() => {})
    await fixture.pass(30_000)
    expect(fixture.condition('Synced')).toBe('False Rejected')
    expect(fixture.faults.writes.map(({ side, method, path }) => `${side} ${method} ${path}`)).toEqual([])
  })
})

describe('a namespace that is deleted while the operator runs', () => {
  it.each(['Reset', 'Deregister', 'Retain'] as const)(
    'is deleted within 90 s although a FleetWorker has the policy %s',
    async (deletionPolicy) => {
      await begun({ ...GOOD, deletionPolicy })
      expect(await fixture.comesTrue(20_000, isInSync)).toBe(true)
      const { store } = fixture.api.server
      store.terminating.add('ns')
      fixture.remove()
      const isGone = await fixture.comesTrue(90_000, () => fixture.object() === undefined)
      store.terminating.delete('ns')
      expect(isGone).toBe(true)
    },
  )
})

describe('a status that was edited manually', () => {
  const CHANGES: readonly (readonly [string, object | null])[] = [
    [
      'a condition',
      {
        conditions: [
          {
            type: 'Synced',
            status: 'False',
            reason: 'ByHand',
            message: 'no',
            lastTransitionTime: '2026-01-01T00:00:00Z',
            observedGeneration: 1,
          },
        ],
      },
    ],
    ['all conditions', { conditions: null }],
    ['the state', { state: 'ERROR' }],
    ['the time that it was last seen', { lastSeenTime: '2020-01-01T00:00:00Z' }],
    ['the remembered generation', { config: { generation: 900 } }],
    ['everything', null],
  ]

  it.each(CHANGES)('is corrected within 100 s: %s', async (_, change) => {
    await begun()
    expect(await fixture.comesTrue(20_000, isInSync)).toBe(true)
    await fixture.pass(5_000)
    const shown = (): object => {
      const { lastSeenTime: _seen, conditions = [], ...rest } = fixture.object()?.status ?? {}
      return { ...rest, conditions: conditions.toSorted((a, b) => (a.type < b.type ? -1 : 1)) }
    }
    const good = shown()
    const { store } = fixture.api.server
    store.patch(
      { kind: FLEETWORKERS, namespace: 'ns', name: fixture.id },
      'status',
      'application/merge-patch+json',
      { status: change },
      'kubectl',
      false,
    )
    const isRight = (): boolean =>
      isDeepStrictEqual(shown(), good) && fixture.object()?.status?.lastSeenTime !== '2020-01-01T00:00:00Z'
    expect(isRight()).toBe(false)
    expect([await fixture.comesTrue(100_000, isRight), shown()]).toEqual([true, good])
  })
})

describe('a gateway that responds in place of the master', () => {
  const JSON_TYPE = { 'content-type': 'application/json' }
  const EPOCH = { 'muster-epoch': 'of-another-master' }
  const NONSENSE = [
    { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>welcome</html>' },
    { status: 200, headers: JSON_TYPE, body: '{"hello":"world"}' },
    { status: 200, headers: { ...JSON_TYPE, ...EPOCH }, body: '{"hello":"world"}' },
    { status: 200, headers: { ...JSON_TYPE, ...EPOCH }, body: '[]' },
    { status: 200, headers: { ...JSON_TYPE, ...EPOCH }, body: '[1,null,{"worker_id":7}]' },
    { status: 302, headers: { location: 'https://login.example/?next=/' }, body: '' },
    { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>not found</html>' },
    { status: 404, headers: { ...JSON_TYPE, ...EPOCH }, body: '{"detail":"no route"}' },
    { status: 403, headers: { 'content-type': 'text/html' }, body: '<html>blocked</html>' },
    { status: 200, headers: { ...JSON_TYPE, ...EPOCH }, body: 'null' },
    { status: 200, headers: { 'content-type': 'text/event-stream' }, body: 'data: what\n\n' },
    { status: 204, headers: {}, body: '' },
  ]

  it.each(NONSENSE)('does not delay an edit by more than 60 s: HTTP $status $headers $body', async (nonsense) => {
    await begun()
    expect(await fixture.comesTrue(20_000, isInSync)).toBe(true)
    fixture.faults.rule = ({ side }) => (side === 'api' ? PASS : { kind: 'answer', ...nonsense })
    fixture.cutFeeds()
    await fixture.pass(40_000)
    fixture.faults.rule = () => PASS
    fixture.edit({ config: { url: 'http://edited' } })
    expect(await fixture.comesTrue(60_000, async () => (await fixture.config())?.['url'] === 'http://edited')).toBe(
      true,
    )
  })

  it('does not delay an edit by more than 60 s with ten kinds of responses in turn', async () => {
    await begun()
    expect(await fixture.comesTrue(20_000, isInSync)).toBe(true)
    fixture.cutFeeds()
    for (const nonsense of NONSENSE) {
      fixture.faults.rule = ({ side }) => (side === 'api' ? PASS : { kind: 'answer', ...nonsense })
      await fixture.pass(10_000)
    }
    fixture.faults.rule = () => PASS
    fixture.edit({ config: { url: 'http://edited' } })
    expect(await fixture.comesTrue(60_000, async () => (await fixture.config())?.['url'] === 'http://edited')).toBe(
      true,
    )
  })
})
