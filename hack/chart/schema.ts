/**
 * @module hack/chart/schema
 * Builds the schema of the chart's values from keys, each with a default and a description. Used by values.ts. The
 * result is JSON Schema draft-07, which Helm reads. Objects reject unknown keys, except those of Kubernetes itself (a
 * toleration, a metric), which the API server checks.
 */
import { readFileSync } from 'node:fs'
import { Type, type TObject, type TProperties } from 'typebox'
import { TYPE_PATTERN } from '../../src/protocol/index.ts'

const PART = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
/** The name of a Kubernetes object, or empty. */
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
export const intOrNull = (description: string, fallback: number, minimum: number, maximum: number) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], default: fallback, minimum, maximum, description })
export const port = (description: string, fallback: number, minimum = 1) => int(description, fallback, minimum, 65_535)
export const word = <const T extends string>(words: readonly T[], fallback: NoInfer<T>, description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: words, default: fallback, description })
const quantity = (fallback: string, description: string) =>
  text(description, fallback, { pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$' })

/** An object that rejects unknown keys. */
export const closed = <T extends TProperties>(properties: T, description = ''): TObject<T> =>
  Type.Object(properties, { additionalProperties: false, ...(description === '' ? {} : { description }) })

/** A Kubernetes object, which the chart copies without checking it. */
export const raw = (description: string, fallback: object = {}) =>
  Type.Unsafe<Readonly<Record<string, unknown>>>({ type: 'object', default: fallback, description })
export const rawList = (description: string, fallback: readonly object[] = []) =>
  Type.Unsafe<readonly Readonly<Record<string, unknown>>[]>({
    type: 'array',
    items: { type: 'object' },
    default: fallback,
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

/**
 * The same schema without required keys and defaults, for an entry of `workers`: a default in the entry would override
 * the value of `workerDefaults`.
 */
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
export const KEY = '^[-._a-zA-Z0-9]+$'
export const key = (fallback: string) => text('Key in the Secret.', fallback, { pattern: KEY })
/** `{secret, key}`: the Secret and the key that contain a value, which is never part of the chart's values. */
export const secretKey = (secret: string, fallback: string) => closed({ secret: name(secret), key: key(fallback) })
export const image = (registry: string, repository: string, tag: string, tagIs: string) =>
  closed({
    registry: text('Image registry; global.imageRegistry takes precedence.', registry, {
      pattern: '^([a-zA-Z0-9.-]+(:[0-9]+)?)?$',
    }),
    repository: text('Image repository.', repository, { pattern: '^[a-z0-9]+([._/-]+[a-z0-9]+)*$' }),
    tag: text(tagIs, tag, { pattern: '^([A-Za-z0-9_][A-Za-z0-9._-]{0,127})?$' }),
    digest: text('Image digest, sha256:…; takes precedence over the tag.', '', { pattern: '^(sha256:[0-9a-f]{64})?$' }),
    pullPolicy: word(
      ['IfNotPresent', 'Always', 'Never'],
      'IfNotPresent',
      'Image pull policy: Always, IfNotPresent or Never.',
    ),
  })

function ownImage(): { readonly registry: string; readonly repository: string } {
  const path = new URL('../../release.json', import.meta.url)
  const names = JSON.parse(readFileSync(path, 'utf8')) as { readonly published: boolean; readonly image: string }
  const [registry = '', ...rest] = (names.published ? names.image : 'localhost/muster').split('/')
  return { registry, repository: rest.join('/') }
}

/** Before the first release, the image is the one that `make image` builds; then, that of the registry. */
export const OWN_IMAGE = ownImage()

export const persistence = (enabled: boolean, size: string, more: TProperties = {}) =>
  closed({
    enabled: flag('Use a PersistentVolumeClaim. Uninstalling keeps it.', enabled),
    size: quantity(size, 'Size of the volume.'),
    storageClassName: name('Storage class; "" = the default of the cluster.'),
    ...more,
  })

interface PodResources {
  readonly cpu: string
  readonly memory?: string
  readonly limit?: string
}
/** The settings that every pod of the chart has. Without `memory` and `limit` the template sets the memory. */
export function pod({ cpu, memory, limit }: PodResources, graceSeconds?: number) {
  const requests = { cpu, ...(memory === undefined ? {} : { memory }), 'ephemeral-storage': '16Mi' }
  const limits = { ...(limit === undefined ? {} : { memory: limit }), 'ephemeral-storage': '128Mi' }
  const grace =
    graceSeconds === undefined
      ? {}
      : {
          terminationGracePeriodSeconds: int(
            'Seconds between SIGTERM and SIGKILL when a pod stops.',
            graceSeconds,
            0,
            86_400,
          ),
        }
  return closed(
    {
      resources: raw('Resource requests and limits. There is no CPU limit, because throttling stalls the event loop.', {
        requests,
        limits,
      }),
      env: mapOf<string | { readonly valueFrom: object }>(
        'Additional environment variables: a map of names to values, or to {valueFrom}.',
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
      tolerations: rawList('Tolerations, as in the spec of a pod.'),
      affinity: raw('Node and pod affinity, as in the spec of a pod.'),
      topologySpreadConstraints: rawList(
        'Topology spread constraints. [] = if there is more than one pod, spread over hosts and zones where possible.',
      ),
      priorityClassName: name('Name of the PriorityClass.'),
      runtimeClassName: name('Name of the RuntimeClass.'),
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
