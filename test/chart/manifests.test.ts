/**
 * Checks that the kustomize tree equals the chart: each overlay gives the same objects as Helm renders from these
 * values (R1).
 */
import { describe, expect, it } from '@jest/globals'
import { readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { idOf, objectsOf, render, run, type Json, type KubeObject } from './chart.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const workers = { probe: { type: 'http-probe', replicas: 2 } }
const two = { master: { replicas: 2 }, operator: { replicas: 2 } }
const EVERYONE = { '*': { types: ['*'], workers: ['*'] } }
const SAME: Readonly<Record<string, Json>> = {
  base: {},
  'overlays/kind': { workers },
  'overlays/production': {
    ...two,
    workers,
    exposure: { type: 'ingress', host: 'muster.example', tls: { secret: 'muster-tls' } },
    monitoring: { serviceMonitor: { enabled: true }, rules: { enabled: true }, dashboards: { enabled: true } },
  },
  'overlays/external-redis': {
    ...two,
    redis: {
      mode: 'external',
      external: { url: 'kvstores://muster@redis.example:6379', password: { secret: 'muster-redis-external' } },
    },
  },
  'overlays/own-secrets': {
    tokens: { generate: false, admin: { secret: 'muster-own' }, worker: { secret: 'muster-own' } },
    redis: { embedded: { password: { secret: 'muster-own' } } },
    operator: { watchNamespaces: ['*'], tenants: EVERYONE },
    exposure: {
      type: 'gateway',
      host: 'muster.example',
      gateway: { parentRefs: [{ name: 'web', namespace: 'gateways' }] },
    },
  },
}
interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}
const OWN_OF_HELM = /^(app\.kubernetes\.io\/managed-by|helm\.sh\/.*)$/
/** Objects only in manifests/. */
const BEYOND = new Set([
  'ValidatingAdmissionPolicy muster-operator-guard',
  'ValidatingAdmissionPolicyBinding muster-operator-guard',
  'ValidatingAdmissionPolicy muster-operator-guard-history',
  'ValidatingAdmissionPolicyBinding muster-operator-guard-history',
  'ValidatingAdmissionPolicy muster-operator-guard-pods',
  'ValidatingAdmissionPolicyBinding muster-operator-guard-pods',
  'ValidatingAdmissionPolicy muster-operator-guard-replicas',
  'ValidatingAdmissionPolicyBinding muster-operator-guard-replicas',
])

/** Normalises an object: removes Helm's own fields, and sorts named lists as Kubernetes reads them. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(canonical)
    return items.every((each) => typeof (each as { name?: unknown } | null)?.name === 'string')
      ? items.toSorted((a, b) => ((a as { name: string }).name < (b as { name: string }).name ? -1 : 1))
      : items
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
    .filter(([key]) => !OWN_OF_HELM.test(key))
    .map(([key, each]) => [key, canonical(each)] as const)
  return Object.fromEntries(
    entries
      .filter(([key, each]) => !(key === 'annotations' && Object.keys(each as object).length === 0))
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}
/** Helm gets the namespace as an option, kustomize writes it. */
function placed(object: KubeObject): KubeObject {
  const { namespace, ...metadata } = object.metadata
  return namespace === 'muster' ? { ...object, metadata } : object
}
const comparable = (objects: readonly KubeObject[]): Json =>
  Object.fromEntries(
    objects
      .filter((each) => each.metadata.annotations?.['helm.sh/hook'] === undefined)
      .map((each) => [idOf(each), canonical(placed(each))]),
  )
const built = (folder: string): readonly KubeObject[] => builtAt(resolve('manifests', folder))
function builtAt(folder: string): readonly KubeObject[] {
  const { status, stdout, stderr } = run('kustomize', ['build', folder])
  if (status !== 0) throw new Error(stderr)
  return objectsOf(stdout)
}

describe('manifests/', () => {
  it.each(Object.entries(SAME))('%s equals the render of the chart', (folder, values) => {
    expect(comparable(built(folder).filter((each) => !BEYOND.has(idOf(each))))).toEqual(comparable(render(values)))
  })

  /** @returns each verb that a role grants, as `secrets./muster-tokens get`. */
  const granted = (roles: readonly KubeObject[]): readonly string[] =>
    roles
      .flatMap((role) => role['rules'] as readonly Rule[])
      .flatMap(({ apiGroups, resources, resourceNames = [''], verbs }) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            resourceNames.flatMap((name) => verbs.map((verb) => `${resource}.${group}/${name} ${verb}`)),
          ),
        ),
      )
      .toSorted()

  it.each([
    ['namespaced', {}, ['Role muster-operator', 'Role muster-operator-own', 'Role muster-bootstrap']],
    [
      'cluster-wide',
      { operator: { watchNamespaces: ['*'], tenants: EVERYONE } },
      ['ClusterRole muster-muster-operator', 'Role muster-operator-own', 'Role muster-bootstrap'],
    ],
  ] as const)('grants the operator the same permissions as the chart: %s (P13)', (variant, values, names) => {
    const files = ['base/own-rights.yaml', 'bootstrap/rights.yaml', `${variant}/rights.yaml`].flatMap((file) =>
      objectsOf(readFileSync(join('manifests/operator', file), 'utf8')),
    )
    expect(granted(render(values).filter((each) => names.some((name) => name === idOf(each))))).toEqual(
      granted(files.filter(({ kind }) => kind.endsWith('Role'))),
    )
  })

  it('grants the right to read Secrets with a component of its own, as the chart does for named ones (D63)', () => {
    const named = render({ operator: { configFrom: { secretNames: ['probe'] } } }).filter(
      (each) => idOf(each) === 'Role muster-operator',
    )
    const part = objectsOf(readFileSync('manifests/operator/secrets/rights.yaml', 'utf8')).filter(
      ({ kind }) => kind === 'Role',
    )
    expect(granted(part)).toEqual(
      granted(named).filter(
        (verb) => !granted(render({}).filter((each) => idOf(each) === 'Role muster-operator')).includes(verb),
      ),
    )
  })

  it.each([
    ['statefulsets', ['muster-operator-scale-statefulsets']],
    ['all', ['muster-operator-scale-statefulsets', 'muster-operator-scale-deployments']],
  ])('grants the right to scale workloads with a file of its own, as the chart does: %s', (scaleWorkers, names) => {
    const rightsOf = (values: Json): readonly string[] =>
      granted(render(values).filter((each) => idOf(each) === 'Role muster-operator'))
    const roles = objectsOf(readFileSync('manifests/operator/scale-workers/rights.yaml', 'utf8')).filter(
      ({ kind, metadata }) => kind === 'Role' && names.includes(metadata.name),
    )
    const usual = rightsOf({})
    expect(granted(roles)).toEqual(
      rightsOf({ operator: { rbac: { scaleWorkers } } }).filter((verb) => !usual.includes(verb)),
    )
  })

  it.each(['base', 'operator/namespaced', 'operator/cluster-wide', 'overlays/production', 'overlays/own-secrets'])(
    '%s goes into another namespace as a whole',
    (folder) => {
      const parent = temporaryFolder()
      writeFileSync(
        join(parent, 'kustomization.yaml'),
        `namespace: elsewhere\nresources: ['${relative(realpathSync(parent), resolve('manifests', folder))}']\n`,
      )
      const objects = builtAt(parent) as readonly (KubeObject & {
        readonly subjects?: readonly { readonly namespace?: string }[]
      })[]
      const places = objects.flatMap(({ metadata, subjects = [] }) => [
        metadata.namespace,
        ...subjects.map(({ namespace }) => namespace ?? 'none'),
      ])
      expect(new Set(places.filter((each) => each !== undefined))).toEqual(new Set(['elsewhere']))
      const watched = /SVC_WATCH_NAMESPACES.{1,40}/s.exec(JSON.stringify(objects))?.[0]
      expect(watched ?? 'fieldRef: all').toContain('fieldRef')
    },
  )

  it('has values for each overlay, and uses every component', () => {
    expect(
      readdirSync('manifests/overlays')
        .map((name) => `overlays/${name}`)
        .toSorted(),
    ).toEqual(
      Object.keys(SAME)
        .filter((name) => name !== 'base')
        .toSorted(),
    )
    const overlays = readdirSync('manifests/overlays')
      .map((name) => readFileSync(join('manifests/overlays', name, 'kustomization.yaml'), 'utf8'))
      .join('\n')
    expect(readdirSync('manifests/components').filter((name) => !overlays.includes(`components/${name}`))).toEqual([])
  })

  it('contains only valid YAML', () => {
    const files = readdirSync('manifests', { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.yaml'),
    )
    for (const file of files)
      for (const document of parseAllDocuments(readFileSync(join('manifests', file), 'utf8')))
        expect([file, document.errors]).toEqual([file, []])
  })
})
