/**
 * The life of a release on a real API server, by both Helms: install, upgrade beside what others own, rollback, uninstall,
 * install again (R4: P4, P9, P10). Nothing runs there, so nobody waits.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startApiServer, type ApiServer } from '../operator/real-apiserver.ts'
import { CHART, EXAMPLES, run, type Json } from './chart.ts'

const scaling = { master: { autoscaling: { enabled: true } } }

describe.each(['helm', 'helm3'])('a release by %s', (helm) => {
  let server: ApiServer
  beforeEach(async () => {
    server = await startApiServer()
  }, 120_000)
  afterEach(() => server.close())

  const act = (...args: readonly string[]): string => {
    const folders = ['--registry-config', '--repository-cache', '--repository-config'].flatMap((flag) => [flag, join(server.folder, flag.slice(2))])
    const { status, stdout, stderr } = run(helm, ['--kubeconfig', join(server.folder, 'kubeconfig.json'), ...folders, ...args])
    if (status !== 0) throw new Error(stderr)
    return stdout
  }
  const put = (verb: 'install' | 'upgrade', values: Json, ...more: readonly string[]): string => {
    const file = join(server.folder, 'values.json')
    writeFileSync(file, JSON.stringify(values))
    return act(verb, 'muster', CHART, '--namespace', 'muster', '--values', file, ...more)
  }
  const get = async (...args: readonly string[]): Promise<string> => (await server.kubectl('get', '--namespace=muster', ...args)).stdout
  const generations = (): Promise<string> => get('deployments,statefulsets,networkpolicies', '-o', 'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.generation}{"\\n"}{end}')
  const NAMES = 'deployments,statefulsets,services,serviceaccounts,configmaps,roles,rolebindings,networkpolicies,poddisruptionbudgets,horizontalpodautoscalers,ingresses,fleetworkers,pods,secrets'
  const names = async (): Promise<readonly string[]> => (await get(NAMES, '-o', 'name')).split('\n').filter((name) => name !== '' && !/kube-root-ca|serviceaccount\/default|secret\/sh\.helm/.test(name))

  it('is installed with its notes, and an upgrade to the same moves nothing', async () => {
    expect(put('install', EXAMPLES['quickstart'] as Json, '--create-namespace')).toMatch(/kubectl port-forward[\s\S]*What is not as safe as it can be/)
    const before = await generations()
    put('upgrade', EXAMPLES['quickstart'] as Json)
    expect(await generations()).toBe(before)
  }, 120_000)

  it('leaves to others what is theirs, is rolled back, and meets no conflict (P4)', async () => {
    put('install', scaling, '--create-namespace')
    await server.kubectl('scale', 'deployment/muster-master', '--namespace=muster', '--replicas=4')
    await server.kubectl('annotate', 'deployment/muster-master', '--namespace=muster', 'injected.example/by=somebody')
    put('upgrade', { ...scaling, log: { level: 'debug' } })
    act('rollback', 'muster', '1', '--namespace', 'muster')
    expect(await get('deployment/muster-master', '-o', 'jsonpath={.spec.replicas} {.metadata.annotations.injected\\.example/by}')).toBe('4 somebody')
  }, 120_000)

  it('leaves kind, FleetWorkers and created Secrets behind, and takes them up again (P9, P10)', async () => {
    put('install', {}, '--create-namespace')
    const worker = { apiVersion: 'muster.dev/v1alpha1', kind: 'FleetWorker', metadata: { name: 'kept' }, spec: { type: 'http-probe' } }
    const path = '/apis/muster.dev/v1alpha1/namespaces/muster/fleetworkers'
    for (const limit = AbortSignal.timeout(30_000); (await server.request('POST', path, { body: worker })).status !== 201; ) limit.throwIfAborted() // Its kind is served a moment later.
    await server.request('POST', '/api/v1/namespaces/muster/secrets', { body: { metadata: { name: 'muster-tokens' }, stringData: { 'admin-token': 'a' } } })
    act('uninstall', 'muster', '--namespace', 'muster')
    expect(await names()).toEqual(['fleetworker.muster.dev/kept', 'secret/muster-tokens'])
    put('install', {})
    expect(await names()).toContain('fleetworker.muster.dev/kept')
    expect((await server.kubectl('get', 'crd', 'fleetworkers.muster.dev', '-o', 'name')).code).toBe(0)
  }, 120_000)

  it('has room beside it for a second one without the definition (P12)', () => {
    put('install', {}, '--create-namespace')
    const second = (...more: readonly string[]): string => act('install', 'muster', CHART, '--namespace', 'other', '--create-namespace', ...more)
    expect(() => second()).toThrow(/fleetworkers\.muster\.dev|invalid ownership|conflict/)
    expect(second('--set', 'crds.install=false', '--replace')).toContain('is installed as muster in the namespace other')
  }, 120_000)
})
