/**
 * Reads the load of a real master as KEDA does for examples/keda/scaledobject.yaml: with its URL, its field and its
 * limits. test/chart/examples.test.ts compares the file with the chart.
 */
import { describe, expect, it } from '@jest/globals'
import { buildCatalog, defineBatch, Type } from '../../src/automation/index.ts'
import { systemRandom, VirtualTime } from '../../src/runtime/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import { runMaster, TOKENS } from '../kit/running-master.ts'
import { entriesOf, type FleetWorkerSet, type KubeObject, objectsIn, valuesIn } from './kubernetes.ts'

interface Trigger {
  readonly type: string
  readonly metadata: Readonly<Record<'url' | 'valueLocation' | 'targetValue' | 'activationTargetValue', string>>
  readonly authenticationRef: { readonly name: string }
}
const EXAMPLE = 'examples/keda'
const [scaled, authentication, set] = objectsIn(`${EXAMPLE}/scaledobject.yaml`) as [
  KubeObject,
  KubeObject,
  FleetWorkerSet,
]
const [trigger] = scaled.spec['triggers'] as [Trigger]
const { url, valueLocation, targetValue, activationTargetValue } = trigger.metadata
const PAYLOAD = Type.Object({ image: Type.String() })
const TASKS = 600

async function fixture() {
  const time = new VirtualTime()
  const backend = new MemoryBackend({ clock: time, random: systemRandom })
  const automation = defineBatch({ type: set.spec.type, payload: PAYLOAD, run: async () => {} })
  const master = await runMaster({ backend, clock: time, timers: time, catalog: buildCatalog([automation]) })
  await time.advance(0)
  /** @returns the value that KEDA reads with this token, or the status of an error. */
  const read = async (token: string): Promise<unknown> => {
    const { pathname, search } = new URL(url)
    const { status, json } = await master.call('GET', `${pathname}${search}`, { token })
    return status === 200 ? (json as Readonly<Record<string, unknown>>)[valueLocation] : status
  }
  return { time, master, read }
}

describe('the ScaledObject of examples/keda', () => {
  it('reads a number that activates the workers when tasks wait, and not before', async () => {
    const { time, master, read } = await fixture()
    expect(await read(TOKENS.scaler)).toBe(Number(activationTargetValue))
    const tasks = Array.from({ length: TASKS }, (_, n) => ({ payload: { image: `${n}.jpg` } }))
    const path = `/api/v1/automations/${set.spec.type}/tasks/batch`
    expect((await master.call('POST', path, { body: { tasks } })).status).toBe(200)
    await time.advance(15_000)
    const wanted = await read(TOKENS.scaler)
    expect(wanted).toBeGreaterThan(Number(activationTargetValue))
    expect(Number(wanted) / Number(targetValue)).toBeLessThanOrEqual(Number(scaled.spec['maxReplicaCount']))
  })

  it('needs the token of autoscalers, which the Secret of its TriggerAuthentication contains', async () => {
    const { read } = await fixture()
    expect([await read(''), await read(TOKENS.worker)]).toEqual([401, 403])
    expect(trigger.authenticationRef.name).toBe(authentication.metadata.name)
    expect(authentication.spec).toEqual({
      secretTargetRef: [{ parameter: 'token', name: 'muster-scaler', key: 'scaler-token' }],
    })
  })

  it('scales the FleetWorkerSet, whose slots the URL names and whose workload its workers are', () => {
    const { apiVersion, kind, metadata } = set
    expect(scaled.spec['scaleTargetRef']).toEqual({ apiVersion, kind, name: metadata.name })
    expect(new URL(url).searchParams.get('slots_per_worker')).toBe(String(set.spec.slots))
    expect(entriesOf(valuesIn(`${EXAMPLE}/values.yaml`), set)).toEqual(['thumbnails'])
  })
})
