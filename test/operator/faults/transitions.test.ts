/**
 * Tests transitions between any two states: specs generated from the schema, one after another on one FleetWorker.
 * SEED=… repeats a run, SOAK=1 runs ten times as many.
 *
 * @see Gu et al. 2023, "Acto: automatic end-to-end testing for operation correctness of cloud system management"
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Condition } from '../../../src/operator/config/index.ts'
import type { FleetWorkerSpec, FleetWorkerStatus } from '../../../src/operator/fleetworker/index.ts'
import { FLEETWORKERS } from '../fleetworker/kinds.ts'
import { crashes, leaks, moreWrites } from './oracle.ts'
import { anySpec } from './specs.ts'
import { startMasters, FaultFixture, type Masters } from './fixture.ts'

const isSoak = process.env['SOAK'] === '1'
const RUNS = isSoak ? 600 : 60
const SEED = Number(process.env['SEED'] ?? 1)
const TIMEOUT_MS = isSoak ? 1_200_000 : 120_000
const SETTLED_MS = 4_000
const GOOD: FleetWorkerSpec = { type: 'job', config: { enabled: true, url: 'http://good' }, slots: 2 }
/** In the order in which Ready takes its reason from them. */
const COUNTED = ['Synced', 'Online', 'Applied', 'Healthy']

let masters: Masters
beforeAll(async () => {
  masters = await startMasters()
})
afterAll(() => masters.stop())

const open: FaultFixture[] = []
async function closeAll(): Promise<void> {
  await Promise.all(open.splice(0).map((fixture) => fixture.close()))
}

async function begun(spec: FleetWorkerSpec): Promise<FaultFixture> {
  const fixture = new FaultFixture(masters)
  open.push(fixture)
  fixture.secret('keys', { api: 'a secret' })
  fixture.configMap('texts', { text: 'a text', list: '["c"]' })
  await fixture.work()
  await fixture.start()
  fixture.create(spec)
  await fixture.pass(SETTLED_MS)
  return fixture
}

async function changed(fixture: FaultFixture, spec: FleetWorkerSpec): Promise<void> {
  fixture.replace(spec)
  await fixture.pass(SETTLED_MS)
}

function property(name: string, specs: number, check: (specs: readonly FleetWorkerSpec[]) => Promise<void>): void {
  it(
    name,
    async () => {
      const all = fc.array(anySpec, { minLength: specs, maxLength: specs })
      await fc.assert(fc.asyncProperty(all, check).afterEach(closeAll), {
        seed: SEED,
        numRuns: RUNS,
        endOnFailure: true,
      })
    },
    TIMEOUT_MS,
  )
}

const has = (conditions: readonly Condition[], type: string): boolean =>
  conditions.some((each) => each.type === type && each.status === 'True')

/** Contradictions within one status. */
function contradictions(
  { conditions = [], observedGeneration }: FleetWorkerStatus,
  isHandsOff: boolean,
): readonly string[] {
  const ready = conditions.find(({ type }) => type === 'Ready')
  const counted = conditions.filter(
    ({ type }) => COUNTED.includes(type) && !(isHandsOff && (type === 'Synced' || type === 'Applied')),
  )
  const failing = counted.find(({ status }) => status === 'False') ?? counted.find(({ status }) => status === 'Unknown')
  return [
    ...(has(conditions, 'Reconciling') && has(conditions, 'Stalled') ? ['Reconciling and Stalled'] : []),
    ...(failing !== undefined && ready?.reason !== failing.reason
      ? [`Ready is ${ready?.reason}, the first that fails is ${failing.type} ${failing.reason}`]
      : []),
    ...(failing === undefined && ready?.status !== 'True' ? [`Ready is ${ready?.status}, and nothing fails`] : []),
    ...(conditions.some((each) => each.observedGeneration !== observedGeneration)
      ? ['a condition has another observedGeneration']
      : []),
  ]
}

const isHandsOff = ({ suspend, managementPolicy }: Partial<FleetWorkerSpec>): boolean =>
  suspend === true || managementPolicy === 'Observe'

/** Contradictions in all statuses that were ever written. */
function allContradictions(fixture: FaultFixture): readonly string[] {
  const seen = fixture.api.server.store.history
    .filter(({ kind }) => kind === FLEETWORKERS)
    .map(
      ({ object }) =>
        object as unknown as { spec: FleetWorkerSpec; metadata: { generation: number }; status: FleetWorkerStatus },
    )
  return seen
    .filter(({ metadata, status }) => status.observedGeneration === metadata.generation)
    .flatMap(({ spec, status }) => contradictions(status, isHandsOff(spec)))
}

describe('a FleetWorker that is changed from one spec to another', () => {
  property('has no contradictory status, and reaches a steady state', 4, async ([first = GOOD, ...specs]) => {
    const fixture = await begun(first)
    for (const spec of specs) {
      await changed(fixture, spec)
      const { metadata, status } = fixture.object() ?? {}
      expect(status?.observedGeneration).toBe(metadata?.generation)
    }
    expect(await moreWrites(fixture)).toEqual([])
    expect(allContradictions(fixture)).toEqual([])
    expect(crashes(fixture) ?? leaks(fixture)).toBeUndefined()
  })

  property('reaches the last good spec again after two bad ones', 2, async ([bad = GOOD, worse = GOOD]) => {
    const fixture = await begun(GOOD)
    const config = await fixture.config()
    await changed(fixture, bad)
    await changed(fixture, worse)
    await changed(fixture, GOOD)
    expect([await fixture.config(), fixture.condition('Ready'), fixture.condition('Drifted')]).toEqual([
      config,
      'True Ready',
      undefined,
    ])
  })

  property('has the same result for each order of specs', 2, async ([before = GOOD, last = GOOD]) => {
    const [one, other] = [await begun(before), await begun(GOOD)]
    for (const fixture of [one, other]) {
      await changed(fixture, { ...GOOD, config: {} })
      await changed(fixture, last)
    }
    const outcomeOf = async (fixture: FaultFixture) => [
      await fixture.config(),
      fixture.object()?.status?.conditions?.map(({ type, status, reason }) => [type, status, reason]),
    ]
    expect(await outcomeOf(one)).toEqual(await outcomeOf(other))
  })
})
