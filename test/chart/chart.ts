/**
 * Renders charts/muster for tests: the objects that Helm renders from values, and the named scenarios that all chart
 * tests use.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { hackPath, started, type Ran } from '../hack/tree.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

export const CHART = resolve('charts/muster')
const RELEASE = 'muster'
export type Json = Readonly<Record<string, unknown>>
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly [key: string]: unknown
}

/** Missing tools are failures, because these tests run only on request (`make test-chart`). */
function tool(name: string): string {
  const { status, stdout, stderr } = spawnSync(hackPath('install-tools.sh'), ['--where', name], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout.trim()
}

const paths = new Map<string, string>()
/** Runs a tool. `cwd` is outside of the repository, as for a user of the packed chart. */
export function run(name: string, args: readonly string[], cwd = tmpdir()): Ran {
  const path = paths.get(name) ?? tool(name)
  paths.set(name, path)
  return started(path, args, process.env, cwd)
}

/** Creates a folder with `values.yaml`, and removes it after `inside`. */
export function withValues<T>(values: Json, inside: (file: string) => T): T {
  const folder = temporaryFolder()
  const file = join(folder, 'values.yaml')
  writeFileSync(file, JSON.stringify(values)) // JSON is also YAML, and `yes` stays a string in it.
  return inside(file)
}

/** Runs `helm template` in the namespace `muster`. */
export const template = (
  values: Json,
  {
    helm = 'helm',
    cwd = tmpdir(),
    args = [],
  }: { readonly helm?: string; readonly cwd?: string; readonly args?: readonly string[] } = {},
): Ran =>
  withValues(values, (file) =>
    run(helm, ['template', RELEASE, CHART, '--namespace', 'muster', '--values', file, ...args], cwd),
  )

export function render(values: Json, options: Parameters<typeof template>[1] = {}): readonly KubeObject[] {
  const { status, stdout, stderr } = template(values, options)
  if (status !== 0) throw new Error(stderr)
  return objectsOf(stdout)
}

/** @returns the error message of the chart for these values. */
export function refusal(values: Json): string {
  const { status, stderr } = template(values)
  if (status === 0) throw new Error('the chart has rendered these values')
  return stderr
}

export const objectsOf = (text: string): readonly KubeObject[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((each) => each !== null)
export const idOf = ({ kind, metadata: { namespace = '', name } }: KubeObject): string =>
  `${kind} ${namespace === '' || namespace === 'muster' ? '' : `${namespace}/`}${name}`
export function find(objects: readonly KubeObject[], id: string): KubeObject {
  const found = objects.find((each) => idOf(each) === id)
  if (found === undefined) throw new Error(`${id} is not among ${objects.map(idOf).join(', ')}`)
  return found
}

interface Container {
  readonly name: string
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly args?: readonly string[]
  readonly securityContext: Json
  readonly resources: { readonly limits: Json; readonly requests: Json }
}
export interface PodSpec {
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly securityContext: Json
  readonly automountServiceAccountToken: boolean
  readonly volumes: readonly Json[]
  readonly [key: string]: unknown
}
/** @returns the pod of a workload; undefined for other kinds. */
export function podOf({ kind, spec }: KubeObject): PodSpec | undefined {
  if (kind === 'Pod') return spec as PodSpec
  return (spec as { template?: { spec?: PodSpec } } | undefined)?.template?.spec
}

const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
/** Merges values as Helm does. */
export const merged = (below: Json, above: Json): Json => ({
  ...below,
  ...Object.fromEntries(
    Object.entries(above).map(([key, each]) => [
      key,
      isMap(each) && isMap(below[key]) ? merged(below[key], each) : each,
    ]),
  ),
})

export const EXAMPLES: Readonly<Record<string, Json>> = Object.fromEntries(
  readdirSync(join(CHART, 'examples'))
    .toSorted()
    .map((name) => [name.replace('.yaml', ''), parse(started('cat', [join(CHART, 'examples', name)]).stdout) as Json]),
)

const ingress = (profile: string): Json => ({
  exposure: { type: 'ingress', host: 'muster.example', profile, tls: { secret: 'muster-tls' } },
})
const gateway = (profile: string): Json => ({
  exposure: {
    type: 'gateway',
    host: 'muster.example',
    profile,
    gateway: { parentRefs: [{ name: 'web', namespace: 'gateways' }] },
  },
})
const metric = {
  type: 'External',
  external: { metric: { name: 'svc_queue_size' }, target: { type: 'AverageValue', averageValue: '100' } },
}
const peers = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }]
const everyPod: Json = {
  env: { EXTRA: 'one', FROM_FIELD: { valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } } },
  volumes: [{ name: 'scratch', emptyDir: {} }],
  volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ key: 'spot', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        {
          weight: 1,
          preference: { matchExpressions: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }] },
        },
      ],
    },
  },
  labels: { team: 'a' },
  annotations: { note: 'b' },
  serviceAccount: { annotations: { role: 'c' } },
  priorityClassName: 'high',
  runtimeClassName: 'gvisor',
  topologySpreadConstraints: [
    {
      maxSkew: 2,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { team: 'a' } },
    },
  ],
}

const EVERYTHING: Json = {
  commonLabels: { team: 'fleet' },
  commonAnnotations: { owner: 'fleet' },
  global: { imageRegistry: 'mirror.example', imagePullSecrets: [{ name: 'global-pull' }] },
  imagePullSecrets: ['pull'],
  telemetry: { otlpEndpoint: 'http://otel.example:4318' },
  trust: { configMap: 'company-ca' },
  log: { level: 'debug', format: 'text' },
  crds: { annotations: { note: 'd' } },
  master: {
    environment: { name: 'production', color: 'red' },
    autoscaling: { enabled: true, metrics: [metric] },
    limits: { submitRpsPerToken: 50, maxQueueLength: 1_000_000_000 },
    service: {
      type: 'NodePort',
      port: 8080,
      nodePort: 30_080,
      appProtocol: 'kubernetes.io/ws',
      annotations: { note: 'e' },
    },
    pod: everyPod,
  },
  operator: {
    replicas: 2,
    watchNamespaces: ['muster', 'team-a'],
    pod: everyPod,
    configFrom: { secretNames: ['probe'] },
    tenants: { muster: { types: ['*'], workers: ['*'] }, 'team-a': { types: ['http-probe'], workers: ['team-a-*'] } },
  },
  bootstrap: { pod: everyPod },
  automations: {
    modules: ['muster/automations', './automations/volume/more.mjs'],
    inline: { 'hello.mjs': 'export default []\n' },
    volume: { configMap: { name: 'more' } },
  },
  workerDefaults: { type: 'http-probe', image: { repository: 'team/automations', tag: '1' }, pod: everyPod },
  workers: {
    probe: { replicas: 2, persistence: { enabled: true, storageClassName: 'fast' } },
    scaled: { replicas: 2, securityContext: { capabilities: { add: ['NET_BIND_SERVICE'] } } },
  },
  tokens: { operator: { secret: 'operator-token' }, workerPeers: { secret: 'peers' }, scopes: { secret: 'scopes' } },
  redis: {
    embedded: {
      appendfsync: 'everysec',
      tls: { secret: 'redis-tls' },
      persistence: { storageClassName: 'fast' },
      pod: everyPod,
    },
  },
  ...ingress('f5-nginx'),
  networkPolicy: {
    from: { master: peers, metrics: peers },
    apiServer: { cidrs: ['10.0.0.1/32'], ports: [6443] },
    extraEgress: {
      master: [{ ports: [{ port: 9999, protocol: 'TCP' }] }],
      operator: [{ ports: [{ port: 9998, protocol: 'TCP' }] }],
    },
  },
  monitoring: {
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    rules: { enabled: true, labels: { release: 'prometheus' } },
    dashboards: { enabled: true },
  },
  extraObjects: {
    settings: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: '{{ .Release.Name }}-extra' },
      data: { a: 'b' },
    },
  },
}

/** Each way to set the number of workers. */
const AUTOSCALING: Json = {
  fleetSets: { enabled: true },
  operator: { rbac: { scaleWorkers: 'statefulsets' } },
  networkPolicy: { from: { master: peers } },
  workerDefaults: { type: 'http-probe' },
  workers: {
    keda: {
      set: { slots: 4, config: { enabled: true }, workload: { scaleInTimeoutSeconds: 3_600 } },
      autoscaling: {
        type: 'keda',
        minReplicas: 0,
        behavior: { scaleDown: { stabilizationWindowSeconds: 60, policies: [] } },
      },
    },
    hpa: { set: { config: { enabled: true, slots: 2 } }, autoscaling: { type: 'hpa', maxReplicas: 3 } },
    plain: { set: { config: { enabled: true } }, autoscaling: { type: 'keda', scaleIn: 'Plain' } },
    free: { replicas: null },
    fixed: { replicas: 2, set: { config: { enabled: true } } },
  },
}

/** Names that YAML interprets as other types without quotes. */
const WORDS_LIKE_NUMBERS: Json = {
  nameOverride: '7',
  operator: {
    watchNamespaces: ['123'],
    tenants: { 123: { types: ['*'], workers: ['1e3', 'null'] } },
    configFrom: { secretNames: ['1e3', 'true'] },
  },
  master: { pod: { env: { null: 'a', TRUE: 'b' }, serviceAccount: { name: '0' } } },
  imagePullSecrets: ['1e3'],
  workers: {
    1: { type: 'http-probe', replicas: 2, persistence: { enabled: true, storageClassName: '2', mountPath: '/a #b' } },
    true: { type: 'http-probe' },
  },
  tokens: { admin: { secret: '3', key: '1.5' }, worker: { secret: '4', key: 'null' } },
  redis: { embedded: { password: { secret: '5', key: 'true' } } },
  trust: { configMap: '6', key: '8e1' },
  exposure: { type: 'ingress', host: '1e3', ingress: { className: '8' }, tls: { secret: '9' } },
}

/** The scenarios of all chart tests. */
export const SCENARIOS: Readonly<Record<string, Json>> = {
  default: {},
  ...EXAMPLES,
  ...Object.fromEntries(
    ['generic', 'traefik', 'haproxy', 'f5-nginx', 'ingress-nginx', 'contour', 'openshift', 'alb', 'gke'].map(
      (profile) => [`ingress-${profile}`, ingress(profile)],
    ),
  ),
  gateway: gateway('generic'),
  'gateway-envoy': gateway('envoy-gateway'),
  'all-namespaces': { operator: { watchNamespaces: ['*'], tenants: { '*': { types: ['*'], workers: ['*'] } } } },
  openshift: { openshift: true },
  'in-memory': {
    redis: { embedded: { persistence: { enabled: false } } },
    networkPolicy: { enabled: false },
    pdb: { enabled: false },
    tests: { enabled: false },
  },
  'redis-by-secret': {
    redis: { mode: 'external', external: { urlSecret: { name: 'redis' }, clientCert: { secret: 'redis-client' } } },
    trust: { secret: 'company-ca' },
  },
  'master-tls': {
    master: { tls: { existingSecret: 'master-tls' } },
    trust: { configMap: 'company-ca' },
    monitoring: { serviceMonitor: { enabled: true } },
  },
  'named-tokens': { tokens: { named: { secret: 'team-tokens' }, issuers: { secret: 'jwt-issuers' } } },
  'account-tokens': { tokens: { kubernetes: { enabled: true } }, workers: { probe: { type: 'http-probe' } } },
  autoscaling: AUTOSCALING,
  'words-like-numbers': WORDS_LIKE_NUMBERS,
  everything: EVERYTHING,
}
