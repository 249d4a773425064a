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
  enabled: flag('Create a HorizontalPodAutoscaler, which sets the number of pods instead of replicas.', false),
  minReplicas: int('Minimum number of pods.', 2, 1, 1000),
  maxReplicas: int('Maximum number of pods.', 6, 1, 1000),
  cpuPercent: int('Target CPU utilization, in percent of the request.', 70, 1, 100),
  metrics: rawList('Additional metrics, as in autoscaling/v2.'),
})

const WorkerSet = closed(
  {
    type: text('Automation type; required.', '', { pattern: TYPE_OR_NONE }),
    replicas: int('Number of pods. Each needs a FleetWorker with the name of the pod.', 1, 0, 10_000),
    drainTimeoutSeconds: int(
      'How long running tasks may take to finish after SIGTERM. The grace period of the pod is 15 s longer.',
      30,
      0,
      86_400,
    ),
    image: raw('Overrides keys of image, for an image that contains your automations.'),
    persistence: persistence(false, '1Gi', { mountPath: text('Where it is mounted.', '/data', { pattern: '^/' }) }),
    securityContext: raw("Overrides keys of the container's securityContext. Other components have no such setting."),
    pod: pod({ cpu: '100m', memory: '128Mi', limit: '512Mi' }),
  },
  'Defaults of every entry of workers.',
)

const Tenant = closed({
  types: list('Automation types; "*" = any.', [], '^(\\*|[a-z][a-z0-9-]{0,62})$'),
  workers: list('Worker IDs; a trailing "*" matches any suffix.', [], '^[^*\\s]*\\*?$'),
})

export const Values = closed({
  nameOverride: name('Replaces "muster" in names and labels.'),
  fullnameOverride: name('Replaces the full name of the release; truncated to 40 characters.'),
  global: Type.Object(
    {
      imageRegistry: Type.Optional(
        Type.String({ description: 'Registry of all images; takes precedence over image.registry.' }),
      ),
      imagePullSecrets: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Object({ name: Type.String() })]))),
    },
    { default: {}, description: 'Global values of a parent chart. imageRegistry and imagePullSecrets are used.' },
  ),
  enabled: flag('Ignored by this chart; a parent chart can use it as the condition of the dependency.', true),
  tests: closed({ enabled: flag('Render the pod of helm test.', true) }),
  commonLabels: textMap('Labels of every object, never used in selectors.'),
  commonAnnotations: textMap('Annotations of every object.'),
  image: image('localhost', 'muster', '', 'Tag; "" = the version of the chart.'),
  imagePullSecrets: list('Names of pull secrets.', [], NAME_OR_NONE),
  log: closed({
    level: word(['debug', 'info', 'warn', 'error'], 'info', 'Minimum log level: debug, info, warn or error.'),
    format: word(['json', 'text'], 'json', 'Log format: json for log collectors, text for reading.'),
  }),
  telemetry: closed({
    otlpEndpoint: text('OpenTelemetry collector of every process; "" = off.', '', { pattern: HTTP_URL }),
  }),
  trust: closed({
    configMap: name('ConfigMap with additional CA certificates, trusted by every Muster pod.'),
    secret: name('The same, in a Secret.'),
    key: key('ca.crt'),
  }),
  openshift: flag('Let OpenShift assign user and group IDs, and also allow DNS on port 5353.', false),
  crds: closed({
    install: flag('Install the FleetWorker CRD. Set it to true in only one release per cluster.', true),
    keep: flag('Keep the CRD, and with it every FleetWorker, when the release is uninstalled.', true),
    annotations: textMap('Additional annotations of the CRD.'),
  }),
  masterUrl: text('URL of the master for operator and workers; "" = the master of this release.', '', {
    pattern: HTTP_URL,
  }),
  master: closed({
    enabled: flag('Run masters. false: operator and workers use a master elsewhere (masterUrl).', true),
    replicas: int('Number of pods; not rendered with autoscaling. Use 2 or more for availability.', 1, 0, 100),
    limits: closed({
      submitRpsPerToken: int('Maximum task submissions per second and token; 0 = unlimited.', 0, 0, 1_000_000_000),
      idempotencyTtlSeconds: int('How long an idempotency key prevents duplicates.', 86_400, 1, 31_536_000),
      maxBodyBytes: int('Maximum size of a request body.', 1_048_576, 1_024, 67_108_864),
      maxLostLeases: int('Number of lost leases after which a task is dead-lettered; 0 = never.', 10, 0, 1_000_000),
      maxQueueLength: int(
        'Maximum number of tasks of one automation, including dead ones; further submissions are rejected.',
        5_000_000,
        1,
        1_000_000_000,
      ),
    }),
    service: closed({
      type: word(
        ['ClusterIP', 'NodePort', 'LoadBalancer'],
        'ClusterIP',
        'Type of the Service: ClusterIP, NodePort or LoadBalancer.',
      ),
      port: port('Port of the Service.', 80),
      nodePort: port('Node port; 0 = chosen by the cluster.', 0, 0),
      appProtocol: text('appProtocol of the port, for Gateways that require it, for example kubernetes.io/ws.'),
      annotations: textMap('Annotations of the Service.'),
    }),
    autoscaling: masterAutoscaling,
    pod: pod({ cpu: '100m', memory: '256Mi', limit: '512Mi' }, 60),
  }),
  operator: closed({
    enabled: flag('Run the operator that reconciles FleetWorkers.', true),
    replicas: int('Number of pods. With 2, one is the leader and the other a warm standby.', 1, 0, 10),
    watchNamespaces: list(
      'Namespaces to watch for FleetWorkers; [] = the namespace of the release, ["*"] = all.',
      [],
      '^(\\*|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$',
    ),
    tenants: mapOf<unknown>(
      'Maps a namespace to the automation types and worker IDs that its FleetWorkers may manage. The key "*" ' +
        'applies to namespaces without an entry. Required if a namespace other than that of the release is watched.',
      Tenant,
      '^(\\*|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$',
    ),
    configFrom: closed({
      secretNames: list(
        'Secrets that FleetWorkers may read in configFrom, if their owners consent by annotation.',
        [],
        NAME,
      ),
      secrets: flag(
        'Allow every Secret in the watched namespaces. Not possible if the namespace of the release is watched.',
        false,
      ),
      configMaps: flag('Allow ConfigMaps in configFrom.', true),
    }),
    rbac: closed({
      create: flag('Create the roles and bindings of the operator.', true),
      aggregate: flag("Add FleetWorkers to the cluster's aggregated roles view, edit and admin.", true),
    }),
    pod: pod({ cpu: '50m', memory: '128Mi', limit: '256Mi' }, 30),
  }),
  bootstrap: closed(
    { pod: pod({ cpu: '10m', memory: '64Mi', limit: '128Mi' }, 10) },
    'The process that creates the Secrets that these values do not name.',
  ),
  automations: closed({
    modules: list(
      'Modules that master and workers load. [] without inline files = the automations installed in the image.',
      ['muster/automations'],
      '^[^,\\s]+$',
    ),
    inline: textMap('Maps file names to JavaScript sources. They are mounted from a ConfigMap and added to modules.'),
    volume: raw('Volume source, mounted read-only at /opt/muster/automations/volume. List its files in modules.'),
  }),
  workers: mapOf<unknown>(
    'Maps names to worker sets, with the keys of workerDefaults. Each becomes a StatefulSet.',
    partial(WorkerSet),
    WORKER_NAME,
  ),
  workerDefaults: WorkerSet,
  tokens: closed({
    generate: flag('Let the bootstrap process create, once, the Secrets that are not named below.', true),
    admin: secretKey('Secret with the admin token; "" = generated.', 'admin-token'),
    worker: secretKey('Secret with the worker token; "" = generated.', 'worker-token'),
    workerPeers: secretKey(
      'Secret with additional worker tokens, for rotation; "" = the generated Secret, if it exists.',
      'worker-tokens',
    ),
    scopes: secretKey('Secret with the scoped tokens; "" = the generated Secret, if it exists.', 'token-scopes'),
    operator: secretKey('Secret with a token for the operator; "" = the admin token.', 'api-token'),
  }),
  redis: closed({
    mode: word(
      ['embedded', 'external'],
      'embedded',
      'embedded = a single Redis pod in this release; external = your own Redis.',
    ),
    embedded: closed({
      image: image('docker.io', 'valkey/valkey', '9.1.2', 'Tag. Any image with the command redis-server works.'),
      memoryMiB: int('Memory limit of the container; maxmemory of Redis is 60 % of it.', 512, 64, 1_048_576),
      appendfsync: word(
        ['always', 'everysec'],
        'always',
        'always = every acknowledged change is on disk; everysec = a crash may lose about 2 s.',
      ),
      persistence: persistence(true, '8Gi'),
      password: secretKey('Secret with the password; "" = generated.', 'password'),
      tls: closed({
        secret: name('Secret with tls.crt and tls.key, valid for the name of the Service. Requires trust.'),
      }),
      pod: pod({ cpu: '100m' }, 60),
    }),
    external: closed({
      url: text('URL of the Redis, without a password, for example kvstores://redis.example:6379.', '', {
        pattern: REDIS_URL,
      }),
      urlSecret: closed({ name: name('Secret with the full URL, instead of url.'), key: key('url') }),
      password: secretKey('Secret with the password.', 'password'),
      clientCert: closed({ secret: name('Secret with tls.crt and tls.key of the client certificate.') }),
    }),
  }),
  exposure: closed({
    type: word(
      ['none', 'ingress', 'gateway'],
      'none',
      'How the master is exposed outside the cluster: none, ingress or gateway.',
    ),
    host: text('Public host name; required unless type is none.', '', { pattern: HOST, maxLength: 253 }),
    profile: word(
      PROFILES,
      'generic',
      'Ingress or Gateway controller that the generated annotations are for; the README lists the profiles.',
    ),
    dashboard: flag('Expose the dashboard. false: only /api/v1 and /healthz are exposed.', true),
    annotations: textMap('Annotations of the Ingress or HTTPRoute; they take precedence over those of the profile.'),
    ingress: closed({ className: name('IngressClass of the Ingress.') }),
    gateway: closed({
      parentRefs: rawList('Gateways of the HTTPRoute; required for type gateway. Configure TLS in their listeners.'),
    }),
    tls: closed({
      enabled: flag('Use TLS at the Ingress.', true),
      secret: name(
        'Secret with the certificate; "" = <name>-tls if an issuer is set, otherwise the default of the controller.',
      ),
      certManager: closed({
        issuer: name('cert-manager issuer.'),
        kind: word(['ClusterIssuer', 'Issuer'], 'ClusterIssuer', 'Kind of the issuer: ClusterIssuer or Issuer.'),
      }),
    }),
  }),
  networkPolicy: closed({
    enabled: flag('Create a NetworkPolicy for each component.', true),
    from: closed({
      master: rawList('Peers that may reach the master; [] = any.'),
      metrics: rawList('Peers that may read the metrics of operator and workers; [] = any.'),
    }),
    apiServer: closed({
      cidrs: list('Address ranges of the API server; [] = any.', [], '^[0-9a-fA-F:.]+/[0-9]{1,3}$'),
      ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
        default: [443, 6443],
        description: 'Ports of the API server.',
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
      master: rawList('Additional egress rules of the master.'),
      operator: rawList('Additional egress rules of the operator.'),
    }),
  }),
  monitoring: closed({
    serviceMonitor: closed({
      enabled: flag('Create ServiceMonitors for master, operator and workers.', false),
      interval: text('Scrape interval.', '30s', { pattern: '^[0-9]+(ms|s|m)$' }),
      labels: textMap('Labels of the ServiceMonitors.'),
    }),
    rules: closed({
      enabled: flag('Create a PrometheusRule.', false),
      labels: textMap('Labels of the PrometheusRule.'),
    }),
    dashboards: closed({
      enabled: flag('Create ConfigMaps with Grafana dashboards.', false),
      labels: textMap('Labels of the ConfigMaps.', { grafana_dashboard: '1' }),
    }),
  }),
  pdb: closed({
    enabled: flag('Create a PodDisruptionBudget for each component with more than one pod.', true),
    maxUnavailable: int('Pods that may be unavailable at the same time.', 1, 1, 100),
  }),
  extraObjects: mapOf<object>('Maps names to additional objects. Their templates are rendered.', { type: 'object' }),
})
