/**
 * @module operator/kube/objects
 * Defines the parts of the Kubernetes API that the runtime needs, for objects of any kind. Objects keep unknown fields:
 * a typed reader that drops them would delete them at the next write.
 */

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly finalizers?: readonly string[]
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface KubeObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
  readonly spec?: unknown
  readonly status?: unknown
}

/**
 * Namespace and name of an object that may differ. A key never says what happened to it. Neither part can contain a
 * slash.
 */
export type ObjectKey = `${string}/${string}`

/** One object with its uid: the same name with another uid is another object. */
export interface ObjectRef {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** A kind of object as the API addresses it. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
}

/** One page of a list. */
export interface ObjectList<T extends KubeObject> {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: readonly T[]
}

export const keyOf = ({ namespace = '', name }: { readonly namespace?: string; readonly name: string }): ObjectKey =>
  `${namespace}/${name}`

export const refOf = ({ metadata: { namespace = '', name, uid } }: KubeObject): ObjectRef => ({ namespace, name, uid })

export const apiVersionOf = ({ group, version }: Resource): string => (group === '' ? version : `${group}/${version}`)

/** The path of a collection, in one namespace or (if empty) in the cluster. Names of objects are percent-encoded. */
export function collectionPath(resource: Resource, namespace = ''): string {
  const root = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`
  return `${root}${namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`}/${resource.plural}`
}

export function objectPath(
  resource: Resource,
  { namespace, name }: Pick<ObjectRef, 'namespace' | 'name'>,
  subresource?: string,
): string {
  const path = `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`
  return subresource === undefined ? path : `${path}/${subresource}`
}

/** MicroTime of the API: six digits of a second, of which a wall clock provides three. */
export const microTime = (wallMs: number): string => new Date(wallMs).toISOString().replace('Z', '000Z')
