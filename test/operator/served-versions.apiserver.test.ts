/**
 * Tests on a real API server that both kinds are served as `v1alpha1` and `v1beta1`, that an object is the same under
 * each, and that writing it through either loses no field (D248).
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { type ApiServer, type CustomResourceDefinition, startApiServer } from './real-apiserver.ts'
import { withApiServer } from './with-programs.ts'

type Json = Record<string, unknown>
interface Definition extends CustomResourceDefinition {
  readonly spec: CustomResourceDefinition['spec'] & {
    readonly versions: readonly { readonly name: string; readonly served: boolean; readonly storage: boolean }[]
  }
  readonly status?: { readonly storedVersions: readonly string[] }
}

const VERSIONS = ['v1alpha1', 'v1beta1'] as const
const SOURCES = [
  { field: 'a', secretKeyRef: { name: 's', key: 'k' }, format: 'JSON' },
  { field: 'b', configMapKeyRef: { name: 'm', key: 'k' }, as: 'JSON' },
]
const SHARED = {
  type: 'a',
  config: { enabled: true, own: { deep: [1, null] }, nothing: null },
  configFrom: SOURCES,
  slots: 3,
  managementPolicy: 'Warn',
  deletionPolicy: 'Reset',
  ignoreDifferences: ['/x'],
  suspend: true,
}
/** A name, the plural of its kind, and its spec; new and old names of fields. */
const OBJECTS: readonly (readonly [string, string, string, Json])[] = [
  ['FleetWorker', 'fleetworkers', 'new', { ...SHARED, workerID: 'm-1', desiredState: 'Drained' }],
  ['FleetWorker', 'fleetworkers', 'old', { ...SHARED, workerId: 'm-1', drain: true }],
  [
    'FleetWorkerSet',
    'fleetworkersets',
    'many',
    { ...SHARED, selector: { idPatterns: ['m-*'] }, rollout: { maxUnavailable: 3 } },
  ],
]
const definitionOf = (plural: string): Definition =>
  parse(readFileSync(new URL(`../../crds/${plural}.muster.dev.yaml`, import.meta.url), 'utf8')) as Definition

withApiServer('the served versions', () => {
  describe('the served versions', () => {
    let server: ApiServer
    const path = (version: string, plural: string, name = ''): string =>
      `/apis/muster.dev/${version}/namespaces/default/${plural}${name === '' ? '' : `/${name}`}`
    const manifestOf = (version: string, kind: string, name: string, spec: Json): Json => ({
      apiVersion: `muster.dev/${version}`,
      kind,
      metadata: { name },
      spec,
    })
    /** The object without the names of versions. */
    async function read(version: string, plural: string, name: string): Promise<Json> {
      const { status, body } = await server.request('GET', path(version, plural, name))
      expect([status, body['apiVersion']]).toEqual([200, `muster.dev/${version}`])
      const { managedFields: _, ...metadata } = body['metadata'] as Json
      return { ...body, apiVersion: undefined, metadata }
    }

    beforeAll(async () => {
      server = await startApiServer()
      for (const plural of ['fleetworkers', 'fleetworkersets']) {
        await server.install(definitionOf(plural))
        await server.kubectl('wait', '--for=condition=Established', `crd/${plural}.muster.dev`, '--timeout=30s')
      }
    }, 120_000)
    afterAll(() => server.close())

    it.each(['fleetworkers', 'fleetworkersets'])('have the same shape, and v1alpha1 is stored (%s)', async (plural) => {
      const { body } = await server.request(
        'GET',
        `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.muster.dev`,
      )
      expect(body['spec']).toMatchObject({ conversion: { strategy: 'None' } })
      expect((body as unknown as Definition).status?.storedVersions).toEqual(['v1alpha1'])
      const [alpha, beta, ...more] = definitionOf(plural).spec.versions
      expect({ ...beta, name: 'v1alpha1', storage: true }).toEqual(alpha)
      expect(more).toEqual([])
    })

    it.each(OBJECTS)(
      'show the same object, whichever it was created through (%s, %s, %s)',
      async (kind, plural, name, spec) => {
        for (const created of VERSIONS) {
          const own = `${name}-${created}`
          const { status } = await server.request('POST', path(created, plural), {
            body: manifestOf(created, kind, own, spec),
          })
          expect(status).toBe(201)
          const [alpha, beta] = [await read('v1alpha1', plural, own), await read('v1beta1', plural, own)]
          expect(beta).toEqual(alpha)
          expect(alpha['spec']).toMatchObject(spec)
        }
      },
    )

    it.each(OBJECTS)(
      'lose no field when the object is written through the other (%s, %s, %s)',
      async (kind, plural, name, spec) => {
        const own = `written-${name}`
        await server.request('POST', path('v1alpha1', plural), { body: manifestOf('v1alpha1', kind, own, spec) })
        const before = await read('v1alpha1', plural, own)
        for (const version of ['v1beta1', 'v1alpha1']) {
          const { body } = await server.request('GET', path(version, plural, own))
          const labelled = { ...body, metadata: { ...(body['metadata'] as Json), labels: { through: version } } }
          expect((await server.request('PUT', path(version, plural, own), { body: labelled })).status).toBe(200)
        }
        for (const version of VERSIONS) {
          const after = await read(version, plural, own)
          expect(after['spec']).toEqual(before['spec'])
          expect((after['metadata'] as Json)['generation']).toBe(1)
        }
      },
    )

    it.each(['client', 'server'])('are both accepted by kubectl apply on the side of the %s', async (side) => {
      for (const version of ['v1alpha1', 'v1beta1', 'v1alpha1'])
        expect(
          await server.apply(
            manifestOf(version, 'FleetWorker', `applied-${side}`, SHARED),
            ...(side === 'server' ? ['--server-side'] : []),
          ),
        ).toMatchObject({ code: 0 })
      expect((await read('v1beta1', 'fleetworkers', `applied-${side}`))['metadata']).toMatchObject({ generation: 1 })
    })

    it('have the same rules, status and scale', async () => {
      await server.apply(manifestOf('v1beta1', 'FleetWorker', 'scaled', { type: 'a', workerID: 'm-9' }))
      const at = path('v1beta1', 'fleetworkers', 'scaled')
      const patch = (to: string, body: object) =>
        server.request('PATCH', to, { body, contentType: 'application/merge-patch+json' })
      expect((await patch(at, { spec: { workerID: 'm-8' } })).body['message']).toMatch(/workerID is immutable/)
      expect((await patch(`${at}/scale`, { spec: { replicas: 4 } })).status).toBe(200)
      expect((await patch(`${at}/status`, { status: { state: 'RUNNING' } })).status).toBe(200)
      expect(await read('v1alpha1', 'fleetworkers', 'scaled')).toMatchObject({
        spec: { slots: 4 },
        status: { state: 'RUNNING' },
      })
    })
  })
})
