/**
 * Tests the CustomResourceDefinition of FleetWorkerSet on a real API server: the server accepts it without warnings,
 * each rule has one rejected and one accepted object, and kubectl works with it.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { MAX_NAME_CHARS } from '../../../src/protocol/index.ts'
import { type KubeResponse, type ApiServer, type CustomResourceDefinition, startApiServer } from '../real-apiserver.ts'
import { withApiServer } from '../with-programs.ts'
import { largestStatus } from './largest.ts'
import { RULES, secretSource, workload } from './spec-rules.ts'
import { SET_STATES } from './states.ts'

const FILE = new URL('../../../crds/fleetworkersets.muster.dev.yaml', import.meta.url)
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fleetworkersets.muster.dev'
const OBJECTS = '/apis/muster.dev/v1alpha1/namespaces/default/fleetworkersets'
const MAX_STATUS_BYTES = 65_536

type Json = Record<string, unknown>
interface Crd {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

withApiServer('the CustomResourceDefinition of sets', () => {
  describe('the CustomResourceDefinition of sets', () => {
    let server: ApiServer
    let made = 0
    const create = (spec: Json): Promise<KubeResponse> =>
      server.request('POST', OBJECTS, {
        body: {
          apiVersion: 'muster.dev/v1alpha1',
          kind: 'FleetWorkerSet',
          metadata: { name: `s${(made += 1)}` },
          spec: { type: 'a', selector: { idPatterns: ['*'] }, ...spec },
        },
      })
    const created = async (spec: Json = {}): Promise<string> => {
      const { status, body } = await create(spec)
      expect({ status, message: body['message'] }).toEqual({ status: 201, message: undefined })
      return (body['metadata'] as { name: string }).name
    }
    const read = async (name: string): Promise<Json> => (await server.request('GET', `${OBJECTS}/${name}`)).body
    const changed = (name: string, spec: Json): Promise<KubeResponse> =>
      server.request('PATCH', `${OBJECTS}/${name}`, { body: { spec }, contentType: 'application/merge-patch+json' })
    const applyStatus = (name: string, status: unknown): Promise<KubeResponse> =>
      server.request('PATCH', `${OBJECTS}/${name}/status?fieldManager=muster-operator&force=true`, {
        body: { apiVersion: 'muster.dev/v1alpha1', kind: 'FleetWorkerSet', metadata: { name }, status },
        contentType: 'application/apply-patch+yaml',
      })

    beforeAll(async () => {
      server = await startApiServer()
      await server.install(parse(readFileSync(FILE, 'utf8')) as CustomResourceDefinition)
      await server.kubectl('wait', '--for=condition=Established', 'crd/fleetworkersets.muster.dev', '--timeout=30s')
    }, 120_000)
    afterAll(() => server.close())

    it('is established and structural', async () => {
      const found = ((await server.request('GET', CRD)).body as Crd).status?.conditions ?? []
      expect(Object.fromEntries(found.map(({ type, status }) => [type, status]))).toMatchObject({
        Established: 'True',
        NamesAccepted: 'True',
      })
      expect(found.filter(({ type }) => type === 'NonStructuralSchema')).toEqual([])
    })

    it.each(RULES)(
      'accepts a valid spec, and reports the fault of an invalid one (%s)',
      async (_, good, bad, message) => {
        await created(good)
        const refused = await create(bad)
        expect(refused.status).toBe(422)
        expect(refused.body['message']).toMatch(message)
      },
    )

    it('rejects a change of the type, and accepts another selector', async () => {
      const name = await created({ type: 'a' })
      expect((await changed(name, { type: 'b' })).body['message']).toMatch(/type is immutable/)
      expect((await changed(name, { type: 'a', selector: { matchLabels: { zone: 'eu-1' } } })).status).toBe(200)
    })

    it('sets defaults, and a status that shows that no operator has seen it', async () => {
      const spec = { config: {}, configFrom: [secretSource('a')], overrides: [{ worker: 'w' }] }
      const body = await read(await created(spec))
      expect(body['spec']).toEqual({
        type: 'a',
        selector: { idPatterns: ['*'] },
        config: {},
        configFrom: [{ ...secretSource('a'), as: 'String' }],
        overrides: [{ worker: 'w' }],
        managementPolicy: 'Enforce',
        deletionPolicy: 'Retain',
        rollout: {
          stages: [1, '10%', '50%'].map((workers) => ({ workers, bakeSeconds: 120, approval: 'Auto' })),
          maxUnavailable: '10%',
          ackTimeoutSeconds: 60,
          progressDeadlineSeconds: 600,
          gates: { minRuns: 50, errors: { max: '1%' }, failureRate: { maxIncrease: '0.02' } },
          onFailure: 'Rollback',
          onInconclusive: 'Pause',
        },
        revisionHistoryLimit: 10,
        paused: false,
        forgetAfterSeconds: 0,
      })
      expect(body['status']).toMatchObject({
        observedGeneration: -1,
        conditions: [{ type: 'Ready', status: 'Unknown', reason: 'Pending' }],
      })
    })

    it('completes a rollout that names some fields, and keeps an integer an integer', async () => {
      const gates = { failureRate: { max: '0.5' } }
      const stages = [{ workers: 3 }]
      const name = await created({ rollout: { maxUnavailable: 3, ackTimeoutSeconds: null, gates, stages } })
      expect((await read(name))['spec']).toMatchObject({
        rollout: {
          maxUnavailable: 3,
          ackTimeoutSeconds: 60,
          progressDeadlineSeconds: 600,
          stages: [{ workers: 3, bakeSeconds: 120, approval: 'Auto' }],
          gates: { minRuns: 50, errors: { max: '1%' }, failureRate: { max: '0.5', maxIncrease: '0.02' } },
        },
      })
    })

    it('keeps all fields of configs, and drops fields that a later release may have', async () => {
      const config = { Own_field: { deep: [1, { x: null }] }, nothing: null }
      const name = await created({ config, overrides: [{ worker: 'w', config }], later: 3 })
      const spec = (await read(name))['spec'] as Json
      expect(spec).toMatchObject({ config, overrides: [{ worker: 'w', config }] })
      expect(Object.keys(spec)).not.toContain('later')
    })

    it('treats null as not set when it checks that slots are set in one place only', async () => {
      const overridden = { overrides: [{ worker: 'w', slots: 1, config: { slots: null } }] }
      expect((await create({ slots: 1, config: { slots: null }, ...overridden })).status).toBe(201)
    })

    it('shows its columns in kubectl get, by short name and category', async () => {
      const name = await created()
      const put = await applyStatus(name, {
        observedGeneration: 1,
        currentRevision: '7f3ac1d09b2e',
        updateRevision: '91bc02f7a1c4',
        replicas: 238,
        workers: { matched: 240, updated: 24, acknowledged: 237, unavailable: 1 },
        rollout: {
          revision: '91bc02f7a1c4',
          attempt: 1,
          stage: 2,
          stages: 4,
          phase: 'Baking',
          since: '2026-01-01T00:00:00Z',
          epoch: 'e',
          gates: [{ name: 'failureRate', verdict: 'Passed', updated: '2.0 %', runs: Number.MAX_SAFE_INTEGER }],
        },
        conditions: [
          {
            type: 'Ready',
            status: 'False',
            reason: 'RollingOut',
            message: '',
            lastTransitionTime: '2026-01-01T00:00:00Z',
          },
        ],
      })
      expect({ status: put.status, message: put.body['message'] }).toEqual({ status: 200, message: undefined })
      const [head = '', row = ''] = (await server.kubectl('get', 'fws', name)).stdout.split('\n')
      const wide = (await server.kubectl('get', 'muster', '-o', 'wide')).stdout.split('\n')
      const names = ['NAME', 'TYPE', 'READY', 'WORKERS', 'UPDATED', 'ACKED', 'UNAVAILABLE', 'STAGE', 'REVISION', 'AGE']
      expect(head.split(/\s+/).filter(Boolean)).toEqual(names)
      expect(row.split(/\s+/).slice(0, 9)).toEqual([name, 'a', 'False', '240', '24', '237', '1', '2', '7f3ac1d09b2e'])
      expect(wide[0]?.split(/\s+/)).toEqual([...names, 'PHASE', 'UPDATE', 'REPLICAS', 'POLICY', 'REASON'])
      expect(wide.find((line) => line.startsWith(`${name} `) || line.includes(`/${name} `))).toMatch(
        /Baking\s+91bc02f7a1c4\s+238\s+Enforce\s+RollingOut/,
      )
    })

    it('can be selected by type', async () => {
      const name = await created({ type: 'rare' })
      expect((await server.kubectl('get', 'fws', '--field-selector=spec.type=rare', '-o', 'name')).stdout.trim()).toBe(
        `fleetworkerset.muster.dev/${name}`,
      )
    })

    it('accepts the largest status, which takes less than 64 KiB', async () => {
      const name = await created()
      const status = largestStatus()
      const put = await applyStatus(name, status)
      expect({ status: put.status, message: put.body['message'] }).toEqual({ status: 200, message: undefined })
      expect(put.body['status']).toEqual(status)
      expect(Buffer.byteLength(JSON.stringify(put.body['status']))).toBeLessThan(MAX_STATUS_BYTES)
    })

    it.each(SET_STATES.filter(({ object }) => !object.deleting && object.status.observedGeneration !== -1))(
      'accepts the status of a state, and kubectl wait has the right result ($name)',
      async ({ object: { generation, suspend, status }, expected: [, , isReady] }) => {
        const name = await created({ suspend })
        for (let slots = 1; slots < generation; slots += 1) await changed(name, { slots })
        expect((await read(name))['metadata']).toMatchObject({ generation })
        const put = await applyStatus(name, status)
        expect({ status: put.status, message: put.body['message'] }).toEqual({ status: 200, message: undefined })
        expect(put.body['status']).toEqual(status)
        expect((await server.kubectl('wait', '--for=condition=Ready', `fws/${name}`, '--timeout=0')).code === 0).toBe(
          isReady,
        )
      },
    )

    it.each(SET_STATES.filter(({ object }) => object.deleting))(
      'lets kubectl wait fail for a set that is being deleted ($name)',
      async ({ object: { status } }) => {
        const name = await created()
        const finalizers = (value: readonly string[] | null): Promise<KubeResponse> =>
          server.request('PATCH', `${OBJECTS}/${name}`, {
            body: { metadata: { finalizers: value } },
            contentType: 'application/merge-patch+json',
          })
        await finalizers(['muster.dev/release'])
        await changed(name, { slots: 1 })
        expect((await server.request('DELETE', `${OBJECTS}/${name}`)).status).toBe(200)
        expect((await read(name))['metadata']).toMatchObject({ generation: status.observedGeneration })
        const put = await applyStatus(name, status)
        expect([put.status, put.body['status']]).toEqual([200, status])
        expect(await server.kubectl('wait', '--for=condition=Ready', `fws/${name}`, '--timeout=0')).toMatchObject({
          code: 1,
        })
        await finalizers(null)
      },
    )

    it('lets kubectl wait time out before an operator has seen it', async () => {
      const wait = await server.kubectl('wait', '--for=condition=Ready', `fws/${await created()}`, '--timeout=0')
      expect(wait).toMatchObject({ code: 1 })
    })

    it('accepts a status with ids of workers as long as the master permits', async () => {
      const [name, worker] = [await created(), 'ä'.repeat(MAX_NAME_CHARS)]
      const status = {
        worst: [{ worker, reason: 'EnteredError', message: '' }],
        drift: { count: 1, workers: [worker] },
      }
      const put = await applyStatus(name, status)
      expect({ status: put.status, message: put.body['message'] }).toEqual({ status: 200, message: undefined })
    })

    it('has a scale with its replicas, those of the status and a selector', async () => {
      const name = await created({ replicas: 3, ...workload() })
      expect((await applyStatus(name, { replicas: 2, selector: 'app=w' })).status).toBe(200)
      const { status, body } = await server.request('GET', `${OBJECTS}/${name}/scale`)
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { kind: 'Scale', spec: { replicas: 3 }, status: { replicas: 2, selector: 'app=w' } },
      })
    })

    it('is explained by kubectl, field by field', async () => {
      expect((await server.kubectl('explain', 'fws.spec.rollout.maxUnavailable')).stdout).toContain(
        'How many workers may be unavailable',
      )
      expect((await server.kubectl('explain', 'fws.status.workers.pinned')).stdout).toContain(
        'a FleetWorker of their own',
      )
    })
  })
})
