/**
 * Tests the life of a release on a real API server with both Helm versions: install, upgrade next to foreign changes,
 * rollback, uninstall and reinstall (R4: P4, P9, P10). No pods run there, so nothing waits for them.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { startApiServer, type ApiServer } from '../operator/real-apiserver.ts'
import { CHART, EXAMPLES, type Json } from './chart.ts'
import { Helm } from './helm.ts'

const scaling = { master: { autoscaling: { enabled: true } } }

describe.each(['helm', 'helm3'])('a release by %s', (program) => {
  let server: ApiServer
  let helm: Helm
  beforeEach(async () => {
    server = await startApiServer()
    helm = new Helm(program, server)
  }, 120_000)
  afterEach(() => server.close())

  const get = async (...args: readonly string[]): Promise<string> =>
    (await server.kubectl('get', '--namespace=muster', ...args)).stdout
  const generations = (): Promise<string> =>
    get(
      'deployments,statefulsets,networkpolicies',
      '-o',
      'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.generation}{"\\n"}{end}',
    )
  const NAMES =
    'deployments,statefulsets,services,serviceaccounts,configmaps,roles,' +
    'rolebindings,networkpolicies,poddisruptionbudgets,horizontalpodautoscalers,ingresses,fleetworkers,pods,secrets'
  const names = async (): Promise<readonly string[]> =>
    (await get(NAMES, '-o', 'name'))
      .split('\n')
      .filter((name) => name !== '' && !/kube-root-ca|serviceaccount\/default|secret\/sh\.helm/.test(name))

  it('is installed with its notes, and an identical upgrade changes nothing', async () => {
    expect(helm.put('install', CHART, EXAMPLES['quickstart'] as Json, '--create-namespace')).toMatch(
      /kubectl port-forward[\s\S]*Security advice/,
    )
    const before = await generations()
    helm.put('upgrade', CHART, EXAMPLES['quickstart'] as Json)
    expect(await generations()).toBe(before)
  }, 120_000)

  it('leaves foreign fields alone, can be rolled back, and causes no conflict (P4)', async () => {
    helm.put('install', CHART, scaling, '--create-namespace')
    await server.kubectl('scale', 'deployment/muster-master', '--namespace=muster', '--replicas=4')
    await server.kubectl(
      'annotate',
      'deployment/muster-master',
      '--namespace=muster',
      'injected.example/by=another-tool',
    )
    helm.put('upgrade', CHART, { ...scaling, log: { level: 'debug' } })
    helm.run('rollback', 'muster', '1', '--namespace', 'muster')
    expect(
      await get(
        'deployment/muster-master',
        '-o',
        'jsonpath={.spec.replicas} {.metadata.annotations.injected\\.example/by}',
      ),
    ).toBe('4 another-tool')
  }, 120_000)

  it('keeps the CRD, FleetWorkers and created Secrets after an uninstall, and uses them again (P9, P10)', async () => {
    helm.put('install', CHART, {}, '--create-namespace')
    const worker = {
      apiVersion: 'muster.dev/v1alpha1',
      kind: 'FleetWorker',
      metadata: { name: 'kept' },
      spec: { type: 'http-probe' },
    }
    const path = '/apis/muster.dev/v1alpha1/namespaces/muster/fleetworkers'
    for (
      const limit = AbortSignal.timeout(30_000);
      (await server.request('POST', path, { body: worker })).status !== 201;
    )
      limit.throwIfAborted() // The kind is served a moment later.
    await server.request('POST', '/api/v1/namespaces/muster/secrets', {
      body: { metadata: { name: 'muster-tokens' }, stringData: { 'admin-token': 'a' } },
    })
    helm.run('uninstall', 'muster', '--namespace', 'muster')
    expect(await names()).toEqual(['fleetworker.muster.dev/kept', 'secret/muster-tokens'])
    helm.put('install', CHART, {})
    expect(await names()).toContain('fleetworker.muster.dev/kept')
    expect((await server.kubectl('get', 'crd', 'fleetworkers.muster.dev', '-o', 'name')).code).toBe(0)
  }, 120_000)

  it('allows a second release without the CRD (P12)', () => {
    helm.put('install', CHART, {}, '--create-namespace')
    const second = (...more: readonly string[]): string =>
      helm.run('install', 'muster', CHART, '--namespace', 'other', '--create-namespace', ...more)
    expect(() => second()).toThrow(/fleetworkers\.muster\.dev|invalid ownership|conflict/)
    expect(second('--set', 'crds.install=false', '--replace')).toContain(
      'is installed as muster in the namespace other',
    )
  }, 120_000)
})
