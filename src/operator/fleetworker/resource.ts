/**
 * @module operator/fleetworker/resource
 * Defines the FleetWorker as an object of the API server: its path, its annotations, its finalizer, and the indices of
 * the cache. An index connects a FleetWorker to other objects: its worker, its claim, the Secrets and ConfigMaps that
 * it reads.
 *
 * The finalizer keeps a deleted resource until its worker is released. It is set exactly if something has to be
 * released: with `Reset` and `Deregister`, unless the resource is only observed (D44). Each change is a JSON patch that
 * tests what the decision was based on. So it never changes another object of the same name, or another finalizer.
 */
import { Buffer } from 'node:buffer'
import { type JsonObject, MAX_CONFIG_BYTES, MAX_JSON_DEPTH } from '../../protocol/index.ts'
import { GROUP, type ObjectMetadata, VERSION, withinDepth } from '../config/index.ts'
import { type WorkerRef, claimOf } from '../fleet/index.ts'
import {
  type EventTarget,
  type IndexOf,
  KubeError,
  type KubeObject,
  type KubeTransport,
  type Resource,
  objectPath,
  refOf,
} from '../kube/index.ts'
import { type Packed, packed, unpacked } from '../packed.ts'
import { type FleetWorker, type FleetWorkerSpec, KIND, workerIdOf } from './schema.ts'

export type FleetWorkerObject = FleetWorker & KubeObject

export const FLEET_WORKERS: Resource = { group: GROUP, version: VERSION, plural: 'fleetworkers', kind: KIND }
export const FINALIZER = 'muster.dev/release'
/** A change of this annotation requests a look, even at what was refused before. */
export const RECONCILE_ANNOTATION = 'muster.dev/reconcile'
/** "true" ends a deletion without the master. */
export const ABANDON_ANNOTATION = 'muster.dev/abandon'

export const workerOf = (resource: FleetWorker): WorkerRef => ({
  type: resource.spec.type,
  workerId: workerIdOf(resource),
})
export const claimFor = ({ metadata: { namespace, name, uid } }: FleetWorker): string =>
  claimOf({ namespace, name, uid })
export const targetOf = (type: string, workerId: string): string => `${type}/${workerId}`
export const eventTargetOf = (resource: FleetWorkerObject): EventTarget => ({
  ...refOf(resource),
  apiVersion: `${GROUP}/${VERSION}`,
  kind: KIND,
})

/** The parts of a FleetWorker or FleetWorkerSet that say what it reads. */
export interface SourceUser {
  readonly metadata: Pick<ObjectMetadata, 'name' | 'namespace'>
  readonly spec: Pick<FleetWorkerSpec, 'type' | 'configFrom'>
}

/** Kind, namespace and name of the source of a field. */
export type SourceName = `${'secrets' | 'configmaps'}/${string}/${string}`

export function sourceNamesOf({ metadata: { namespace }, spec }: SourceUser): readonly SourceName[] {
  if (spec.configFrom === undefined) return []
  return spec.configFrom.flatMap(({ secretKeyRef, configMapKeyRef }) => [
    ...(secretKeyRef === undefined ? [] : [`secrets/${namespace}/${secretKeyRef.name}` as const]),
    ...(configMapKeyRef === undefined ? [] : [`configmaps/${namespace}/${configMapKeyRef.name}` as const]),
  ])
}

/** Indices of the cache. */
export const INDICES = {
  target: (resource) => [targetOf(resource.spec.type, workerIdOf(resource))],
  claim: (resource) => [claimFor(resource)],
  source: sourceNamesOf,
} as const satisfies Readonly<Record<string, IndexOf<FleetWorkerObject>>>

class PackedConfig {
  readonly #pack: Packed

  constructor(config: JsonObject) {
    this.#pack = packed(config)
  }

  get config(): JsonObject {
    return unpacked(this.#pack)
  }
}

/**
 * Replaces a config that is refused for its size. It reports the same size, so the same fault is found, but takes no
 * memory.
 */
class OversizedConfig {
  readonly #bytes: number

  constructor(bytes: number) {
    this.#bytes = bytes
  }

  get config(): JsonObject {
    return { '': ' '.repeat(this.#bytes - '{"":""}'.length) }
  }
}

/** Replaces a config that is refused for its depth. */
const TOO_DEEP = Array.from({ length: MAX_JSON_DEPTH + 1 }).reduce<JsonObject>((inner) => ({ '': inner }), {})

/**
 * The spec as the cache stores it. The config, most of it, is stored as text and parsed at each access. A refused
 * config is not stored (D69).
 */
export function keptSpec(spec: FleetWorkerSpec): FleetWorkerSpec {
  const { config, ...rest } = spec
  if (config === undefined) return spec
  if (!withinDepth(config)) return { ...rest, config: TOO_DEEP }
  const bytes = Buffer.byteLength(JSON.stringify(config))
  return Object.assign(bytes > MAX_CONFIG_BYTES ? new OversizedConfig(bytes) : new PackedConfig(config), rest)
}

/** The same resource with its spec unpacked. */
export function whole(resource: FleetWorkerObject): FleetWorkerObject {
  const { config, ...rest } = resource.spec
  return config === undefined ? resource : { ...resource, spec: { ...rest, config } }
}

/**
 * Reads the resource and the clock from the API server. @returns `undefined` if no object has this uid. @throws
 * {KubeError}
 */
export async function readAgain(
  resource: FleetWorkerObject,
  transport: KubeTransport,
  signal: AbortSignal,
): Promise<{ readonly now: FleetWorkerObject | undefined; readonly dateMs: number | undefined }> {
  try {
    const { body, dateMs } = await transport.json<FleetWorkerObject>(
      { method: 'GET', path: objectPath(FLEET_WORKERS, refOf(resource)) },
      signal,
    )
    return { now: body.metadata.uid === resource.metadata.uid ? body : undefined, dateMs }
  } catch (error) {
    if (error instanceof KubeError && error.status === 404) return { now: undefined, dateMs: undefined }
    throw error
  }
}

type Operation =
  | { readonly op: 'test' | 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

export const hasFinalizer = ({ metadata }: KubeObject): boolean => metadata.finalizers?.includes(FINALIZER) === true

export const wantsFinalizer = ({
  spec,
}: {
  readonly spec: Pick<FleetWorkerSpec, 'managementPolicy' | 'deletionPolicy'>
}): boolean =>
  spec.managementPolicy !== 'Observe' && (spec.deletionPolicy === 'Reset' || spec.deletionPolicy === 'Deregister')

export function addFinalizer({
  metadata: { uid, resourceVersion, finalizers = [] },
}: KubeObject): readonly Operation[] {
  const isFirst = finalizers.length === 0
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    // Otherwise a list that another client has changed meanwhile would be replaced.
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    {
      op: 'add',
      path: isFirst ? '/metadata/finalizers' : '/metadata/finalizers/-',
      value: isFirst ? [FINALIZER] : FINALIZER,
    },
  ]
}

export function removeFinalizer({ metadata: { uid, finalizers = [] } }: KubeObject): readonly Operation[] {
  const path = `/metadata/finalizers/${finalizers.indexOf(FINALIZER)}`
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path, value: FINALIZER },
    { op: 'remove', path },
  ]
}

/** @returns the patched object. @throws {KubeError} 422 if it had changed since it was read. */
export async function patchFinalizers<T extends KubeObject>(
  kind: Resource,
  object: T,
  operations: readonly Operation[],
  transport: KubeTransport,
  signal: AbortSignal,
): Promise<T> {
  const { body } = await transport.json<T>(
    {
      method: 'PATCH',
      path: objectPath(kind, refOf(object)),
      contentType: 'application/json-patch+json',
      body: operations,
    },
    signal,
  )
  return body
}
