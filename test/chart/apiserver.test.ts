/**
 * Applies every scenario of the chart to a real API server: admission in a namespace that enforces the restricted
 * profile, and server-side apply without later changes (R4: P2, P3, P4, P11).
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { startApiServer, type ApiServer, type CustomResourceDefinition } from '../operator/real-apiserver.ts'
import { CHART, podOf, render, SCENARIOS, type Json, type KubeObject } from './chart.ts'
import { FOREIGN_DEFINITIONS } from './foreign.ts'

const PROFILE = {
  'pod-security.kubernetes.io/enforce': 'restricted',
  'pod-security.kubernetes.io/enforce-version': 'latest',
}

describe('the chart before a real API server', () => {
  let server: ApiServer
  beforeAll(async () => {
    server = await startApiServer()
    for (const name of ['muster', 'team-a', 'gateways', '123'])
      await ok(server.request('POST', '/api/v1/namespaces', { body: { metadata: { name, labels: PROFILE } } }))
    await ok(
      server.request('POST', '/api/v1/namespaces/muster/serviceaccounts', { body: { metadata: { name: 'default' } } }),
    )
    await ok(
      server.request('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', {
        body: { metadata: { name: 'high' }, value: 1000 },
      }),
    )
    await ok(
      server.request('POST', '/apis/node.k8s.io/v1/runtimeclasses', {
        body: { metadata: { name: 'gvisor' }, handler: 'runsc' },
      }),
    )
    for (const definition of FOREIGN_DEFINITIONS) await server.install(definition)
    // The autoscaling scenario is a second release: the first one has installed the kind.
    const set = readFileSync(join(CHART, 'files/fleetworkersets.muster.dev.yaml'), 'utf8')
    await server.install(parse(set) as CustomResourceDefinition)
  }, 120_000)
  afterAll(() => server.close())

  const ok = async (answer: Promise<{ status: number; body: Json }>): Promise<void> => {
    const { status, body } = await answer
    if (status >= 300) throw new Error(String(body['message']))
  }

  /** One call of kubectl per namespace of these objects. `home` is the namespace of the release. */
  const kubectl = async (
    command: string,
    objects: readonly KubeObject[],
    { home = 'muster', more = [] }: { readonly home?: string; readonly more?: readonly string[] } = {},
  ): Promise<void> => {
    const namespaceOf = ({ metadata }: KubeObject): string => metadata.namespace ?? home
    for (const namespace of new Set(objects.map(namespaceOf))) {
      const file = join(server.folder, 'objects.yaml')
      writeFileSync(
        file,
        objects
          .filter((each) => namespaceOf(each) === namespace)
          .map((each) => stringify(each))
          .join('---\n'),
      )
      const { code, stdout, stderr } = await server.kubectl(
        command,
        '--server-side',
        '--field-manager=helm',
        `--namespace=${namespace}`,
        ...more,
        '-f',
        file,
      )
      if (code !== 0 || /Warning/.test(stderr)) throw new Error(`${stderr}${stdout}`)
    }
  }
  const lasting = (objects: readonly KubeObject[]): readonly KubeObject[] =>
    objects.filter(({ kind }) => kind !== 'Pod')
  const apply = (objects: readonly KubeObject[]): Promise<void> => kubectl('apply', lasting(objects))

  /**
   * The pod that each workload would create. The account and the volumes that only a controller can set are replaced.
   */
  const podsOf = (objects: readonly KubeObject[]): readonly KubeObject[] =>
    objects.flatMap((each) => {
      const pod = podOf(each)
      if (pod === undefined) return []
      const { volumeClaimTemplates: claims = [] } = each['spec'] as {
        volumeClaimTemplates?: readonly { metadata: { name: string } }[]
      }
      const volumes = [...pod.volumes, ...claims.map(({ metadata: { name } }) => ({ name, emptyDir: {} }))]
      return [
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: each.metadata.name },
          spec: { ...pod, serviceAccountName: 'default', volumes },
        },
      ]
    })

  it.each(Object.keys(SCENARIOS))(
    'passes admission: %s (P3)',
    async (name) => {
      const objects = render(SCENARIOS[name] as Json)
      await kubectl('apply', [...lasting(objects), ...podsOf(objects)], { more: ['--dry-run=server'] })
    },
    120_000,
  )

  it.each(Object.keys(SCENARIOS))(
    'shows no difference after it is applied: %s (P2)',
    async (name) => {
      const home = `of-${name}`
      await ok(server.request('POST', '/api/v1/namespaces', { body: { metadata: { name: home, labels: PROFILE } } }))
      const objects = lasting(render(SCENARIOS[name] as Json, { args: ['--namespace', home] }))
      await kubectl('apply', objects, { home })
      await kubectl('diff', objects, { home }) // It exits with 1 if there is a difference.
      // Two may not have the same node port.
      await server.request('DELETE', `/api/v1/namespaces/${home}/services/muster-master`)
    },
    120_000,
  )

  it('changes nothing when it is applied again: no generation and no field (P2)', async () => {
    const objects = render(SCENARIOS['everything'] as Json)
    await apply(objects)
    const state = async (): Promise<string> => {
      const kinds = [
        ...new Set(
          objects.map((each) =>
            each.apiVersion.includes('/')
              ? `${each.kind}.${each.apiVersion.replace(/(.*)\/(.*)/, '$2.$1')}`
              : each.kind,
          ),
        ),
      ]
      const { stdout } = await server.kubectl('get', kinds.join(','), '--namespace=muster', '-o', 'json')
      const { items } = JSON.parse(stdout) as {
        items: readonly (KubeObject & { metadata: { resourceVersion: string } })[]
      }
      return items.map((each) => `${each.kind} ${each.metadata.name} ${each.metadata.resourceVersion}`).join('\n')
    }
    const before = await state()
    await apply(objects)
    expect(await state()).toBe(before)
    const edited = lasting(objects).map((each) => ({
      ...each,
      metadata: { ...each.metadata, labels: { ...each.metadata.labels, edited: 'here' } },
    }))
    await expect(kubectl('diff', edited)).rejects.toThrow('edited: here') // Shows that the check detects differences.
  }, 120_000)

  it('leaves the replicas of an autoscaled workload to the autoscaler (P4)', async () => {
    const objects = render(SCENARIOS['everything'] as Json)
    await apply(objects)
    const { code } = await server.kubectl('scale', 'deployment/muster-master', '--namespace=muster', '--replicas=3')
    expect(code).toBe(0)
    await apply(objects) // Without --force-conflicts, so that a conflict is an error.
    const { stdout } = await server.kubectl(
      'get',
      'deployment/muster-master',
      '--namespace=muster',
      '-o',
      'jsonpath={.spec.replicas}',
    )
    expect(stdout).toBe('3')
  }, 120_000)

  it('keeps the CRD small enough for kubectl apply (P11)', () => {
    const definition = render({}).find((each) => each.kind === 'CustomResourceDefinition')
    expect(Buffer.byteLength(JSON.stringify(definition))).toBeLessThan(200_000)
  })
})
