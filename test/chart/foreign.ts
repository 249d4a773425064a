/**
 * Small closed definitions of foreign kinds that the chart can render, and of GitOps engines. They have only the
 * fields that the chart, the manifests and the examples use, so that a misspelt field is rejected.
 */
import type { CustomResourceDefinition } from '../operator/real-apiserver.ts'

const text = { type: 'string' }
const whole = { type: 'integer' }
const closed = (properties: object, required: readonly string[] = []): object => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
})
const list = (items: object): object => ({ type: 'array', items })
const map = (values: object): object => ({ type: 'object', additionalProperties: values })
/** A key of a ConfigMap or Secret. */
const keyOf = closed({ name: text, key: text }, ['name', 'key'])

const trigger = {
  type: text,
  metricType: text,
  authenticationRef: closed({ name: text }, ['name']),
  metadata: map(text),
}

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const flag = { type: 'boolean' }
const sourceRef = closed({ kind: { ...text, enum: ['GitRepository'] }, name: text }, ['kind', 'name'])
const remediation = closed({ retries: whole })

/** `spec` of each kind, by API version and kind. */
const FOREIGN: readonly (readonly [group: string, version: string, kind: string, plural: string, spec: object])[] = [
  [
    'keda.sh',
    'v1alpha1',
    'ScaledObject',
    'scaledobjects',
    closed(
      {
        scaleTargetRef: closed({ apiVersion: text, kind: text, name: text }, ['name']),
        pollingInterval: whole,
        cooldownPeriod: whole,
        minReplicaCount: whole,
        maxReplicaCount: whole,
        advanced: closed({
          horizontalPodAutoscalerConfig: closed({
            behavior: anything,
          }),
        }),
        fallback: closed({ failureThreshold: whole, replicas: whole, behavior: text }, [
          'failureThreshold',
          'replicas',
        ]),
        triggers: list(closed(trigger, ['type', 'metadata'])),
      },
      ['scaleTargetRef', 'triggers'],
    ),
  ],
  [
    'keda.sh',
    'v1alpha1',
    'TriggerAuthentication',
    'triggerauthentications',
    closed({ secretTargetRef: list(closed({ parameter: text, name: text, key: text }, ['parameter', 'name', 'key'])) }),
  ],
  [
    'gateway.networking.k8s.io',
    'v1',
    'HTTPRoute',
    'httproutes',
    closed(
      {
        parentRefs: list(closed({ name: text, namespace: text, sectionName: text }, ['name'])),
        hostnames: list(text),
        rules: list(
          closed(
            {
              matches: list(
                closed(
                  {
                    path: closed({ type: { ...text, enum: ['Exact', 'PathPrefix'] }, value: text }, ['type', 'value']),
                  },
                  ['path'],
                ),
              ),
              timeouts: closed({ request: text }),
              backendRefs: list(closed({ name: text, port: whole }, ['name', 'port'])),
            },
            ['matches', 'backendRefs'],
          ),
        ),
      },
      ['parentRefs', 'rules'],
    ),
  ],
  [
    'monitoring.coreos.com',
    'v1',
    'ServiceMonitor',
    'servicemonitors',
    closed(
      {
        selector: closed({ matchLabels: map(text) }, ['matchLabels']),
        endpoints: list(
          closed(
            {
              port: text,
              path: text,
              interval: text,
              scheme: { ...text, enum: ['http', 'https'] },
              tlsConfig: closed({ serverName: text, ca: closed({ configMap: keyOf, secret: keyOf }) }),
            },
            ['port'],
          ),
        ),
      },
      ['selector', 'endpoints'],
    ),
  ],
  [
    'monitoring.coreos.com',
    'v1',
    'PrometheusRule',
    'prometheusrules',
    closed(
      {
        groups: list(
          closed(
            {
              name: text,
              rules: list(
                closed({ alert: text, expr: text, for: text, labels: map(text), annotations: map(text) }, [
                  'alert',
                  'expr',
                ]),
              ),
            },
            ['name', 'rules'],
          ),
        ),
      },
      ['groups'],
    ),
  ],
  [
    'cloud.google.com',
    'v1',
    'BackendConfig',
    'backendconfigs',
    closed({
      timeoutSec: whole,
      connectionDraining: closed({ drainingTimeoutSec: whole }),
      healthCheck: closed({ type: text, requestPath: text, port: whole }),
    }),
  ],
]

/** `spec` of the kinds of Argo CD and Flux. */
const GITOPS: typeof FOREIGN = [
  [
    'argoproj.io',
    'v1alpha1',
    'Application',
    'applications',
    closed(
      {
        project: text,
        source: closed(
          {
            repoURL: text,
            targetRevision: text,
            path: text,
            helm: closed({ releaseName: text, valueFiles: list(text), valuesObject: anything }),
          },
          ['repoURL'],
        ),
        destination: closed({ server: text, namespace: text }),
        syncPolicy: closed({
          automated: closed({ prune: flag, selfHeal: flag }),
          syncOptions: list(text),
          retry: closed({ limit: whole, backoff: closed({ duration: text, factor: whole, maxDuration: text }) }),
        }),
      },
      ['project', 'destination'],
    ),
  ],
  [
    'source.toolkit.fluxcd.io',
    'v1',
    'GitRepository',
    'gitrepositories',
    closed({ interval: text, url: text, ref: closed({ branch: text, tag: text }) }, ['interval', 'url']),
  ],
  [
    'helm.toolkit.fluxcd.io',
    'v2',
    'HelmRelease',
    'helmreleases',
    closed(
      {
        interval: text,
        releaseName: text,
        targetNamespace: text,
        install: closed({ createNamespace: flag, remediation }),
        upgrade: closed({ remediation }),
        chart: closed({ spec: closed({ chart: text, sourceRef, valuesFiles: list(text) }, ['chart', 'sourceRef']) }, [
          'spec',
        ]),
        values: anything,
      },
      ['interval'],
    ),
  ],
  [
    'kustomize.toolkit.fluxcd.io',
    'v1',
    'Kustomization',
    'kustomizations',
    closed(
      {
        interval: text,
        retryInterval: text,
        timeout: text,
        path: text,
        prune: flag,
        wait: flag,
        targetNamespace: text,
        sourceRef,
      },
      ['interval', 'prune', 'sourceRef'],
    ),
  ],
]

const definitionOf = ([group, version, kind, plural, spec]: (typeof FOREIGN)[number]): CustomResourceDefinition &
  object =>
  ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, for tests' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: closed({ apiVersion: text, kind: text, metadata: { type: 'object' }, spec }, ['spec']),
          },
        },
      ],
    },
  }) as unknown as CustomResourceDefinition

export const FOREIGN_DEFINITIONS: readonly CustomResourceDefinition[] = [...FOREIGN, ...GITOPS].map(definitionOf)
