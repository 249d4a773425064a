/**
 * @module hack/chart/values
 * The values of charts/muster, once: update-chart.mjs makes values.yaml, values.schema.json and the table of the
 * chart's README from them. A key that is removed is listed in removed.ts.
 * @see D34, D54
 */
import { Type } from 'typebox'
import {
  closed,
  flag,
  image,
  int,
  key,
  list,
  mapOf,
  NAME,
  name,
  NAME_OR_NONE,
  partial,
  persistence,
  pod,
  port,
  raw,
  rawList,
  secretKey,
  text,
  textMap,
  TYPE_OR_NONE,
  word,
} from './schema.ts'

const PROFILES = [
  'generic',
  'traefik',
  'haproxy',
  'f5-nginx',
  'ingress-nginx',
  'contour',
  'openshift',
  'envoy-gateway',
  'alb',
  'gke',
] as const
const REDIS_URL = '^((kvstores?|rediss?|kvstores?\\+(sentinel|cluster))://.+)?$'
const HTTP_URL = '^(https?://[^@?#]+)?$'
const HOST = '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$'
const WORKER_NAME = '^[a-z0-9]([a-z0-9-]{0,19}[a-z0-9])?$'

const masterAutoscaling = closed({
  enabled: flag('A HorizontalPodAutoscaler in place of replicas.', false),
  minReplicas: int('Minimum number of pods.', 2, 1, 1000),
  maxReplicas: int('Maximum number of pods.', 6, 1, 1000),
  cpuPercent: int('Wanted use of the requested CPU.', 70, 1, 100),
  metrics: rawList('Further entries of autoscaling/v2.'),
})

const WorkerSet = closed(
  {
    type: text('Automation type; required.', '', { pattern: TYPE_OR_NONE }),
    replicas: int('Pods; each needs a FleetWorker of the same name.', 1, 0, 10_000),
    drainTimeoutSeconds: int(
      'How long running work may take to end after SIGTERM; the pod gets 15 s more.',
      30,
      0,
      86_400,
    ),
    image: raw('Overrides of image: one that holds your automations.'),
    persistence: persistence(false, '1Gi', { mountPath: text('Where it is mounted.', '/data', { pattern: '^/' }) }),
    securityContext: raw("Overrides of the container's; the only place where one may be changed."),
    pod: pod({ cpu: '100m', memory: '128Mi', limit: '512Mi' }),
  },
  'Laid under every entry of workers.',
)

const Tenant = closed({
  types: list('Automation types; "*" = any.', [], '^(\\*|[a-z][a-z0-9-]{0,62})$'),
  workers: list('Worker ids; a trailing "*" stands for any end.', [], '^[^*\\s]*\\*?$'),
})

export const Values = closed({
  nameOverride: name('In place of "muster" in names and labels.'),
  fullnameOverride: name('In place of the whole name of the release; cut at 40 characters.'),
  global: Type.Object(
    {
      imageRegistry: Type.Optional(Type.String({ description: 'Registry of every image that names none.' })),
      imagePullSecrets: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Object({ name: Type.String() })]))),
    },
    { default: {}, description: 'Shared with the charts above: imageRegistry and imagePullSecrets are read.' },
  ),
  enabled: flag('Ignored here; a chart above may use it as its condition.', true),
  tests: closed({ enabled: flag('The pod of helm test.', true) }),
  commonLabels: textMap('On every object, never in selectors.'),
  commonAnnotations: textMap('On every object.'),
  image: image('localhost', 'muster', '', 'Tag; "" = the version of the chart.'),
  imagePullSecrets: list('Names of pull secrets.', [], NAME_OR_NONE),
  log: closed({
    level: word(['debug', 'info', 'warn', 'error'], 'info', 'Minimum log level.'),
    format: word(['json', 'text'], 'json', 'Lines for programs or for people.'),
  }),
  telemetry: closed({
    otlpEndpoint: text('OpenTelemetry collector of every process; "" = off.', '', { pattern: HTTP_URL }),
  }),
  trust: closed({
    configMap: name('ConfigMap with further certificate authorities, for every Muster pod.'),
    secret: name('The same in a Secret.'),
    key: key('ca.crt'),
  }),
  openshift: flag('Leave user and group to the platform; DNS on port 5353 as well.', false),
  crds: closed({
    install: flag('Install the kind FleetWorker. One release of a cluster does.', true),
    keep: flag('Keep it, and with it every FleetWorker, when the release is uninstalled.', true),
    annotations: textMap('Further annotations.'),
  }),
  masterUrl: text('Address of the master for operator and workers; "" = the release\'s own.', '', {
    pattern: HTTP_URL,
  }),
  master: closed({
    enabled: flag('false: operator and workers of a master elsewhere (masterUrl).', true),
    replicas: int('Pods; not rendered under autoscaling. 2 or more for availability.', 1, 0, 100),
    limits: closed({
      submitRpsPerToken: int('Task submissions a second for each token; 0 = unlimited.', 0, 0, 1_000_000_000),
      idempotencyTtlSeconds: int('How long an idempotency key is remembered.', 86_400, 1, 31_536_000),
      maxBodyBytes: int('Largest request body.', 1_048_576, 1_024, 67_108_864),
      maxLostLeases: int('Lost leases after which a task is dead; 0 = never.', 10, 0, 1_000_000),
      maxQueueLength: int('Tasks of one automation beyond which submits are refused.', 5_000_000, 1, 1_000_000_000),
    }),
    service: closed({
      type: word(['ClusterIP', 'NodePort', 'LoadBalancer'], 'ClusterIP', 'Type of the Service.'),
      port: port('Its port.', 80),
      nodePort: port('0 = chosen by the cluster.', 0, 0),
      appProtocol: text('For example kubernetes.io/ws, for Gateways that ask for it.'),
      annotations: textMap('Its annotations.'),
    }),
    autoscaling: masterAutoscaling,
    pod: pod({ cpu: '100m', memory: '256Mi', limit: '512Mi' }, 60),
  }),
  operator: closed({
    enabled: flag('The operator of the kind FleetWorker.', true),
    replicas: int('Pods; 2 = a warm standby behind the Lease.', 1, 0, 10),
    watchNamespaces: list(
      '[] = the namespace of the release; ["*"] = all; else these.',
      [],
      '^(\\*|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$',
    ),
    tenants: mapOf<unknown>(
      'Namespace to the automation types and worker ids that its FleetWorkers may manage; "*" as a key = every other namespace. Required where another namespace than that of the release is watched.',
      Tenant,
      '^(\\*|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$',
    ),
    configFrom: closed({
      secretNames: list('Secrets that FleetWorkers may take values from, with the consent of their owners.', [], NAME),
      secrets: flag(
        'The same from every Secret of the watched namespaces; not where the namespace of the release is watched.',
        false,
      ),
      configMaps: flag('The same from ConfigMaps.', true),
    }),
    rbac: closed({
      create: flag('Create the roles of the operator.', true),
      aggregate: flag("Let the cluster's roles view, edit and admin cover FleetWorkers.", true),
    }),
    pod: pod({ cpu: '50m', memory: '128Mi', limit: '256Mi' }, 30),
  }),
  bootstrap: closed(
    { pod: pod({ cpu: '10m', memory: '64Mi', limit: '128Mi' }, 10) },
    'The process that creates Secrets that are named nowhere.',
  ),
  automations: closed({
    modules: list(
      'Modules of master and workers; [] and no inline file = what is installed in the image.',
      ['muster/automations'],
      '^[^,\\s]+$',
    ),
    inline: textMap('Name of a file to its source: a ConfigMap, added to modules.'),
    volume: raw('A volume source, mounted read-only at /opt/muster/automations/volume; name its files in modules.'),
  }),
  workers: mapOf<unknown>('Name to the keys of workerDefaults: one StatefulSet each.', partial(WorkerSet), WORKER_NAME),
  workerDefaults: WorkerSet,
  tokens: closed({
    generate: flag('What is named nowhere is created, once, at run time, by the bootstrap process.', true),
    admin: secretKey('Secret with the admin token; "" = created.', 'admin-token'),
    worker: secretKey('Secret with the token of the workers; "" = created.', 'worker-token'),
    workerPeers: secretKey(
      'Secret with further worker tokens, for rotation; "" = the created one, if there is one.',
      'worker-tokens',
    ),
    scopes: secretKey('Secret with the scoped tokens; "" = the created one, if there is one.', 'token-scopes'),
    operator: secretKey('Secret with a token of the operator; "" = the admin token.', 'api-token'),
  }),
  redis: closed({
    mode: word(['embedded', 'external'], 'embedded', 'A single Redis of this release, or one elsewhere.'),
    embedded: closed({
      image: image('docker.io', 'valkey/valkey', '9.1.2', 'Tag of any image that has the command redis-server.'),
      memoryMiB: int('Memory of the container; maxmemory is 60 % of it.', 512, 64, 1_048_576),
      appendfsync: word(
        ['always', 'everysec'],
        'always',
        'always = what was acknowledged is on disk; everysec = about 2 s may be lost.',
      ),
      persistence: persistence(true, '8Gi'),
      password: secretKey('Secret with the password; "" = created.', 'password'),
      tls: closed({ secret: name('Secret with tls.crt and tls.key for the name of the Service; needs trust.') }),
      pod: pod({ cpu: '100m' }, 60),
    }),
    external: closed({
      url: text('Its URL without a password, for example kvstores://redis.example:6379.', '', { pattern: REDIS_URL }),
      urlSecret: closed({ name: name('Secret with the whole URL, in place of url.'), key: key('url') }),
      password: secretKey('Secret with the password.', 'password'),
      clientCert: closed({ secret: name('Secret with tls.crt and tls.key that are shown to it.') }),
    }),
  }),
  exposure: closed({
    type: word(['none', 'ingress', 'gateway'], 'none', 'How the master is reached from outside.'),
    host: text('Its host name; required unless type is none.', '', { pattern: HOST, maxLength: 253 }),
    profile: word(PROFILES, 'generic', 'Annotations for a controller.'),
    dashboard: flag('false: only /api/v1 and /healthz.', true),
    annotations: textMap('On the Ingress or HTTPRoute; wins over the profile.'),
    ingress: closed({ className: name('Class of the Ingress.') }),
    gateway: closed({ parentRefs: rawList('Gateways; required for type gateway. TLS belongs to their listeners.') }),
    tls: closed({
      enabled: flag('TLS at the Ingress.', true),
      secret: name('"" = <name>-tls with an issuer, else the controller\'s default.'),
      certManager: closed({
        issuer: name('Issuer of cert-manager.'),
        kind: word(['ClusterIssuer', 'Issuer'], 'ClusterIssuer', 'Its kind.'),
      }),
    }),
  }),
  networkPolicy: closed({
    enabled: flag('A NetworkPolicy for each component.', true),
    from: closed({
      master: rawList('Peers that may reach the master; [] = any.'),
      metrics: rawList('Peers that may read metrics of operator and workers; [] = any.'),
    }),
    apiServer: closed({
      cidrs: list('Addresses of the API server; [] = any.', [], '^[0-9a-fA-F:.]+/[0-9]{1,3}$'),
      ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
        default: [443, 6443],
        description: 'Its ports.',
      }),
    }),
    ports: closed({
      dns: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), { default: [53], description: 'Ports of DNS.' }),
      redis: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
        default: [6379],
        description: 'Ports of an external Redis.',
      }),
    }),
    extraEgress: closed({
      master: rawList('Further egress rules of the master.'),
      operator: rawList('Further egress rules of the operator.'),
    }),
  }),
  monitoring: closed({
    serviceMonitor: closed({
      enabled: flag('ServiceMonitors of master, operator and workers.', false),
      interval: text('How often.', '30s', { pattern: '^[0-9]+(ms|s|m)$' }),
      labels: textMap('Their labels.'),
    }),
    rules: closed({ enabled: flag('A PrometheusRule.', false), labels: textMap('Its labels.') }),
    dashboards: closed({
      enabled: flag('ConfigMaps with dashboards for Grafana.', false),
      labels: textMap('Their labels.', { grafana_dashboard: '1' }),
    }),
  }),
  pdb: closed({
    enabled: flag('A PodDisruptionBudget where there is more than one pod.', true),
    maxUnavailable: int('Pods that may be unavailable at the same time.', 1, 1, 100),
  }),
  extraObjects: mapOf<object>('Name to an object, templated.', { type: 'object' }),
})
