/** The checks of `muster doctor` that read a cluster, against an API server. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { FakeApiServer, LEASES } from '../../operator/fake-apiserver.ts'
import { kubeconfigOf } from '../../operator/fake-fleet.ts'
import type { FakeKind } from '../../operator/fake-store.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'
import { FLEET_WORKERS, FLEET_WORKER_SETS } from '../../../src/operator/index.ts'
import { doctor, type Diagnosis } from './fixture.ts'

const DEFINITIONS: FakeKind = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
}
const WORKERS: FakeKind = { ...FLEET_WORKERS, kind: 'FleetWorker' }
const SETS: FakeKind = { ...FLEET_WORKER_SETS, kind: 'FleetWorkerSet' }
const HELD = { holderIdentity: 'operator-1', renewTime: '2026-11-30T11:59:58.000000Z' }
const NOW_MS = Date.parse('2026-11-30T12:00:00Z')
const NOWHERE = 'http://127.0.0.1:1' // There is no master: the checks of the cluster do not need one.

let fake: FakeApiServer
let file: string
let before: string | undefined

beforeEach(async () => {
  fake = await new FakeApiServer([DEFINITIONS, LEASES, WORKERS, SETS], () => NOW_MS).start()
  file = join(temporaryFolder(), 'kubeconfig')
  writeFileSync(file, kubeconfigOf(fake.url, 'prod'))
  before = process.env['KUBECONFIG']
  process.env['KUBECONFIG'] = file
})
afterEach(async () => {
  if (before === undefined) delete process.env['KUBECONFIG']
  else process.env['KUBECONFIG'] = before
  await fake.close()
})

const run = (words: readonly string[] = [], environment = {}): Promise<Diagnosis> =>
  doctor(NOWHERE, words, { KUBECONFIG: file, ...environment })

interface Definition {
  readonly spec: { readonly versions: { schema: { openAPIV3Schema: { properties: Record<string, object> } } }[] }
}

function install(plural: string, edit: (spec: Record<string, unknown>) => void = () => undefined): void {
  const definition = parse(readFileSync(`crds/${plural}.muster.dev.yaml`, 'utf8')) as Definition
  const { spec } = definition.spec.versions[0]?.schema.openAPIV3Schema.properties ?? {}
  edit((spec as { properties: Record<string, unknown> }).properties)
  fake.store.create({ kind: DEFINITIONS, namespace: '' }, definition as never, 'kubectl')
}

const holdLease = (spec: object, name = 'muster-operator', namespace = 'prod'): void =>
  void fake.store.create({ kind: LEASES, namespace }, { metadata: { name }, spec: { ...spec } }, 'operator')

/** Declares an object whose status the operator has written. */
function declare(kind: FakeKind, namespace: string, name: string, reason: string, message = ''): void {
  const status = { conditions: [{ type: 'Synced', status: 'False', reason, message }] }
  fake.store.create({ kind, namespace }, { metadata: { name }, spec: {}, status }, 'kubectl')
}

describe('muster doctor with a kubeconfig', () => {
  it('accepts the definitions of this release, and an operator that holds its Lease', async () => {
    install('fleetworkers')
    install('fleetworkersets')
    holdLease(HELD)
    const diagnosis = await run()
    expect(diagnosis.of('crds')).toMatchObject({ status: 'ok', text: expect.stringContaining('v1alpha1') })
    expect(diagnosis.of('operator-lease')).toMatchObject({ status: 'ok', text: expect.stringContaining('operator-1') })
    expect(fake.requests.every(({ method }) => method === 'GET')).toBe(true)
  })

  it('names the fields that definitions of an earlier release lack', async () => {
    install('fleetworkers', (spec) => delete spec['drain'])
    install('fleetworkersets')
    expect((await run()).of('crds')).toMatchObject({
      status: 'warn',
      cause: expect.stringContaining('lacks spec.drain'),
      next: expect.stringContaining('kubectl apply --server-side'),
    })
  })

  it('names a definition that is missing, and skips a cluster without Muster', async () => {
    expect((await run()).of('operator-lease')).toMatchObject({
      status: 'skip',
      text: 'the cluster has no custom resources of Muster',
    })
    install('fleetworkers')
    const diagnosis = await run()
    expect(diagnosis.of('crds')).toMatchObject({ status: 'fail', text: expect.stringContaining('fleetworkersets') })
    expect(diagnosis.of('operator-lease')).toMatchObject({ status: 'skip', text: 'needs crds, which failed' })
  })

  it.each([
    [{ holderIdentity: 'operator-1', renewTime: '2026-11-30T11:58:00.000000Z' }, 'has not renewed'],
    [{ holderIdentity: '', renewTime: '2026-11-30T11:59:58.000000Z' }, 'no operator holds'],
  ])('fails if no operator renews the Lease: %j', async (spec, text) => {
    install('fleetworkers')
    install('fleetworkersets')
    holdLease(spec)
    expect((await run()).of('operator-lease')).toMatchObject({ status: 'fail', text: expect.stringContaining(text) })
  })

  it('finds the Lease by its name and namespace', async () => {
    install('fleetworkers')
    install('fleetworkersets')
    holdLease({ holderIdentity: 'o', renewTime: '2026-11-30T11:59:58.000000Z' }, 'team-operator', 'other')
    expect((await run()).of('operator-lease')).toMatchObject({
      status: 'warn',
      text: 'the Lease muster-operator of namespace prod does not exist',
    })
    const named = await run(['--namespace', 'other'], { SVC_LEASE_NAME: 'team-operator' })
    expect(named.of('operator-lease')?.status).toBe('ok')
  })

  it('names the objects that the tenants of the operator do not permit, on every page of the list', async () => {
    install('fleetworkers')
    install('fleetworkersets')
    holdLease(HELD)
    for (let n = 0; n < 600; n += 1) declare(WORKERS, 'team-a', `w-${n}`, 'Applied')
    expect((await run()).of('tenants')).toMatchObject({
      status: 'ok',
      text: '600 FleetWorkers and FleetWorkerSets, all permitted',
    })
    const cause = 'FleetWorkers of the namespace team-b may not manage the worker crawler/w-1'
    declare(WORKERS, 'team-b', 'w-1', 'NotPermitted', cause)
    expect((await run()).of('tenants')).toMatchObject({
      status: 'warn',
      text: 'the tenants of the operator do not permit FleetWorker team-b/w-1',
      cause,
      next: expect.stringContaining('operator.tenants'),
    })
    for (const name of ['s-1', 's-2', 's-3']) declare(SETS, 'team-b', name, 'NotPermitted')
    expect((await run()).of('tenants')?.text).toMatch(/FleetWorkerSet team-b\/s-2 and 1 more$/)
  })

  it('skips what the user may not read, and fails if the API server does not respond', async () => {
    fake.script({ method: 'GET' }, { kind: 'refuse', status: 403, reason: 'Forbidden' }, 2)
    expect((await run()).of('crds')).toMatchObject({ status: 'skip', text: expect.stringContaining('lacks a right') })
    await fake.close()
    expect((await run()).of('crds')).toMatchObject({ status: 'fail', next: expect.stringContaining('KUBECONFIG') })
  })
})
