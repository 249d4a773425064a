/**
 * Tests the CustomResourceDefinition on a real API server: the server accepts it without warnings, each rule has one
 * rejected and one accepted object, and kubectl works with it.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { type KubeResponse, type ApiServer, type CustomResourceDefinition, startApiServer } from '../real-apiserver.ts'
import { withApiServer } from '../with-programs.ts'
import { STATES } from './states.ts'

const FILE = new URL('../../../crds/fleetworkers.muster.dev.yaml', import.meta.url)
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fleetworkers.muster.dev'
const OBJECTS = '/apis/muster.dev/v1alpha1/namespaces/default/fleetworkers'

type Json = Record<string, unknown>
interface Crd {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message: string }[]
  }
}

const objectOf = (name: string, spec: Json): Json => ({
  apiVersion: 'muster.dev/v1alpha1',
  kind: 'FleetWorker',
  metadata: { name },
  spec,
})
const secretSource = (field: string): Json => ({ field, secretKeyRef: { name: 's', key: 'k' } })

/**
 * Name of the rule; an accepted spec; a rejected one; the message of the rejection. `type` is added if it is missing.
 */
const RULES: readonly (readonly [string, Json, Json, RegExp])[] = [
  ['type: pattern', { type: 'http-probe' }, { type: 'Http' }, /spec\.type/],
  ['type: required', { type: 'a' }, { type: null }, /spec\.type/],
  ['workerID: pattern', { workerID: 'a:b@c_d.e' }, { workerID: '..' }, /spec\.workerID/],
  ['workerID: not empty', { workerID: 'a' }, { workerID: '' }, /spec\.workerID/],
  ['config: an object', { config: {} }, { config: 'x' }, /spec\.config/],
  ['config.enabled', { config: { enabled: null } }, { config: { enabled: 'yes' } }, /spec\.config\.enabled/],
  ['config.slots', { config: { slots: 1024 } }, { config: { slots: 1025 } }, /spec\.config\.slots/],
  [
    'config.max_attempts',
    { config: { max_attempts: 1 } },
    { config: { max_attempts: 0 } },
    /spec\.config\.max_attempts/,
  ],
  [
    'config.recycle_seconds',
    { config: { recycle_seconds: 0.5 } },
    { config: { recycle_seconds: -1 } },
    /spec\.config\.recycle_seconds/,
  ],
  [
    'configFrom: one of two references',
    { configFrom: [secretSource('a')] },
    { configFrom: [{ field: 'a' }] },
    /name one of secretKeyRef and configMapKeyRef/,
  ],
  [
    'configFrom: not both references',
    { configFrom: [{ field: 'a', configMapKeyRef: { name: 'c', key: 'k' } }] },
    { configFrom: [{ ...secretSource('a'), configMapKeyRef: { name: 'c', key: 'k' } }] },
    /name one of secretKeyRef and configMapKeyRef/,
  ],
  [
    'configFrom: forbidden names',
    { configFrom: [secretSource('constructor_')] },
    { configFrom: [secretSource('constructor')] },
    /not allowed in a config/,
  ],
  [
    'configFrom: names',
    { configFrom: [secretSource('_a.b-c')] },
    { configFrom: [secretSource('1a')] },
    /spec\.configFrom\[0\]\.field/,
  ],
  [
    'configFrom: a field once',
    { configFrom: [secretSource('a'), secretSource('b')] },
    { configFrom: [secretSource('a'), secretSource('a')] },
    /Duplicate value/,
  ],
  [
    'configFrom: format',
    { configFrom: [{ ...secretSource('a'), format: 'JSON' }] },
    { configFrom: [{ ...secretSource('a'), format: 'YAML' }] },
    /spec\.configFrom\[0\]\.format/,
  ],
  ['slots: range', { slots: 0 }, { slots: 1025 }, /spec\.slots/],
  [
    'slots: not in config too',
    { slots: 2, config: { enabled: true } },
    { slots: 2, config: { slots: 2 } },
    /set slots once, in spec\.slots or in spec\.config/,
  ],
  [
    'slots: not in configFrom too',
    { slots: 2, configFrom: [secretSource('a')] },
    { slots: 2, configFrom: [secretSource('slots')] },
    /set slots once, in spec\.slots or in spec\.configFrom/,
  ],
  ['managementPolicy', { managementPolicy: 'Warn' }, { managementPolicy: 'warn' }, /spec\.managementPolicy/],
  ['desiredState', { desiredState: 'Drained' }, { desiredState: 'Stopped' }, /spec\.desiredState/],
  ['deletionPolicy', { deletionPolicy: 'Deregister' }, { deletionPolicy: 'Delete' }, /spec\.deletionPolicy/],
  [
    'ignoreDifferences: pointers',
    { ignoreDifferences: ['/a/b~1c/0'] },
    { ignoreDifferences: ['a'] },
    /spec\.ignoreDifferences\[0\]/,
  ],
  [
    'ignoreDifferences: a set',
    { ignoreDifferences: ['/a', '/b'] },
    { ignoreDifferences: ['/a', '/a'] },
    /Duplicate value/,
  ],
  [
    'registrationTimeoutSeconds',
    { registrationTimeoutSeconds: 0 },
    { registrationTimeoutSeconds: 86_401 },
    /spec\.registrationTimeoutSeconds/,
  ],
]

withApiServer('the CustomResourceDefinition', () => {
  describe('the CustomResourceDefinition', () => {
    let server: ApiServer
    let made = 0
    const create = (spec: Json): Promise<KubeResponse> =>
      server.request('POST', OBJECTS, { body: objectOf(`w${(made += 1)}`, { type: 'a', ...spec }) })
    const created = async (spec: Json = {}): Promise<string> => {
      const { status, body } = await create(spec)
      expect({ status, message: body['message'] }).toEqual({ status: 201, message: undefined })
      return (body['metadata'] as { name: string }).name
    }
    const changed = (name: string, spec: Json): Promise<KubeResponse> =>
      server.request('PATCH', `${OBJECTS}/${name}`, { body: { spec }, contentType: 'application/merge-patch+json' })
    const conditions = async (): Promise<NonNullable<Crd['status']>['conditions']> =>
      ((await server.request('GET', CRD)).body as Crd).status?.conditions

    beforeAll(async () => {
      server = await startApiServer()
      await server.install(parse(readFileSync(FILE, 'utf8')) as CustomResourceDefinition)
      // The API serves a kind shortly before the condition is set.
      await server.kubectl('wait', '--for=condition=Established', 'crd/fleetworkers.muster.dev', '--timeout=30s')
    }, 120_000)
    afterAll(() => server.close())

    it('is established and structural', async () => {
      const found = (await conditions()) ?? []
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

    it('rejects a change of the type or worker ID, and accepts the same value', async () => {
      const name = await created({ type: 'a' })
      expect((await changed(name, { type: 'b' })).body['message']).toMatch(/type is immutable/)
      expect((await changed(name, { workerID: 'x' })).body['message']).toMatch(/workerID is immutable/)
      expect((await changed(name, { workerID: name, config: { enabled: true } })).status).toBe(200)
    })

    it('sets defaults, and a status that shows that no operator has seen it', async () => {
      const { body } = await server.request(
        'GET',
        `${OBJECTS}/${await created({ config: {}, configFrom: [secretSource('a')] })}`,
      )
      expect(body['spec']).toEqual({
        type: 'a',
        config: {},
        configFrom: [{ ...secretSource('a'), as: 'String' }],
        managementPolicy: 'Enforce',
        deletionPolicy: 'Retain',
        registrationTimeoutSeconds: 600,
      })
      expect(body['status']).toMatchObject({
        observedGeneration: -1,
        conditions: [{ type: 'Ready', status: 'Unknown', reason: 'Pending' }],
      })
    })

    it('keeps all fields of a config, and drops unknown fields elsewhere', async () => {
      const config = { Own_field: { deep: [1, { x: null }] }, nothing: null }
      const { body } = await server.request('GET', `${OBJECTS}/${await created({ config, unknown: 1 })}`)
      expect(body['spec']).toMatchObject({ config })
      expect(body['spec']).not.toHaveProperty('unknown')
    })

    it('treats null as not set when it checks that slots are set in one place only', async () => {
      expect((await create({ slots: 1, config: { slots: null } })).status).toBe(201)
    })

    it('can be scaled with kubectl, except if the config sets slots', async () => {
      const [name, own] = [await created({ slots: 1 }), await created({ config: { slots: 1 } })]
      expect(await server.kubectl('scale', `fleetworker/${name}`, '--replicas=3')).toMatchObject({ code: 0 })
      expect((await server.request('GET', `${OBJECTS}/${name}/scale`)).body['spec']).toEqual({ replicas: 3 })
      expect((await server.kubectl('scale', `fleetworker/${own}`, '--replicas=3')).stderr).toMatch(
        /set slots once|could not fetch/,
      )
    })

    it('shows its columns in kubectl get, by short name and category', async () => {
      const name = await created({ slots: 1 })
      const status = {
        observedGeneration: 1,
        state: 'RUNNING',
        slots: 1,
        config: { generation: 7 },
        lastSeenTime: '2026-01-01T00:00:00Z',
        conditions: [condition('Ready', 'True'), condition('Synced', 'True')],
      }
      const put = await server.request('PATCH', `${OBJECTS}/${name}/status`, {
        body: { status },
        contentType: 'application/merge-patch+json',
      })
      expect({ status: put.status, message: put.body['message'] }).toEqual({ status: 200, message: undefined })
      const { stdout } = await server.kubectl('get', 'fwk', name)
      const [head = '', row = ''] = stdout.split('\n')
      expect(head.split(/\s+/).filter(Boolean)).toEqual([
        'NAME',
        'TYPE',
        'STATE',
        'READY',
        'SYNCED',
        'GEN',
        'SLOTS',
        'LAST-SEEN',
        'AGE',
      ])
      expect(row.split(/\s+/).slice(0, 7)).toEqual([name, 'a', 'RUNNING', 'True', 'True', '7', '1'])
      expect((await server.kubectl('get', 'muster', '-o', 'wide')).stdout).toMatch(
        /WORKER\s+APPLIED\s+POLICY\s+CPU\s+RSS\s+REASON\s+ERROR/,
      )
      expect(await server.kubectl('wait', '--for=condition=Ready', `fwk/${name}`, '--timeout=5s')).toMatchObject({
        code: 0,
      })
    })

    it.each(STATES.filter(({ object }) => !object.deleting && object.status.observedGeneration !== -1))(
      'accepts the status of a state, and kubectl wait has the right result ($name)',
      async ({ object: { generation, suspend, status }, expected: [, , isReady] }) => {
        const name = await created({ suspend })
        for (let slots = 1; slots < generation; slots += 1) await changed(name, { slots })
        const { body } = await server.request('GET', `${OBJECTS}/${name}`)
        expect((body['metadata'] as { generation: number }).generation).toBe(generation)
        const applied = { apiVersion: 'muster.dev/v1alpha1', kind: 'FleetWorker', metadata: { name }, status }
        const put = await server.request('PATCH', `${OBJECTS}/${name}/status?fieldManager=muster-operator&force=true`, {
          body: applied,
          contentType: 'application/apply-patch+yaml',
        })
        expect({ status: put.status, message: put.body['message'] }).toEqual({ status: 200, message: undefined })
        expect(put.body['status']).toEqual(status)
        expect((await server.kubectl('wait', '--for=condition=Ready', `fwk/${name}`, '--timeout=0')).code === 0).toBe(
          isReady,
        )
      },
    )

    it('lets kubectl wait time out before an operator has seen it', async () => {
      expect(
        await server.kubectl('wait', '--for=condition=Ready', `fwk/${await created()}`, '--timeout=0'),
      ).toMatchObject({ code: 1 })
    })

    it('can be selected by type and worker ID', async () => {
      const name = await created({ type: 'rare', workerID: 'one' })
      expect(
        (
          await server.kubectl('get', 'fwk', '--field-selector=spec.type=rare,spec.workerID=one', '-o', 'name')
        ).stdout.trim(),
      ).toBe(`fleetworker.muster.dev/${name}`)
    })

    it('is explained by kubectl, field by field', async () => {
      expect((await server.kubectl('explain', 'fleetworker.spec.config')).stdout).toContain(
        'The whole config of the worker',
      )
      expect((await server.kubectl('explain', 'fleetworker.status.drift.paths')).stdout).toContain(
        'JSON pointers to the first fields that differ',
      )
    })
  })
})

const condition = (type: string, status: string): Json => ({
  type,
  status,
  reason: 'Test',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
})
