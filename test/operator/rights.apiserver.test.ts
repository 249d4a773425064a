/**
 * Compares the permissions in manifests/operator with the API server's audit log of the operator, which runs with
 * exactly these permissions: every verb that it used is granted, and every granted verb is used, in both variants.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parseAllDocuments } from 'yaml'
import { FoldingEventRecorder, identityFromText, PooledTransport } from '../../src/operator/kube/index.ts'
import { systemRandom, systemTime, VirtualTime } from '../../src/runtime/index.ts'
import { Cluster } from './cluster.ts'
import type { AuditEvent } from './real-apiserver.ts'
import { withApiServer } from './with-programs.ts'
import { recordingLog } from '../kit/index.ts'

const FOLDER = 'manifests/operator'
const TEST_MS = 240_000
const MERGE = 'application/merge-patch+json'
const CONSENT = { 'muster.dev/config-for': '*' }

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}
interface Grant {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly rules?: readonly Rule[]
}

/** Each verb that one variant grants, such as `own: leases.coordination.k8s.io/muster-operator get`. */
function granted(variant: string): ReadonlySet<string> {
  const files = ['base', 'secrets', 'scale-workers', variant].flatMap((folder) =>
    readdirSync(join(FOLDER, folder))
      .filter((name) => name.endsWith('rights.yaml'))
      .map((name) => join(FOLDER, folder, name)),
  )
  const grants = files.flatMap((file) =>
    parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as Grant),
  )
  return new Set(
    grants.flatMap(({ metadata, rules = [] }) =>
      rules.flatMap((rule) => wordsOf(metadata.name === 'muster-operator-own' ? 'own' : 'watched', rule)),
    ),
  )
}

const wordsOf = (where: string, { apiGroups, resources, resourceNames = [''], verbs }: Rule): readonly string[] =>
  apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      resourceNames.flatMap((name) => verbs.map((verb) => wordOf(where, group, resource, name, verb))),
    ),
  )
const wordOf = (where: string, group: string, resource: string, name: string, verb: string): string =>
  `${where}: ${resource}.${group}${name === '' ? '' : `/${name}`} ${verb}`

/**
 * The permission that a request needs, in the form of `granted`. In the operator's own namespace: the Lease and its
 * Events.
 */
function used({ verb, objectRef, requestURI }: AuditEvent): string {
  if (objectRef === undefined) return `unbound: ${requestURI} ${verb}`
  const { apiGroup = '', namespace, resource, subresource, name } = objectRef
  const isOwn = resource === 'leases' || (resource === 'events' && namespace === 'muster')
  const bound = resource === 'secrets' || (resource === 'leases' && verb !== 'create') ? (name ?? '') : ''
  return wordOf(
    isOwn ? 'own' : 'watched',
    apiGroup,
    subresource === undefined ? resource : `${resource}/${subresource}`,
    bound,
    verb,
  )
}

withApiServer('the permissions of the operator', () => {
  describe.each([
    { variant: 'cluster-wide', settings: {} },
    { variant: 'namespaced', settings: { SVC_WATCH_NAMESPACES: 'team-a' } },
  ] as const)('the permissions of the operator, $variant', ({ variant, settings }) => {
    let cluster: Cluster

    beforeAll(async () => {
      cluster = await Cluster.start(variant)
      if (variant === 'namespaced') await grantIn('team-a')
      for (const folder of ['secrets', 'scale-workers'])
        await cluster.kubectl('apply', '-n', 'team-a', '-f', join(FOLDER, folder, 'rights.yaml'))
      await cluster.startOperator(settings)
    }, TEST_MS)
    afterAll(() => cluster.close(), 60_000)

    /** Grants the same permissions in the watched namespace, as the page describes. */
    const grantIn = async (namespace: string): Promise<void> => {
      await cluster.kubectl('apply', '-n', namespace, '-f', join(FOLDER, 'namespaced/rights.yaml'))
    }

    it(
      'are sufficient for everything it does, and all of them are used',
      async () => {
        await cluster.startWorker('w')
        await cluster.ok('POST', '/api/v1/namespaces/team-a/secrets', {
          metadata: { name: 'probe', annotations: CONSENT },
          stringData: { token: 'x' },
        })
        await cluster.ok('POST', '/api/v1/namespaces/team-a/configmaps', {
          metadata: { name: 'probe', annotations: CONSENT },
          data: { agent: 'us' },
        })
        await cluster.apply('w', {
          deletionPolicy: 'Reset',
          config: { enabled: true },
          configFrom: [
            { field: 'authorization', secretKeyRef: { name: 'probe', key: 'token' } },
            { field: 'user_agent', configMapKeyRef: { name: 'probe', key: 'agent' } },
          ],
        })
        await cluster.condition('w', 'Ready=True')
        await cluster.startWorker('s-0')
        await cluster.ok('POST', '/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkersets', {
          apiVersion: 'muster.dev/v1alpha1',
          kind: 'FleetWorkerSet',
          metadata: { name: 's' },
          spec: {
            type: 'http-probe',
            selector: { idPatterns: ['s-*'] },
            deletionPolicy: 'Reset',
            config: { enabled: true },
            rollout: { stages: [] },
            revisionHistoryLimit: 0,
          },
        })
        await cluster.kubectl('wait', '-n', 'team-a', '--for=condition=Ready', 'fws/s', '--timeout=60s')
        await cluster.until(
          'the worker is configured',
          async () => (await cluster.worker('s-0'))?.config['enabled'] === true,
        )
        for (const seconds of [31, 32]) {
          const spec = { config: { interval_seconds: seconds } }
          await cluster.ok('PATCH', '/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkersets/s', { spec }, MERGE)
          await cluster.until(
            'the worker has the edit',
            async () => (await cluster.worker('s-0'))?.config['interval_seconds'] === seconds,
          )
          await cluster.kubectl('wait', '-n', 'team-a', '--for=condition=Ready', 'fws/s', '--timeout=60s')
        }
        await scaleIn(cluster)
        await cluster.fleet.stopMaster() // Another epoch: it creates an Event about the Lease.
        await cluster.fleet.startMaster()
        await cluster.until(
          'the reset is reported',
          async () => cluster.audit().some((event) => used(event) === 'own: events.events.k8s.io create'),
          90_000,
        )
        await cluster.kubectl('delete', '-n', 'team-a', 'fwk/w', 'fws/s', '--timeout=60s')
        for (const namespace of ['muster', 'team-a']) await repeatEvent(cluster, namespace)
        expect(await cluster.stopOperator()).toBe(0)
        const asked = cluster.audit()
        expect(asked.filter(({ responseStatus }) => responseStatus?.code === 403).map(used)).toEqual([])
        const words = [...new Set(asked.map(used))].toSorted()
        expect(words).toEqual([...granted(variant)].toSorted())
      },
      TEST_MS,
    )

    it(
      'include nothing else',
      async () => {
        const may = async (...question: string[]): Promise<string> =>
          (
            await cluster.server.kubectl(
              'auth',
              'can-i',
              ...question,
              '--as=system:serviceaccount:muster:muster-operator',
            )
          ).stdout.trim()
        expect([
          await may('get', 'secrets/probe', '-n', 'team-a'),
          await may('get', 'secrets', '-n', 'team-a'),
          await may('get', 'secrets/muster-tokens', '-n', 'muster'),
        ]).toEqual(['yes', 'no', 'no'])
        expect(await may('get', 'configmaps', '-n', 'team-a')).toBe('yes')
        for (const question of [
          ['list', 'secrets', '-n', 'team-a'],
          ['watch', 'configmaps', '-n', 'team-a'],
          ['create', 'secrets', '-n', 'muster'],
          ['update', 'fleetworkers.muster.dev', '-n', 'team-a'],
          ['delete', 'fleetworkers.muster.dev', '-n', 'team-a'],
          ['update', 'fleetworkersets.muster.dev', '-n', 'team-a'],
          ['create', 'fleetworkersets.muster.dev', '-n', 'team-a'],
          ['delete', 'fleetworkersets.muster.dev', '-n', 'team-a'],
          ['update', 'fleetworkersets.muster.dev', '--subresource=scale', '-n', 'team-a'],
          ['patch', 'fleetworkers.muster.dev', '--subresource=scale', '-n', 'team-a'],
          ['update', 'controllerrevisions.apps', '-n', 'team-a'],
          ['patch', 'controllerrevisions.apps', '-n', 'team-a'],
          ['delete', 'leases.coordination.k8s.io', '-n', 'muster'],
          ['get', 'pods', '-n', 'muster'],
          ['get', 'namespaces'],
          ['get', 'customresourcedefinitions.apiextensions.k8s.io'],
        ]) {
          expect([question, await may(...question)]).toEqual([question, 'no'])
        }
        expect(await may('get', 'configmaps', '-n', 'default')).toBe(variant === 'cluster-wide' ? 'yes' : 'no')
      },
      TEST_MS,
    )
  })
})

/** A set scales a StatefulSet and another one a Deployment, whose idle pod is marked. */
async function scaleIn(cluster: Cluster): Promise<void> {
  for (const kind of ['StatefulSet', 'Deployment'] as const) {
    const name = kind.toLowerCase()
    await cluster.createWorkload(kind, name, 2)
    for (const id of [`${name}-0`, `${name}-1`]) await cluster.startWorker(id)
    await cluster.ok('POST', '/apis/muster.dev/v1alpha1/namespaces/team-a/fleetworkersets', {
      apiVersion: 'muster.dev/v1alpha1',
      kind: 'FleetWorkerSet',
      metadata: { name },
      spec: {
        type: 'http-probe',
        selector: { idPatterns: [`${name}-*`] },
        config: { enabled: true },
        workload: { kind, name },
      },
    })
    await cluster.kubectl('wait', '-n', 'team-a', '--for=jsonpath={.spec.replicas}=2', `fws/${name}`, '--timeout=60s')
    await cluster.kubectl('scale', '-n', 'team-a', `fws/${name}`, '--replicas=1')
    await cluster.until(
      `the ${kind} is scaled`,
      async () => (await cluster.kubectl('get', '-n', 'team-a', name, name, '-o', 'jsonpath={.spec.replicas}')) === '1',
      60_000,
    )
  }
}

/**
 * Runs the recorder as the operator with its own clock, because an Event is repeated after five minutes at the
 * earliest.
 */
async function repeatEvent(cluster: Cluster, namespace: string): Promise<void> {
  const [time, abort] = [new VirtualTime(), new AbortController()]
  const transport = new PooledTransport({
    identity: identityFromText(readFileSync(cluster.kubeconfig, 'utf8')),
    clock: systemTime,
    timers: systemTime,
  })
  const recorder = new FoldingEventRecorder({
    transport,
    clock: time,
    timers: time,
    random: systemRandom,
    log: recordingLog(),
    controller: 'muster.dev/operator',
    instance: 'test',
  })
  const running = recorder.run(abort.signal)
  const target = { apiVersion: 'muster.dev/v1alpha1', kind: 'FleetWorker', namespace, name: 'w', uid: 'u' }
  const isPatched = (): boolean =>
    cluster
      .audit()
      .some(
        ({ verb, objectRef }) =>
          verb === 'patch' && objectRef?.resource === 'events' && objectRef.namespace === namespace,
      )
  await cluster.until('the Event is repeated', async () => {
    recorder.record(target, 'Normal', 'Repeated', 'again')
    await time.advance(5 * 60_000)
    return isPatched()
  })
  abort.abort()
  await running
  await transport.close()
}
