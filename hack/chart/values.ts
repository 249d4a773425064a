/**
 * @module hack/chart/values
 * The values of charts/muster: update-chart.mjs makes values.yaml, values.schema.json and the table of the README from
 * them. A key that is removed is listed in removed.ts (D34, D54).
 */
import { Type } from 'typebox'
import {
  closed,
  flag,
  image,
  int,
  KEY,
  key,
  list,
  mapOf,
  NAME,
  name,
  NAME_OR_NONE,
  OWN_IMAGE,
  partial,
  persistence,
  pod,
  port,
  raw,
  rawList,
  secretKey,
  text,
  textMap,
  word,
} from './schema.ts'
import { alerts } from './alert-values.ts'
import { TOKENS } from './token-values.ts'
import { environment, tls } from './master-values.ts'
import { WorkerSet } from './worker-values.ts'

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
  minReplicas: int('Minimum number of pods; not above maxReplicas.', 2, 1, 1000),
  maxReplicas: int('Maximum number of pods.', 6, 1, 1000),
  cpuPercent: int('Target CPU utilization, in percent of the request.', 70, 1, 100),
  metrics: rawList('Additional metrics, as in autoscaling/v2.'),
})

const Tenant = closed({
  types: list('Automation types; "*" = any.', [], '^(\\*|[a-z][a-z0-9-]{0,62})$'),
  workers: list('Worker IDs; a trailing "*" matches any suffix.', [], '^[^*\\s]*\\*?$'),
})

export const Values = closed({
  nameOverride: name('Replaces "muster" in names and labels.'),
  fullnameOverride: name(
    'Prefix of all object names; "" = derived from the name of the release. Truncated to 40 characters.',
  ),
  global: Type.Object(
    {
      imageRegistry: Type.Optional(
        Type.String({ description: 'Registry of all images; takes precedence over image.registry.' }),
      ),
      imagePullSecrets: Type.Optional(Type.Array(Type.Union([Type.String(), Type.Object({ name: Type.String() })]))),
    },
    {
      default: {},
      description:
        'Values that a parent chart passes to all its charts. This chart reads imageRegistry and imagePullSecrets.',
    },
  ),
  enabled: flag(
    'Not read by this chart. A parent chart can use it as the condition of its dependency on this chart.',
    true,
  ),
  tests: closed({ enabled: flag('Render the test pod that helm test runs.', true) }),
  commonLabels: textMap('Labels of every object, never used in selectors.'),
  commonAnnotations: textMap('Annotations of every object.'),
  image: image(OWN_IMAGE.registry, OWN_IMAGE.repository, '', 'Image tag; "" = the version of the chart.'),
  imagePullSecrets: list('Names of the Secrets that contain registry credentials.', [], NAME_OR_NONE),
  log: closed({
    level: word(['debug', 'info', 'warn', 'error'], 'info', 'Minimum log level: debug, info, warn or error.'),
    format: word(['json', 'text'], 'json', 'Log format: json (for log collectors) or text (for people).'),
  }),
  telemetry: closed({
    otlpEndpoint: text(
      'URL of the OpenTelemetry collector that receives the traces of all processes; "" = no traces.',
      '',
      { pattern: HTTP_URL },
    ),
  }),
  trust: closed({
    configMap: name('ConfigMap with additional CA certificates, trusted by every Muster pod.'),
    secret: name('Secret with additional CA certificates, instead of configMap.'),
    key: text('Key in the ConfigMap or Secret.', 'ca.crt', { pattern: KEY }),
  }),
  openshift: flag(
    'Set to true on OpenShift: it then assigns user and group IDs, and NetworkPolicies also allow DNS on port 5353.',
    false,
  ),
  crds: closed({
    install: flag('Install the CRDs. Set it to true in only one release per cluster.', true),
    keep: flag('Keep the CRDs, and with them all FleetWorkers and sets, when the release is uninstalled.', true),
    annotations: textMap('Additional annotations of the CRD.'),
  }),
  masterUrl: text('URL of the master that operator and workers connect to; "" = the master of this release.', '', {
    pattern: HTTP_URL,
  }),
  master: closed({
    enabled: flag('Run masters. If false, operator and workers connect to masterUrl.', true),
    replicas: int('Number of pods; ignored if autoscaling is enabled. Use 2 or more for availability.', 1, 0, 100),
    limits: closed({
      submitRpsPerToken: int(
        'Maximum number of task submissions per second for each token; 0 = unlimited.',
        0,
        0,
        1_000_000_000,
      ),
      idempotencyTtlSeconds: int(
        'Seconds during which an idempotency key prevents duplicate tasks.',
        86_400,
        1,
        31_536_000,
      ),
      maxBodyBytes: int('Maximum size of a request body, in bytes.', 1_048_576, 1_024, 67_108_864),
      maxLostLeases: int('Number of lost leases after which a task is dead-lettered; 0 = never.', 10, 0, 1_000_000),
      maxQueueLength: int(
        'Maximum number of tasks of one automation type, including dead-lettered ones; more submissions are rejected.',
        5_000_000,
        1,
        1_000_000_000,
      ),
      maxOutcomes: int(
        'Maximum number of task outcomes kept per automation type; the one that expires first is removed. 0 = none.',
        100_000,
        0,
        10_000_000,
      ),
      maxSockets: int('Maximum number of workers connected to one master.', 50_000, 1, 100_000),
    }),
    environment,
    tls,
    alerts,
    corsOrigins: list(
      'Origins whose pages may call the API from a browser, for example https://app.example.com; [] = none.',
      [],
      '^https?://[^/*,\\s]+$',
    ),
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
    enabled: flag('Run the operator that reconciles FleetWorkers and FleetWorkerSets.', true),
    replicas: int('Number of pods. With 2, one is the leader and the other a warm standby.', 1, 0, 10),
    watchNamespaces: list(
      'Namespaces to watch for FleetWorkers and FleetWorkerSets; [] = the namespace of the release, ["*"] = all.',
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
        'Names of the Secrets that FleetWorkers may reference in configFrom. Each also needs the annotation ' +
          'muster.dev/config-for, by which its owner consents.',
        [],
        NAME,
      ),
      secrets: flag(
        'Allow configFrom to reference every Secret in the watched namespaces that has the annotation, not only ' +
          'secretNames. Not possible if the namespace of the release is watched.',
        false,
      ),
      configMaps: flag('Allow configFrom to reference ConfigMaps; they need the same annotation.', true),
    }),
    rbac: closed({
      create: flag('Create the roles and bindings of the operator.', true),
      aggregate: flag(
        'Add permissions for FleetWorkers and FleetWorkerSets to the ClusterRoles view, edit and admin.',
        true,
      ),
      scaleWorkers: word(
        ['none', 'statefulsets', 'all'],
        'none',
        'What FleetWorkerSets may scale in the watched namespaces: none, statefulsets, or all (also Deployments).',
      ),
    }),
    pod: pod({ cpu: '50m', memory: '128Mi', limit: '256Mi' }, 30),
  }),
  bootstrap: closed(
    { pod: pod({ cpu: '10m', memory: '64Mi', limit: '128Mi' }, 10) },
    'The process that creates the Secrets (tokens, password of the embedded Redis) that these values do not name.',
  ),
  automations: closed({
    modules: list(
      'npm packages and paths of the automations that masters and workers load. If inline is also empty, they load ' +
        'the automation packages that are installed in the image.',
      ['muster/automations'],
      '^[^,\\s]+$',
    ),
    inline: textMap(
      'Automations as a map of file names to JavaScript sources. The chart mounts them and adds them to modules.',
    ),
    volume: raw(
      'Kubernetes volume source, mounted read-only at /opt/muster/automations/volume. List its files in modules.',
    ),
  }),
  workers: mapOf<unknown>(
    'Worker sets by name. Each becomes a StatefulSet; keys that it does not set come from workerDefaults.',
    partial(WorkerSet),
    WORKER_NAME,
  ),
  workerDefaults: WorkerSet,
  fleetSets: closed({
    enabled: flag(
      'Render the FleetWorkerSets of workers.*.set, and the autoscalers that scale them. Not in the first release of ' +
        'a cluster, because Helm cannot create a kind and its objects together.',
      false,
    ),
  }),
  tokens: TOKENS,
  redis: closed({
    mode: word(
      ['embedded', 'external'],
      'embedded',
      'embedded = a single Redis pod in this release; external = your own Redis.',
    ),
    embedded: closed({
      image: image(
        'docker.io',
        'valkey/valkey',
        '9.1.2',
        'Image tag. Any image that contains the command redis-server works.',
      ),
      memoryMiB: int('Memory limit of the container, in MiB; maxmemory of Redis is 60 % of it.', 512, 64, 1_048_576),
      appendfsync: word(
        ['always', 'everysec'],
        'always',
        'always = every acknowledged change is on disk; everysec = a crash may lose about 2 s.',
      ),
      persistence: persistence(true, '8Gi'),
      password: secretKey('Secret with the password; "" = generated.', 'password'),
      tls: closed({
        secret: name('Secret with tls.crt and tls.key for the name of the Service; "" = no TLS. Requires trust.'),
      }),
      pod: pod({ cpu: '100m' }, 60),
    }),
    external: closed({
      url: text('URL of your Redis, without a password, for example kvstores://redis.example:6379.', '', {
        pattern: REDIS_URL,
      }),
      urlSecret: closed({
        name: name('Secret with the URL, which may contain a password; instead of url.'),
        key: key('url'),
      }),
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
      'Your Ingress or Gateway controller, which determines the annotations. The README lists the profiles.',
    ),
    dashboard: flag('Expose the dashboard. If false, only /api/v1 and /healthz are exposed.', true),
    annotations: textMap('Annotations of the Ingress or HTTPRoute; they take precedence over those of the profile.'),
    ingress: closed({ className: name('IngressClass of the Ingress.') }),
    gateway: closed({
      parentRefs: rawList('Gateways of the HTTPRoute; required for type gateway. Configure TLS in their listeners.'),
    }),
    tls: closed({
      enabled: flag('Use TLS at the Ingress.', true),
      secret: name(
        'Secret with the certificate; "" = <fullname>-tls if an issuer is set, else the default of the controller.',
      ),
      certManager: closed({
        issuer: name('Issuer from which cert-manager requests the certificate; "" = without cert-manager.'),
        kind: word(['ClusterIssuer', 'Issuer'], 'ClusterIssuer', 'Kind of the issuer: ClusterIssuer or Issuer.'),
      }),
    }),
  }),
  networkPolicy: closed({
    enabled: flag('Create a NetworkPolicy for each component.', true),
    from: closed({
      master: rawList('NetworkPolicy peers that may reach the master, besides the pods of the release; [] = any.'),
      keda: rawList(
        'NetworkPolicy peers of KEDA, which may reach the master if from.master has peers and an entry of workers ' +
          'has autoscaling.type keda.',
        [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'keda' } } }],
      ),
      metrics: rawList(
        'NetworkPolicy peers that may read metrics of operator and workers, besides the pods of the release; [] = any.',
      ),
    }),
    apiServer: closed({
      cidrs: list('Address ranges (CIDR) of the API server; [] = any.', [], '^[0-9a-fA-F:.]+/[0-9]{1,3}$'),
      ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
        default: [443, 6443],
        description: 'Ports of the API server.',
      }),
    }),
    ports: closed({
      dns: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 }), {
        default: [53],
        description: 'Ports of the DNS server.',
      }),
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
      enabled: flag('Create a PrometheusRule with alerts.', false),
      labels: textMap('Labels of the PrometheusRule.'),
    }),
    dashboards: closed({
      enabled: flag('Create ConfigMaps with Grafana dashboards.', false),
      labels: textMap('Labels of the ConfigMaps.', { grafana_dashboard: '1' }),
    }),
  }),
  pdb: closed({
    enabled: flag('Create a PodDisruptionBudget for each component that has more than one pod.', true),
    maxUnavailable: int('Number of pods that may be unavailable simultaneously.', 1, 1, 100),
  }),
  extraObjects: mapOf<object>('Additional Kubernetes objects by name. Template expressions in them are rendered.', {
    type: 'object',
  }),
})
