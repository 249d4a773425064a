// Generates files of manifests/ as text: the rendered chart without the labels and annotations of Helm.
// Used by update-manifests.mjs, which writes it, and verify-manifests.mjs, which compares it.
//
// The base is the default render. A component that only adds objects is generated: it has the objects that the values
// of ADDED render beyond the default. A component that changes objects is written by hand. No binding names the
// namespace of its account, because kustomize sets a missing namespace but does not replace a present one.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments, stringify } from 'yaml'

const HEAD = '# Generated from charts/muster by hack/chart/update-manifests.mjs; do not edit.\n'
const HELM_ONLY = ['app.kubernetes.io/managed-by', 'helm.sh/chart', 'helm.sh/resource-policy']

/** Components, each with the values that add its objects to the default render. */
const ADDED = {
  ingress: { exposure: { type: 'ingress', host: 'muster.example', tls: { secret: 'muster-tls' } } },
  gateway: {
    exposure: {
      type: 'gateway',
      host: 'muster.example',
      gateway: { parentRefs: [{ name: 'web', namespace: 'gateways' }] },
    },
  },
  workers: { workers: { probe: { type: 'http-probe', replicas: 2 } } },
  monitoring: {
    monitoring: { serviceMonitor: { enabled: true }, rules: { enabled: true }, dashboards: { enabled: true } },
    workers: { probe: { type: 'http-probe', replicas: 2 } },
  },
}
/** Filters of components whose values also add objects of another component. */
const ONLY = {
  monitoring: ({ kind, metadata }) =>
    ['ServiceMonitor', 'PrometheusRule'].includes(kind) || metadata.name.includes('-dashboard-'),
}

export function programPath(name) {
  const { status, stdout, stderr } = spawnSync(
    fileURLToPath(new URL('../install-tools.sh', import.meta.url)),
    ['--where', name],
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(stderr.trim())
  return stdout.trim()
}

function render(helm, values) {
  const { status, stdout, stderr } = spawnSync(
    helm,
    ['template', 'muster', 'charts/muster', '--namespace', 'muster', '--values', '-'],
    { encoding: 'utf8', input: stringify(values) },
  )
  if (status !== 0) throw new Error(stderr)
  return parseAllDocuments(stdout)
    .map((document) => document.toJS())
    .filter((each) => each !== null && each.metadata.annotations?.['helm.sh/hook'] === undefined)
    .map(plain)
}

/** Removes labels and annotations that only Helm reads, and the namespaces of subjects. */
export function plain(object) {
  const without = (map) => Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !HELM_ONLY.includes(key)))
  const { labels, annotations, ...metadata } = object.metadata
  const kept = without(annotations)
  const subjects = object.subjects?.map(({ namespace: _namespace, ...subject }) => subject)
  return {
    ...object,
    ...(subjects && { subjects }),
    metadata: {
      ...metadata,
      labels: without(labels),
      ...(Object.keys(kept).length === 0 ? {} : { annotations: kept }),
    },
  }
}

const idOf = ({ kind, metadata }) => `${kind} ${metadata.name}`
const textOf = (objects) =>
  HEAD + objects.map((each) => stringify(each, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n')

/** Paths and texts of the generated files. @throws Error when Helm is missing. */
export function manifestFiles() {
  const helm = programPath('helm')
  const base = render(helm, {})
  const known = new Set(base.map(idOf))
  const added = Object.entries(ADDED).map(([name, values]) => {
    const objects = render(helm, values)
      .filter((each) => !known.has(idOf(each)))
      .filter(ONLY[name] ?? (() => true))
    return [`manifests/components/${name}/${name}.yaml`, textOf(objects)]
  })
  return new Map([['manifests/base/muster.yaml', textOf(base)], ...added])
}
