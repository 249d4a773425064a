/** Runs the table of exchanges, and the runtime itself, against a real kube-apiserver. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Agent } from 'undici'
import {
  ApplyStatusWriter,
  FoldingEventRecorder,
  identityFromText,
  LeaseElector,
  PooledTransport,
  refOf,
  WatchLoop,
  WritableCache,
} from '../../src/operator/kube/index.ts'
import { systemRandom, systemTime } from '../../src/runtime/index.ts'
import { answerTo, cleared, CONFORMANCE } from './conformance.ts'
import { eventually, recordingLog } from '../kit/index.ts'
import { PROBE, type Probe } from './kube/fixture.ts'
import { startApiServer, type ApiServer } from './real-apiserver.ts'
import { withApiServer } from './with-programs.ts'

const PROBES = '/apis/conformance.muster.dev/v1/namespaces/default/probes'

/** The definition of the table's kind for a real API server; the fake server has it as PROBES. */
const PROBE_DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'probes.conformance.muster.dev' },
  spec: {
    group: 'conformance.muster.dev',
    scope: 'Namespaced',
    names: { kind: 'Probe', plural: 'probes', singular: 'probe', listKind: 'ProbeList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.slots',
            statusReplicasPath: '.status.slots',
            labelSelectorPath: '.status.selector',
          },
        },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['type'],
                properties: {
                  type: { type: 'string' },
                  slots: { type: 'integer', format: 'int32' },
                  policy: { type: 'string', default: 'Enforce' },
                },
              },
              status: {
                type: 'object',
                default: { observedGeneration: -1 },
                properties: {
                  observedGeneration: { type: 'integer', format: 'int64', default: -1 },
                  state: { type: 'string' },
                  slots: { type: 'integer', format: 'int32' },
                  selector: { type: 'string' },
                  drift: {
                    type: 'object',
                    properties: { count: { type: 'integer', format: 'int32' }, by: { type: 'string' } },
                  },
                  conditions: {
                    type: 'array',
                    'x-kubernetes-list-type': 'map',
                    'x-kubernetes-list-map-keys': ['type'],
                    items: {
                      type: 'object',
                      required: ['type'],
                      properties: { type: { type: 'string' }, status: { type: 'string' } },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
}

withApiServer('kube-apiserver responds as the fake does', () => {
  let server: ApiServer
  let dispatcher: Agent

  beforeAll(async () => {
    server = await startApiServer()
    await server.install(PROBE_DEFINITION)
    dispatcher = new Agent({ connect: { ca: readFileSync(server.caFile, 'utf8') } })
  }, 120_000)
  afterAll(async () => {
    await dispatcher.close()
    await server.close()
  })

  describe('kube-apiserver responds as the fake does:', () => {
    it.each(CONFORMANCE)(
      '$title',
      async (scenario) => {
        const at = { url: server.url, token: server.adminToken, dispatcher }
        expect(await answerTo(scenario, at)).toEqual([])
        await cleared(at)
      },
      30_000,
    )
  })

  it('works with the runtime: lease, list and watch, status, event', async () => {
    const identity = identityFromText(
      JSON.stringify({
        'current-context': 'c',
        clusters: [{ name: 'k', cluster: { server: server.url, 'certificate-authority': server.caFile } }],
        users: [{ name: 'u', user: { token: server.adminToken } }],
        contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
      }),
    )
    const [clock, timers, random, log, abort] = [
      systemTime,
      systemTime,
      systemRandom,
      recordingLog(),
      new AbortController(),
    ]
    const transport = new PooledTransport({ identity, clock, timers })
    const cache = new WritableCache<Probe>()
    const parts = { transport, cache, clock, timers, random, log, resource: PROBE }
    const elector = new LeaseElector({
      ...parts,
      namespace: 'default',
      name: 'muster-operator',
      identity: 'one',
      onLead: () => {},
    })
    const recorder = new FoldingEventRecorder({ ...parts, controller: 'muster.dev/operator', instance: 'one' })
    const running = [
      elector.run(abort.signal),
      new WatchLoop({ ...parts, namespace: 'default', onChange: () => {} }).run(abort.signal),
      recorder.run(abort.signal),
    ]
    await server.request('POST', PROBES, {
      body: { apiVersion: 'conformance.muster.dev/v1', kind: 'Probe', metadata: { name: 'live' }, spec: { type: 'a' } },
    })
    await eventually(() => cache.get('default/live') !== undefined && elector.mayWrite())
    const live = cache.get('default/live')
    if (live === undefined) throw new Error('gone')
    const writer = new ApplyStatusWriter<Probe, object>({
      ...parts,
      fieldManager: 'muster-operator',
      signal: abort.signal,
      mayWrite: () => elector.mayWrite(),
      meaningOf: (status) => status,
    })
    writer.put(refOf(live), { observedGeneration: 1, state: 'IDLE' }, 'transition')
    await writer.flush(abort.signal)
    expect((await server.request('GET', `${PROBES}/live`)).body['status']).toEqual({
      observedGeneration: 1,
      state: 'IDLE',
    })
    recorder.record(
      { ...refOf(live), apiVersion: 'conformance.muster.dev/v1', kind: 'Probe' },
      'Normal',
      'Synced',
      'as it should be',
    )
    await eventually(async () =>
      (
        (await server.request('GET', '/apis/events.k8s.io/v1/namespaces/default/events')).body['items'] as {
          reason: string
        }[]
      ).some(({ reason }) => reason === 'Synced'),
    )
    await server.request('DELETE', `${PROBES}/live`)
    await eventually(() => cache.get('default/live') === undefined)
    expect(await elector.confirm(abort.signal)).toBe(true)
    abort.abort(new Error('over'))
    await Promise.all(running)
    await transport.close()
    expect(
      (await server.request('GET', '/apis/coordination.k8s.io/v1/namespaces/default/leases/muster-operator')).body[
        'spec'
      ],
    ).toMatchObject({ holderIdentity: '' })
    expect(log.lines.filter(({ level }) => level !== 'info')).toEqual([])
  }, 60_000)
})
