/**
 * Tests on a real API server that a field of the FleetWorker is accepted under its new and its old name, but not under
 * both, and that a rename changes nothing for the worker (D244).
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { formatOf } from '../../../src/operator/config/index.ts'
import { wantsDrain, workerIdOf, type FleetWorker } from '../../../src/operator/fleetworker/index.ts'
import { type ApiServer, type CustomResourceDefinition, type KubeResponse, startApiServer } from '../real-apiserver.ts'
import { withApiServer } from '../with-programs.ts'

const FILE = new URL('../../../crds/fleetworkers.muster.dev.yaml', import.meta.url)
const OBJECTS = '/apis/muster.dev/v1alpha1/namespaces/default/fleetworkers'

type Json = Record<string, unknown>

withApiServer('renamed fields', () => {
  describe('renamed fields', () => {
    let server: ApiServer
    let made = 0

    const manifestOf = (name: string, spec: Json): Json => ({
      apiVersion: 'muster.dev/v1alpha1',
      kind: 'FleetWorker',
      metadata: { name },
      spec: { type: 'a', ...spec },
    })
    const create = (spec: Json): Promise<KubeResponse> =>
      server.request('POST', OBJECTS, { body: manifestOf(`w${(made += 1)}`, spec) })
    const created = async (spec: Json): Promise<string> => {
      const { status, body } = await create(spec)
      expect({ status, message: body['message'] }).toEqual({ status: 201, message: undefined })
      return (body['metadata'] as { name: string }).name
    }
    const changed = (name: string, spec: Json): Promise<KubeResponse> =>
      server.request('PATCH', `${OBJECTS}/${name}`, { body: { spec }, contentType: 'application/merge-patch+json' })
    const read = async (name: string): Promise<FleetWorker> =>
      (await server.request('GET', `${OBJECTS}/${name}`)).body as unknown as FleetWorker

    beforeAll(async () => {
      server = await startApiServer()
      await server.install(parse(readFileSync(FILE, 'utf8')) as CustomResourceDefinition)
      await server.kubectl('wait', '--for=condition=Established', 'crd/fleetworkers.muster.dev', '--timeout=30s')
    }, 120_000)
    afterAll(() => server.close())

    it('accepts workerID and workerId, and the operator reads either', async () => {
      for (const spec of [{ workerID: 'm-1' }, { workerId: 'm-1' }])
        expect(workerIdOf(await read(await created(spec)))).toBe('m-1')
    })

    it('refuses workerID and workerId together, even with one value', async () => {
      const refused = await create({ workerID: 'm-1', workerId: 'm-1' })
      expect([refused.status, refused.body['message']]).toEqual([
        422,
        expect.stringContaining('set one of workerID and workerId'),
      ])
    })

    it.each<[string, Json, Json]>([
      ['the old name to the new one', { workerId: 'm-1' }, { workerId: null, workerID: 'm-1' }],
      ['the new name to the old one', { workerID: 'm-1' }, { workerID: null, workerId: 'm-1' }],
    ])('keeps the worker when %s changes, and refuses another ID on the way', async (_, before, after) => {
      const name = await created(before)
      const other = Object.fromEntries(Object.entries(after).map(([key, id]) => [key, id && 'm-2']))
      const none = Object.fromEntries(Object.keys(before).map((key) => [key, null]))
      for (const each of [other, none])
        expect((await changed(name, each)).body['message']).toMatch(/workerID is immutable/)
      expect((await changed(name, after)).status).toBe(200)
      expect(workerIdOf(await read(name))).toBe('m-1')
    })

    it('keeps the worker when kubectl apply gets the file with the new name', async () => {
      for (const [name, args] of [
        ['client', []],
        ['server', ['--server-side']],
      ] as const) {
        for (const spec of [{ workerId: `m-${name}` }, { workerID: `m-${name}` }])
          expect(await server.apply(manifestOf(name, spec), ...args)).toMatchObject({ code: 0 })
        const { spec } = await read(name)
        expect(spec).toMatchObject({ workerID: `m-${name}` })
        expect(spec).not.toHaveProperty('workerId')
      }
    })

    it('accepts desiredState and drain, and refuses them together, also when they agree', async () => {
      const wants = async (spec: Json): Promise<boolean> => wantsDrain((await read(await created(spec))).spec)
      const specs = [{ desiredState: 'Drained' }, { drain: true }, { desiredState: 'Running' }, { drain: false }, {}]
      expect(await Promise.all(specs.map(wants))).toEqual([true, true, false, false, false])
      for (const spec of [
        { desiredState: 'Drained', drain: true },
        { desiredState: 'Running', drain: false },
        { desiredState: 'Running', drain: true },
      ])
        expect((await create(spec)).body['message']).toContain('set one of desiredState and drain')
    })

    it('reads format and as, of which the default of as has no effect, and refuses both', async () => {
      const source = { field: 'a', configMapKeyRef: { name: 'm', key: 'k' } }
      const formats = async (more: Json) => {
        const { spec } = await read(await created({ configFrom: [{ ...source, ...more }] }))
        return spec.configFrom?.map(formatOf)
      }
      const found = [{ format: 'JSON' }, { as: 'JSON' }, { format: 'JSON', as: 'String' }, { format: 'String' }, {}]
      expect(await Promise.all(found.map(formats))).toEqual([['JSON'], ['JSON'], ['JSON'], ['String'], ['String']])
      for (const more of [
        { format: 'String', as: 'JSON' },
        { format: 'JSON', as: 'JSON' },
      ])
        expect((await create({ configFrom: [{ ...source, ...more }] })).body['message']).toContain(
          'set one of format and as',
        )
    })

    it.each([
      ['client', []],
      ['server', ['--server-side']],
    ])('accepts the renamed format with kubectl apply on the side of the %s', async (name, args) => {
      const source = { field: 'a', configMapKeyRef: { name: 'm', key: 'k' } }
      for (const more of [{ as: 'JSON' }, { format: 'JSON' }, {}, { format: 'JSON' }])
        expect(
          await server.apply(manifestOf(`format-${name}`, { configFrom: [{ ...source, ...more }] }), ...args),
        ).toMatchObject({ code: 0 })
      expect((await read(`format-${name}`)).spec.configFrom?.map(formatOf)).toEqual(['JSON'])
    })

    it('moves no generation when a file without a format is applied again', async () => {
      const manifest = manifestOf('again', { configFrom: [{ field: 'a', secretKeyRef: { name: 's', key: 'k' } }] })
      for (let n = 0; n < 2; n += 1) expect(await server.apply(manifest)).toMatchObject({ code: 0 })
      expect((await read('again')).metadata.generation).toBe(1)
    })

    it('has the short names fwk and fw', async () => {
      const name = await created({})
      for (const short of ['fwk', 'fw'])
        expect((await server.kubectl('get', short, name, '-o', 'name')).stdout.trim()).toBe(
          `fleetworker.muster.dev/${name}`,
        )
    })

    it('selects by either name, and shows either in the column WORKER', async () => {
      const names = [await created({ type: 'rare', workerID: 'one' }), await created({ type: 'rare', workerId: 'one' })]
      for (const [at, field] of ['workerID', 'workerId'].entries()) {
        const selector = `--field-selector=spec.type=rare,spec.${field}=one`
        expect((await server.kubectl('get', 'fleetworkers', selector, '-o', 'name')).stdout.trim()).toBe(
          `fleetworker.muster.dev/${names[at]}`,
        )
        expect((await server.kubectl('get', 'fleetworkers', selector, '-o', 'wide')).stdout).toMatch(/\sone\s/)
      }
    })
  })
})
