/** Tests on a real API server that the policy of the manifests warns of old names of fields, and of nothing else. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import { eventually } from '../kit/index.ts'
import { type ApiServer, startApiServer } from './real-apiserver.ts'
import { withApiServer } from './with-programs.ts'

type Json = Record<string, unknown>
const KINDS: ReadonlySet<unknown> = new Set([
  'CustomResourceDefinition',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
])
const WARNING = /^Warning: Validation failed for ValidatingAdmissionPolicy 'muster-old-names' with binding \S+: (.*)$/gm

withApiServer('the policy of old names', () => {
  describe('the policy of old names', () => {
    let server: ApiServer
    let made = 0

    async function warnings(spec: Json, kind = 'FleetWorker', version = 'v1alpha1', name = `w${(made += 1)}`) {
      const apiVersion = `muster.dev/${version}`
      const { code, stderr } = await server.apply({
        apiVersion,
        kind,
        metadata: { name },
        spec: { type: 'a', ...spec },
      })
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) })
      return [...stderr.matchAll(WARNING)].map(([, message]) => message)
    }
    const source = (more: Json): Json => ({ field: 'f', configMapKeyRef: { name: 'm', key: 'k' }, ...more })

    beforeAll(async () => {
      server = await startApiServer()
      const all = parseAllDocuments(readFileSync('manifests/base/muster.yaml', 'utf8')).map(
        (each) => each.toJS() as Json,
      )
      for (const object of all.filter(({ kind }) => KINDS.has(kind)))
        expect(await server.apply(object, '--server-side')).toMatchObject({ code: 0 })
      for (const plural of ['fleetworkers', 'fleetworkersets'])
        await server.kubectl('wait', '--for=condition=Established', `crd/${plural}.muster.dev`, '--timeout=30s')
      // A policy takes effect a moment after it is stored.
      await eventually('the policy warns', async () => (await warnings({ workerId: 'm-1' })).length > 0, {
        withinMs: 60_000,
      })
    }, 120_000)
    afterAll(() => server.close())

    it.each<[Json, readonly string[]]>([
      [{ workerId: 'm-1' }, ['spec.workerId is removed in 0.3: use spec.workerID, or run muster migrate']],
      [{ drain: true }, ['spec.drain is removed in 0.3: use spec.desiredState: Drained, or run muster migrate']],
      [{ drain: false }, ['spec.drain is removed in 0.3: use spec.desiredState: Running, or run muster migrate']],
      [
        { configFrom: [source({ as: 'JSON' })] },
        ['spec.configFrom[].as is removed in 0.3: use spec.configFrom[].format, or run muster migrate'],
      ],
    ])('prints the replacement of %j, under each version', async (spec, expected) => {
      for (const version of ['v1alpha1', 'v1beta1'])
        expect(await warnings(spec, 'FleetWorker', version)).toEqual(expected)
    })

    it('prints all that an object has, and also for a FleetWorkerSet and for an edit', async () => {
      expect(await warnings({ workerId: 'm-1', drain: true })).toHaveLength(2)
      const set = { selector: { idPatterns: ['*'] }, configFrom: [source({ as: 'JSON' })] }
      expect(await warnings(set, 'FleetWorkerSet')).toHaveLength(1)
      const name = 'edited'
      expect(await warnings({}, 'FleetWorker', 'v1alpha1', name)).toEqual([])
      expect(await warnings({ drain: true }, 'FleetWorker', 'v1alpha1', name)).toHaveLength(1)
    })

    it('prints nothing for new names, and for the default that the API server adds', async () => {
      for (const configFrom of [[], [source({})], [source({ format: 'JSON' })]]) {
        const name = `new${(made += 1)}`
        for (const slots of [1, 2])
          expect(
            await warnings(
              { workerID: 'm-1', desiredState: 'Drained', configFrom, slots },
              'FleetWorker',
              'v1alpha1',
              name,
            ),
          ).toEqual([])
      }
    })
  })
})
