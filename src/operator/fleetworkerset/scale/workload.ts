/**
 * @module operator/fleetworkerset/scale/workload
 * Reads and scales the workload of a set by its scale subresource. A write names the number of replicas that it was
 * decided on, so it fails if another client has changed it meanwhile.
 */
import { FIELD_MANAGER } from '../../config/index.ts'
import {
  apiVersionOf,
  collectionPath,
  KubeError,
  objectPath,
  type KubeTransport,
  type Resource,
} from '../../kube/index.ts'
import { MARKED_COST, type PodFacts } from './deployment.ts'
import type { Workload } from './schema.ts'

const KINDS = {
  StatefulSet: { group: 'apps', version: 'v1', plural: 'statefulsets', kind: 'StatefulSet' },
  Deployment: { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment' },
} as const satisfies Readonly<Record<Workload['kind'], Resource>>
const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' }
const COST_ANNOTATION = 'controller.kubernetes.io/pod-deletion-cost'
const PAGE_PODS = 500

/** `unavailable`: the API server did not respond, or not as expected. */
export type WorkloadRead =
  | { readonly kind: 'found'; readonly replicas: number; readonly selector: string; readonly start: number }
  | { readonly kind: 'not_found' | 'forbidden' | 'unavailable'; readonly message: string }

/** `failed`: another client has changed the number, or there was no usable response. */
export type WorkloadCall<T> =
  { readonly kind: 'ok'; readonly value: T } | { readonly kind: 'forbidden' | 'failed'; readonly message: string }

interface ScaleObject {
  readonly spec?: { readonly replicas?: number }
  readonly status?: { readonly selector?: string }
}

interface PodObject {
  readonly metadata: {
    readonly name: string
    readonly creationTimestamp?: string
    readonly deletionTimestamp?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly kind: string; readonly controller?: boolean }[]
  }
  readonly spec?: { readonly nodeName?: string }
  readonly status?: {
    readonly phase?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

export class WorkloadClient {
  readonly #transport: KubeTransport
  readonly #namespace: string
  readonly #workload: Workload

  constructor(transport: KubeTransport, namespace: string, workload: Workload) {
    this.#transport = transport
    this.#namespace = namespace
    this.#workload = workload
  }

  async read(signal: AbortSignal): Promise<WorkloadRead> {
    try {
      const [scale, start] = await Promise.all([
        this.#transport.json<ScaleObject>({ method: 'GET', path: this.#path('scale') }, signal),
        this.#readStart(signal),
      ])
      const { spec, status } = scale.body
      return { kind: 'found', replicas: spec?.replicas ?? 0, selector: status?.selector ?? '', start }
    } catch (error) {
      return refusalOf(error)
    }
  }

  /** Sets the number of replicas if it is still `from`. */
  async scale(from: number, to: number, signal: AbortSignal): Promise<WorkloadCall<void>> {
    // The API server leaves out 0.
    const test = from === 0 ? [] : [{ op: 'test', path: '/spec/replicas', value: from }]
    try {
      await this.#transport.json(
        {
          method: 'PATCH',
          path: this.#path('scale'),
          query: { fieldManager: FIELD_MANAGER },
          contentType: 'application/json-patch+json',
          body: [...test, { op: 'add', path: '/spec/replicas', value: to }],
        },
        signal,
      )
      return { kind: 'ok', value: undefined }
    } catch (error) {
      return failureOf(error)
    }
  }

  /** Reads the pods that the selector matches and a ReplicaSet created. */
  async pods(selector: string, signal: AbortSignal): Promise<WorkloadCall<readonly PodFacts[]>> {
    const pods: PodFacts[] = []
    let place: string | undefined
    try {
      do {
        const { body } = await this.#transport.json<{
          readonly items: readonly PodObject[]
          readonly metadata: { readonly continue?: string }
        }>(
          {
            method: 'GET',
            path: collectionPath(PODS, this.#namespace),
            query: { labelSelector: selector, limit: PAGE_PODS, continue: place },
          },
          signal,
        )
        pods.push(...body.items.filter(isOfReplicaSet).map(factsOf))
        place = body.metadata.continue === '' ? undefined : body.metadata.continue
      } while (place !== undefined)
      return { kind: 'ok', value: pods }
    } catch (error) {
      return failureOf(error)
    }
  }

  /** Sets or removes the low deletion cost of a pod. */
  async mark(pod: string, isMarked: boolean, signal: AbortSignal): Promise<WorkloadCall<void>> {
    const annotations = { [COST_ANNOTATION]: isMarked ? String(MARKED_COST) : null }
    try {
      await this.#transport.json(
        {
          method: 'PATCH',
          path: objectPath(PODS, { namespace: this.#namespace, name: pod }),
          query: { fieldManager: FIELD_MANAGER },
          contentType: 'application/merge-patch+json',
          body: { apiVersion: apiVersionOf(PODS), kind: PODS.kind, metadata: { annotations } },
        },
        signal,
      )
      return { kind: 'ok', value: undefined }
    } catch (error) {
      return error instanceof KubeError && error.status === 404 ? { kind: 'ok', value: undefined } : failureOf(error)
    }
  }

  /** The ordinal of the first pod. */
  async #readStart(signal: AbortSignal): Promise<number> {
    if (this.#workload.kind !== 'StatefulSet') return 0
    const { body } = await this.#transport.json<{
      readonly spec?: { readonly ordinals?: { readonly start?: number } }
    }>({ method: 'GET', path: this.#path() }, signal)
    return body.spec?.ordinals?.start ?? 0
  }

  #path(subresource?: string): string {
    const { kind, name } = this.#workload
    return objectPath(KINDS[kind], { namespace: this.#namespace, name }, subresource)
  }
}

function refusalOf(error: unknown): WorkloadRead {
  if (!(error instanceof KubeError)) throw error
  const { message, status } = error
  if (status === 404) return { kind: 'not_found', message }
  return { kind: status === 403 ? 'forbidden' : 'unavailable', message }
}

function failureOf(error: unknown): Exclude<WorkloadCall<unknown>, { readonly kind: 'ok' }> {
  if (!(error instanceof KubeError)) throw error
  return { kind: error.status === 403 ? 'forbidden' : 'failed', message: error.message }
}

const isOfReplicaSet = ({ metadata: { ownerReferences = [] } }: PodObject): boolean =>
  ownerReferences.some(({ controller, kind }) => controller === true && kind === 'ReplicaSet')

function factsOf({ metadata, spec, status }: PodObject): PodFacts {
  const cost = Number(metadata.annotations?.[COST_ANNOTATION] ?? 0)
  return {
    name: metadata.name,
    isTerminating: metadata.deletionTimestamp !== undefined,
    isAssigned: (spec?.nodeName ?? '') !== '',
    phase: status?.phase ?? 'Pending',
    isReady: status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false,
    cost: Number.isInteger(cost) ? cost : 0,
    createdMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    template: metadata.labels?.['pod-template-hash'] ?? '',
  }
}
