/**
 * Checks the values: an invalid one is rejected with its path, an old one names its replacement, and each one is used
 * (R2).
 */
import { describe, expect, it } from '@jest/globals'
import { Ajv } from 'ajv'
import { CHART, merged, refusal, render, run, SCENARIOS, template, withValues, type Json } from './chart.ts'
import { leavesOf, nested, SCHEMA, wordsOf, type Leaf } from './random-values.ts'

const MINUTES = 60_000
const validate = new Ajv({ allErrors: true, strict: false }).compile(SCHEMA)
const faultsOf = (values: Json): readonly string[] =>
  validate(values)
    ? []
    : (validate.errors ?? []).map(
        ({ instancePath, keyword, params }) =>
          `${instancePath}${keyword === 'additionalProperties' ? `/${String(params['additionalProperty'])}` : ''}`,
      )
const leaves = leavesOf(SCHEMA)
const set = { config: { enabled: true } }
const workers = { probe: { type: 'http-probe' } }
const tenant = { types: ['*'], workers: ['*'] }
const gateways = [{ name: 'web' }]

/** A value of another type, or one that no schema of a leaf accepts. */
function wrong({ schema }: Leaf): unknown {
  if (schema.enum !== undefined) return 'no-such-word'
  if (schema.type === 'integer') return (schema.maximum ?? 0) + 1
  if (schema.type === 'string' && schema.pattern !== undefined) return '\u0000 no'
  return schema.type === 'string' ? 7 : 'no'
}

describe('the schema of the values', () => {
  it.each(Object.entries(SCENARIOS))('accepts %s', (_, values) => {
    expect(faultsOf(values)).toEqual([])
  })

  it('rejects an invalid value at each leaf, and a misspelt key next to it, with the path', () => {
    const missed = leaves.flatMap((leaf) => {
      const misspelt = [...leaf.path.slice(0, -1), `${leaf.path.at(-1) ?? ''}x`]
      return [[leaf.path, wrong(leaf)] as const, [misspelt, 'any'] as const]
        .filter(([path, value]) => !faultsOf(nested(path, value)).some((at) => at.startsWith(`/${path.join('/')}`)))
        .map(([path]) => path.join('.'))
    })
    expect(leaves.length).toBeGreaterThan(150)
    expect(missed).toEqual([])
  })

  it.each([
    [{ master: { replcas: 2 } }, 'replcas'],
    [{ workers: { probe: { type: 'http-probe', persistance: {} } } }, 'persistance'],
    [{ image: { digest: 'sha256:12' } }, '/image/digest'],
    [{ exposure: { type: 'route' } }, '/exposure/type'],
    [{ workers: { 'Not-a-name': { type: 'http-probe' } } }, 'Not-a-name'],
    [{ redis: { external: { url: 'postgres://db' } } }, '/redis/external/url'],
    [{ workers: { probe: { type: 'HTTP' } } }, 'type'],
    [{ workers: { probe: { type: 'a', labels: { Zone: 'eu-1' } } } }, 'Zone'],
    [{ workers: { probe: { type: 'a', labels: { zone: 'a,b' } } } }, 'zone'],
    [{ master: { pod: { env: { A: 1 } } } }, '/master/pod/env/A'],
  ])('makes Helm reject %j', (values, path) => {
    expect(refusal(values).replaceAll("'", '')).toContain(path)
  })
})

describe('the checks of the chart', () => {
  it.each<readonly [Json, string]>([
    [{ exposure: { type: 'ingress' } }, 'exposure.host: is required'],
    [{ exposure: { type: 'gateway', host: 'a.b' } }, 'exposure.gateway.parentRefs: is required'],
    [
      { exposure: { type: 'gateway', host: 'a.b', profile: 'contour', gateway: { parentRefs: gateways } } },
      'exposure.profile: contour does not fit exposure.type gateway',
    ],
    [
      { exposure: { type: 'ingress', host: 'a.b', profile: 'envoy-gateway' } },
      'exposure.profile: envoy-gateway does not fit exposure.type ingress',
    ],
    [
      { master: { enabled: false }, exposure: { type: 'ingress', host: 'a.b' } },
      'exposure.type: is ingress, but master.enabled is false',
    ],
    [{ master: { enabled: false } }, 'masterUrl: is required while master.enabled is false'],
    [
      { master: { enabled: false }, masterUrl: 'https://a.b' },
      'tokens.admin.secret: is required, because the external master does not accept generated tokens',
    ],
    [
      { redis: { embedded: { image: { repository: 'mirror.example/team/valkey' } } } },
      'redis.embedded.image.repository: begins with a registry; move mirror.example to redis.embedded.image.registry',
    ],
    [{ redis: { mode: 'external' } }, 'redis.external: has neither url nor urlSecret.name'],
    [
      { redis: { mode: 'external', external: { url: 'kvstore://h', urlSecret: { name: 'a' } } } },
      'redis.external: has both url and urlSecret.name',
    ],
    [{ redis: { mode: 'external', external: { url: 'kvstore://u:p@h' } } }, 'redis.external.url: contains a password'],
    [{ tokens: { generate: false } }, 'tokens.worker.secret: is required, because tokens.generate is false'],
    [{ tokens: { generate: false } }, 'redis.embedded.password.secret: is required, because tokens.generate is false'],
    [
      { operator: { enabled: false } },
      'tokens.admin.secret: is required, because operator.enabled is false and only a release with an operator',
    ],
    [{ operator: { watchNamespaces: ['*', 'a'] } }, 'operator.watchNamespaces: has "*" and names'],
    [
      { operator: { watchNamespaces: ['*'] } },
      'operator.tenants: is required, because the operator watches namespaces other than its own; list the workers',
    ],
    [{ operator: { watchNamespaces: ['team-a'] } }, 'operator.tenants: is required'],
    [
      { operator: { watchNamespaces: ['muster', 'a', 'b'], tenants: { a: tenant } } },
      'operator.tenants: lacks b, which the operator watches',
    ],
    [{ operator: { tenants: { a: tenant } } }, 'operator.tenants: lacks muster, which the operator watches'],
    [
      { operator: { configFrom: { secrets: true } } },
      'operator.configFrom.secrets: would include the tokens of this release',
    ],
    [
      { operator: { watchNamespaces: ['*'], tenants: { '*': tenant }, configFrom: { secrets: true } } },
      'operator.configFrom.secrets: would include the tokens of this release',
    ],
    [
      { operator: { configFrom: { secretNames: ['muster-tokens'] } } },
      'operator.configFrom.secretNames: has muster-tokens, a Secret of Muster itself',
    ],
    [
      { tokens: { scopes: { secret: 'a' } }, operator: { configFrom: { secretNames: ['a'] } } },
      'operator.configFrom.secretNames: has a, a Secret of Muster itself',
    ],
    [
      { bootstrap: { pod: { env: { SVC_BOOTSTRAP_TOKENS_SECRET: 'a' } } } },
      'bootstrap.pod.env.SVC_BOOTSTRAP_TOKENS_SECRET: is set by the chart',
    ],
    [{ workers: { probe: {} } }, 'workers.probe.type: is required'],
    [{ workers: { master: { type: 'a' } } }, 'workers.master: the chart uses this name for one of its own objects'],
    [
      { workers: { [`a${'b'.repeat(20)}`]: { type: 'a' } }, fullnameOverride: 'c'.repeat(40) },
      'is longer than the 52 characters',
    ],
    [
      { workers, workerDefaults: { autoscaling: { enabled: true } } },
      'workerDefaults.autoscaling.enabled: was removed in 0.1.0; use autoscaling.type: hpa or keda, with set',
    ],
    [
      { workers: { probe: { type: 'a', autoscaling: { enabled: true } } } },
      'workers.probe.autoscaling.enabled: was removed in 0.1.0; use autoscaling.type: hpa or keda, with set',
    ],
    [
      { workers: { probe: { type: 'a', autoscaling: { type: 'keda' } } } },
      'workers.probe.set: is required with autoscaling.type keda, because new pods stay idle without a config',
    ],
    [
      { workers: { probe: { type: 'a', set, autoscaling: { type: 'keda' } } } },
      'operator.rbac.scaleWorkers: is none, but workers.probe.autoscaling.scaleIn is Safe',
    ],
    [
      { workers: { probe: { type: 'a', set, autoscaling: { type: 'keda', minReplicas: 11 } } } },
      'workers.probe.autoscaling: minReplicas is greater than maxReplicas',
    ],
    [
      { workers: { probe: { type: 'a', set, autoscaling: { type: 'hpa', minReplicas: 0 } } } },
      'workers.probe.autoscaling.minReplicas: must be at least 1 with type hpa',
    ],
    [
      { workers: { probe: { type: 'a', set, autoscaling: { type: 'hpa' } } } },
      'workers.probe.autoscaling.slotsPerWorker: is required with type hpa; set it, or set.slots',
    ],
    [
      {
        ...SCENARIOS['own-secrets'],
        workers: { probe: { type: 'a', set, autoscaling: { type: 'keda', scaleIn: 'Plain' } } },
      },
      'tokens.scaler.secret: is required for workers.probe.autoscaling.type keda',
    ],
    [
      { workers: { probe: { type: 'a', set }, 'probe-x': { type: 'a' } } },
      'workers.probe.set.selector: is required, because the pattern of probe also matches the workers of probe-x',
    ],
    [
      { tokens: { kubernetes: { enabled: true } }, operator: { enabled: false } },
      'tokens.kubernetes.enabled: needs master.enabled and operator.enabled',
    ],
    [
      { tokens: { kubernetes: { enabled: true }, issuers: { secret: 'issuers' } } },
      'tokens.kubernetes.enabled: cannot be combined with tokens.issuers.secret',
    ],
    [
      { tokens: { kubernetes: { enabled: true }, operator: { secret: 'operator' } } },
      'tokens.kubernetes.enabled: cannot be combined with tokens.operator.secret',
    ],
    [
      { master: { autoscaling: { enabled: true, minReplicas: 9 } } },
      'master.autoscaling: minReplicas is greater than maxReplicas',
    ],
    [
      { master: { pod: { env: { SVC_BACKEND_URL: 'memory://' } } } },
      'master.pod.env.SVC_BACKEND_URL: is set by the chart',
    ],
    [
      { master: { pod: { env: { SVC_ADMIN_TOKEN: 'hunter2' } } } },
      'master.pod.env.SVC_ADMIN_TOKEN: is a secret in plain text',
    ],
    [
      { workers, workerDefaults: { pod: { env: { SVC_WORKER_TOKEN: 'hunter2' } } } },
      'workers.probe.pod.env.SVC_WORKER_TOKEN: is a secret in plain text',
    ],
    [
      { operator: { pod: { env: { SVC_MASTER_URL: 'http://a' } } } },
      'operator.pod.env.SVC_MASTER_URL: is set by the chart',
    ],
    [{ automations: { inline: { 'a.ts': '' } } }, 'automations.inline.a.ts: is not a valid name of a module'],
    [{ automations: { inline: { 'a.mjs': 'x'.repeat(921_601) } } }, 'automations.inline: has 921601 bytes'],
    [
      { redis: { embedded: { tls: { secret: 'a' } } } },
      'redis.embedded.tls.secret: requires trust.configMap or trust.secret',
    ],
    [
      { master: { tls: { existingSecret: 'a' } } },
      'master.tls.existingSecret: requires trust.configMap or trust.secret; set one of them',
    ],
    [
      {
        master: { tls: { existingSecret: 'a' } },
        trust: { configMap: 'a' },
        exposure: { type: 'ingress', host: 'a.b', tls: { secret: 'a' } },
      },
      'master.tls.existingSecret: the ingress controller or gateway would connect to the master with HTTP',
    ],
    [{ trust: { configMap: 'a', secret: 'b' } }, 'trust: has both configMap and secret'],
    [
      { redis: { embedded: { pod: { resources: { limits: { memory: '1Gi' } } } } } },
      'redis.embedded.pod.resources.limits.memory: would be overridden; remove it, and set redis.embedded.memoryMiB',
    ],
    [
      { fullnameOverride: '1-fleet' },
      'fullnameOverride: is required, because 1-fleet-master is not a valid name of a Service',
    ],
    [
      { nameOverride: 'fleet.eu' },
      'fullnameOverride: is required, because muster-fleet.eu-master is not a valid name of a Service',
    ],
    [{ ingress: { enabled: true } }, 'ingress: is not a key of this chart; use exposure.type: ingress'],
    [
      { workers: { probe: { type: 'a', slots: 4 } } },
      'workers.probe.slots: is not a key of this chart; use spec.slots of the FleetWorker',
    ],
  ])('report the fault of %j', (values, fault) => {
    const said = refusal(values)
    expect(said).toContain(fault)
    expect(said).not.toContain('hunter2')
  })

  it('report all faults together, one per line', () => {
    expect(
      refusal({ exposure: { type: 'ingress' }, workers: { probe: {} }, ingress: {} })
        .split('\n')
        .filter((line) => /^\S+: .+; /.test(line)),
    ).toHaveLength(3)
  })
})

/**
 * Contexts in which a value may have an effect: alone, with everything enabled, and with settings that exclude others.
 */
const CONTEXTS: readonly Json[] = [
  { workers, workerDefaults: { persistence: { enabled: true } } },
  SCENARIOS['everything'] as Json,
  SCENARIOS['gateway'] as Json,
  SCENARIOS['redis-by-secret'] as Json,
  { redis: { mode: 'external', external: { url: 'kvstore://a', password: { secret: 'a' } } } },
  {
    ...SCENARIOS['ingress-generic'],
    exposure: { type: 'ingress', host: 'a.b', tls: { certManager: { issuer: 'a' } } },
  },
  { trust: { configMap: 'a' } },
  SCENARIOS['named-tokens'] as Json,
  SCENARIOS['account-tokens'] as Json,
  { master: { alerts: { webhook: { secret: 'a' }, signature: { secret: 'a' } } } },
  {
    tokens: {
      admin: { secret: 'a' },
      worker: { secret: 'a' },
      operator: { secret: 'a' },
      workerPeers: { secret: 'a' },
      scopes: { secret: 'a' },
    },
    redis: { embedded: { password: { secret: 'a' } } },
  },
  { master: { enabled: false }, masterUrl: 'https://a.b', tokens: { operator: { secret: 'a' } } },
  {
    fleetSets: { enabled: true },
    operator: { rbac: { scaleWorkers: 'statefulsets' } },
    networkPolicy: { from: { master: [{ podSelector: {} }] } },
    workerDefaults: { type: 'a', set, autoscaling: { type: 'keda' } },
    workers: { probe: {} },
    tokens: { scaler: { secret: 'a' } },
  },
]
/** Values that intentionally change nothing. */
const IDLE = new Set(['enabled'])
/** Values that the rules for words and numbers below cannot derive. */
const OTHER: Readonly<Record<string, unknown>> = {
  global: { imageRegistry: 'mirror.example' },
  'operator.watchNamespaces': ['elsewhere'],
  'operator.tenants': { '*': { types: ['*'], workers: ['other'] } },
  'operator.configFrom.secretNames': ['other'],
  'automations.modules': ['other'],
  'automations.volume': { emptyDir: {} },
  workers: { other: { type: 'a' } },
  imagePullSecrets: ['a'],
  'networkPolicy.apiServer.cidrs': ['10.9.9.9/32'],
  'networkPolicy.apiServer.ports': [9],
  'networkPolicy.ports.dns': [9],
  'networkPolicy.ports.redis': [9],
  'exposure.gateway.parentRefs': [{ name: 'other' }],
  'automations.inline': { 'other.mjs': '' },
  'workerDefaults.image': { tag: 'other' },
  'workerDefaults.set': { slots: 9 },
  extraObjects: { other: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'other' } } },
  'master.service.appProtocol': 'other',
  'image.registry': 'other',
  'redis.external.url': 'kvstore://other',
  'exposure.type': 'none',
  'tokens.kubernetes.issuer': 'https://other.example',
  'monitoring.serviceMonitor.interval': '9s',
  'workerDefaults.persistence.size': '9Gi',
  'workerDefaults.persistence.mountPath': '/other',
}

function otherValue({ path, schema }: Leaf): readonly unknown[] {
  const given = OTHER[path.join('.')]
  if (given !== undefined) return [given]
  if (schema.enum !== undefined) return schema.enum
  if (schema.type === 'boolean') return [schema.default !== true, schema.default === true]
  if (schema.type === 'integer') return [Number(schema.default) + 1, schema.minimum]
  if (schema.type === 'string') return wordsOf(schema)
  return [
    schema.type === 'array'
      ? [{ name: 'other', key: 'other' }]
      : ({ env: { OTHER: 'x' } }[path.at(-1) ?? ''] ?? { other: 'x' }),
  ]
}

describe('every value of the chart', () => {
  it(
    'is used: another value changes the render or causes a fault',
    () => {
      const plain = CONTEXTS.map((context) => template(context).stdout)
      const idle = leaves
        .filter((leaf) => !IDLE.has(leaf.path.join('.')))
        .filter(
          (leaf) =>
            !otherValue(leaf).some((value) =>
              CONTEXTS.some((context, index) => {
                const { stdout } = template(merged(context, nested(leaf.path, value)))
                return stdout !== plain[index]
              }),
            ),
        )
      expect(idle.map(({ path }) => path.join('.'))).toEqual([])
    },
    10 * MINUTES,
  )

  it(
    'is in the schema if a template uses it',
    () => {
      expect(run('helm', ['lint', '--strict', CHART])).toMatchObject({ status: 0 })
      for (const values of Object.values(SCENARIOS))
        withValues(values, (file) =>
          expect(run('helm', ['lint', '--strict', CHART, '--values', file])).toMatchObject({ status: 0 }),
        )
    },
    MINUTES,
  )

  it('can be reset to no default with null', () => {
    expect(
      JSON.stringify(
        render({ master: { pod: { resources: { limits: { memory: null } } } } }).find(
          ({ metadata: { name }, kind }) => kind === 'Deployment' && name === 'muster-master',
        ),
      ),
    ).not.toContain('512Mi')
  })
})
