/**
 * @module hack/chart/schema
 * The words in which values.ts is written: JSON Schema (draft-07, what Helm reads) by way of TypeBox, where each key
 * has a default and a description. Objects are closed; what is Kubernetes' own (a toleration, a metric) is open, since
 * the API server knows it better.
 */
import { Type, type TObject, type TProperties } from 'typebox'
import { TYPE_PATTERN } from '../../src/protocol/index.ts'

const PART = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
/** Name of an object of Kubernetes, or nothing. */
export const NAME_OR_NONE = `^(${PART}([.]${PART})*)?$`
export const NAME = `^${PART}([.]${PART})*$`
export const TYPE_OR_NONE = `^(${TYPE_PATTERN.replace(/^\^|\$$/g, '')})?$`

export const text = (description: string, fallback = '', more: object = {}) =>
  Type.String({ default: fallback, description, ...more })
export const name = (description: string, fallback = '') =>
  text(description, fallback, { pattern: NAME_OR_NONE, maxLength: 253 })
export const flag = (description: string, fallback: boolean) => Type.Boolean({ default: fallback, description })
export const int = (description: string, fallback: number, minimum: number, maximum: number) =>
  Type.Integer({ default: fallback, minimum, maximum, description })
export const port = (description: string, fallback: number, minimum = 1) => int(description, fallback, minimum, 65_535)
export const word = <const T extends string>(words: readonly T[], fallback: NoInfer<T>, description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: words, default: fallback, description })
const quantity = (fallback: string, description: string) =>
  text(description, fallback, { pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$' })

/** Closed: a key that is not named here is refused. */
export const closed = <T extends TProperties>(properties: T, description = ''): TObject<T> =>
  Type.Object(properties, { additionalProperties: false, ...(description === '' ? {} : { description }) })

/** An object of Kubernetes, as it is. */
export const raw = (description: string, fallback: object = {}) =>
  Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', default: fallback, description })
export const rawList = (description: string) =>
  Type.Unsafe<readonly Readonly<Record<string, unknown>>[]>({
    type: 'array',
    items: { type: 'object' },
    default: [],
    description,
  })
export const list = (description: string, fallback: readonly string[], pattern: string) =>
  Type.Unsafe<readonly string[]>({
    type: 'array',
    items: { type: 'string', pattern },
    uniqueItems: true,
    default: fallback,
    description,
  })

/** A map of names that the user chooses. */
export const mapOf = <T>(description: string, value: object, keys = '^.+$', fallback: object = {}) =>
  Type.Unsafe<Readonly<Record<string, T>>>({
    type: 'object',
    propertyNames: { pattern: keys },
    additionalProperties: value,
    default: fallback,
    description,
  })
export const textMap = (description: string, fallback: Readonly<Record<string, string>> = {}) =>
  mapOf<string>(description, { type: 'string' }, '^.+$', fallback)

/** Every key may be left out: what stands in `workers` is laid over `workerDefaults`. Defaults would beat those. */
export function partial(schema: object): object {
  const {
    default: _default,
    properties,
    ...rest
  } = schema as { default?: unknown; properties?: Readonly<Record<string, object>> }
  if (properties === undefined) return rest
  return {
    ...rest,
    required: undefined,
    properties: Object.fromEntries(Object.entries(properties).map(([key, each]) => [key, partial(each)])),
  }
}

/** A key of a Secret or ConfigMap. */
export const key = (fallback: string) =>
  text('Key in the Secret or ConfigMap.', fallback, { pattern: '^[-._a-zA-Z0-9]+$' })
/** `{secret, key}`: where a value is read from that never stands in the values. */
export const secretKey = (secret: string, fallback: string) => closed({ secret: name(secret), key: key(fallback) })
export const image = (registry: string, repository: string, tag: string, tagIs: string) =>
  closed({
    registry: text('Registry; global.imageRegistry takes precedence.', registry, {
      pattern: '^([a-zA-Z0-9.-]+(:[0-9]+)?)?$',
    }),
    repository: text('Repository.', repository, { pattern: '^[a-z0-9]+([._/-]+[a-z0-9]+)*$' }),
    tag: text(tagIs, tag, { pattern: '^([A-Za-z0-9_][A-Za-z0-9._-]{0,127})?$' }),
    digest: text('Digest; takes precedence over the tag.', '', { pattern: '^(sha256:[0-9a-f]{64})?$' }),
    pullPolicy: word(
      ['IfNotPresent', 'Always', 'Never'],
      'IfNotPresent',
      'Image pull policy: Always, IfNotPresent or Never.',
    ),
  })
export const persistence = (enabled: boolean, size: string, more: TProperties = {}) =>
  closed({
    enabled: flag('Use a PersistentVolumeClaim. Uninstalling keeps it.', enabled),
    size: quantity(size, 'Size of the volume.'),
    storageClassName: name('Storage class; "" = the default of the cluster.'),
    ...more,
  })

interface Room {
  readonly cpu: string
  readonly memory?: string
  readonly limit?: string
}
/** What every pod of the chart may be given. Without memory here the template says it. */
export function pod({ cpu, memory, limit }: Room, graceSeconds?: number) {
  const requests = { cpu, ...(memory === undefined ? {} : { memory }), 'ephemeral-storage': '16Mi' }
  const limits = { ...(limit === undefined ? {} : { memory: limit }), 'ephemeral-storage': '128Mi' }
  const grace =
    graceSeconds === undefined
      ? {}
      : { terminationGracePeriodSeconds: int('Seconds between SIGTERM and SIGKILL.', graceSeconds, 0, 86_400) }
  return closed(
    {
      resources: raw('Requests and limits. There is no CPU limit, because throttling stalls the event loop.', {
        requests,
        limits,
      }),
      env: mapOf<string | { readonly valueFrom: object }>(
        'Additional environment variables: maps a name to a value, or to {valueFrom}.',
        {
          anyOf: [
            { type: 'string' },
            {
              type: 'object',
              required: ['valueFrom'],
              additionalProperties: false,
              properties: { valueFrom: { type: 'object' } },
            },
          ],
        },
        '^[A-Za-z_][A-Za-z0-9_]*$',
      ),
      volumes: rawList('Additional volumes.'),
      volumeMounts: rawList('Additional volume mounts of the container.'),
      nodeSelector: textMap('Node labels that the pods require.'),
      tolerations: rawList('Tolerations.'),
      affinity: raw('Affinity.'),
      topologySpreadConstraints: rawList(
        'Topology spread constraints. [] = spread over hosts and zones if possible, when there is more than one pod.',
      ),
      priorityClassName: name('Priority class.'),
      runtimeClassName: name('Runtime class.'),
      labels: textMap('Additional labels.'),
      annotations: textMap('Additional annotations.'),
      serviceAccount: closed({
        create: flag('Create the service account.', true),
        name: name('Name of the service account; "" = the name of the workload.'),
        annotations: textMap('Annotations of the service account.'),
      }),
      ...grace,
    },
    'Settings of the pods.',
  )
}
