/**
 * Stores the fake API server's objects of registered kinds, every version since the last compaction, and the managers
 * of each field. It follows the rules of kube-apiserver that test/operator/conformance.ts checks.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { applied, jsonPatched, mergePatched, taken, type KeyedLists, type Managers } from './fake-apply.ts'

export interface FakeKind {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  /** Has `/status`: spec and status cannot be written together, and an edit increments the generation. */
  readonly status?: boolean
  /** The fields in spec and status that `/scale` reads. */
  readonly scale?: { readonly spec: string; readonly status: string; readonly selector: string }
  readonly keyed?: KeyedLists
  /** Added to an object at each read. */
  readonly defaults?: (object: FakeObject) => FakeObject
  /** Returns the validation error of an object; `undefined`: it is valid. */
  readonly refusal?: (object: FakeObject) => string | undefined
}

export interface FakeMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly creationTimestamp: string
  readonly deletionTimestamp?: string
  readonly finalizers?: readonly string[]
  readonly [name: string]: unknown
}
export interface FakeObject {
  readonly metadata: FakeMeta
  readonly spec?: Record<string, unknown>
  readonly status?: Record<string, unknown>
  readonly [name: string]: unknown
}
export type EventKind = 'ADDED' | 'MODIFIED' | 'DELETED'
export interface FakeEvent {
  readonly version: number
  readonly kind: FakeKind
  readonly type: EventKind
  readonly object: FakeObject
}
export interface Where {
  readonly kind: FakeKind
  readonly namespace: string
  readonly name: string
}

/** An error response as the API's `Status`. */
export class StatusError extends Error {
  readonly code: number
  readonly reason: string
  readonly details: Readonly<Record<string, unknown>>
  constructor(code: number, reason: string, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.code = code
    this.reason = reason
    this.details = details
  }
}

interface StoredObject {
  readonly kind: FakeKind
  /** Is never changed, and has no field without a value. */
  readonly object: FakeObject
  readonly managers: Managers
}
type Body = Record<string, unknown> & { readonly metadata?: Partial<FakeMeta> }

export class FakeStore {
  readonly #entries = new Map<string, StoredObject>()
  readonly #wallMs: () => number
  readonly #uuid: () => string
  readonly terminating = new Set<string>()
  readonly history: FakeEvent[] = []
  /** What a list of the current version contains, by kind. */
  readonly #newest = new Map<FakeKind, Map<string, FakeObject>>()
  readonly listeners = new Set<(event: FakeEvent) => void>()
  version = 1
  compactedVersion = 0

  constructor(wallMs: () => number, uuid: () => string = randomUUID) {
    this.#wallMs = wallMs
    this.#uuid = uuid
  }

  get(where: Where): FakeObject {
    return shown(this.#entry(where))
  }

  /** Objects of a kind at a version, ordered by namespace and name. */
  list(kind: FakeKind, namespace: string | undefined, version = this.version): readonly FakeObject[] {
    const found = version === this.version ? this.#newest.get(kind) : this.#listedAt(kind, version)
    return [...(found ?? [])]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, object]) => object)
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
  }

  #listedAt(kind: FakeKind, version: number): Map<string, FakeObject> {
    const found = new Map<string, FakeObject>()
    for (const event of this.history) if (event.version <= version && event.kind === kind) list(found, event)
    return found
  }

  create(where: Omit<Where, 'name'>, body: Body, manager: string): FakeObject {
    const { kind, namespace } = where
    const name = body.metadata?.name ?? ''
    if (name === '')
      throw new StatusError(
        422,
        'Invalid',
        `${kind.kind} "" is invalid: metadata.name: Required value: name or generateName is required`,
      )
    if (this.terminating.has(namespace))
      throw new StatusError(
        403,
        'Forbidden',
        `${kind.plural} "${name}" is forbidden: unable ` +
          `to create new content in namespace ${namespace} because it is being terminated`,
        { causes: [{ reason: 'NamespaceTerminating' }] },
      )
    if (this.#entries.has(pathOf({ ...where, name })))
      throw new StatusError(409, 'AlreadyExists', `${qualified(kind)} "${name}" already exists`)
    const { status, ...rest } = body
    const metadata: FakeMeta = {
      ...body.metadata,
      name,
      namespace,
      uid: this.#uuid(),
      resourceVersion: '',
      creationTimestamp: new Date(this.#wallMs()).toISOString().replace(/\.\d+/, ''),
      ...(kind.status === true ? { generation: 1 } : {}),
    }
    const created = { ...rest, ...(kind.status === true || status === undefined ? {} : { status }), metadata }
    const object = copyOf(completed(kind, created as FakeObject))
    check(kind, object)
    return this.#commit(
      { ...where, name },
      'ADDED',
      object,
      taken(new Map(), manager, {}, owned(object), kind.keyed ?? {}),
    )
  }

  replace(where: Where, subresource: string, body: Body, manager: string): FakeObject {
    const entry = this.#entry(where)
    if ((body.metadata?.resourceVersion ?? '') === '')
      throw new StatusError(
        422,
        'Invalid',
        `${qualified(where.kind)} "${where.name}" is invalid: metadata.resourceVersion: ` +
          'Invalid value: 0: must be specified for an update',
      )
    this.#precondition(where, entry.object, body.metadata)
    return this.#write(where, entry, subresource, body as FakeObject, (next) =>
      taken(entry.managers, manager, owned(entry.object), owned(next), where.kind.keyed ?? {}),
    )
  }

  patch(
    where: Where,
    subresource: string,
    contentType: string,
    body: unknown,
    manager: string,
    force: boolean,
  ): FakeObject {
    if (contentType.startsWith('application/apply-patch'))
      return this.#apply(where, subresource, body as Body, manager, force)
    const entry = this.#entry(where)
    const isJsonPatch = contentType.startsWith('application/json-patch')
    const next = isJsonPatch ? jsonPatched(view(entry), body as never) : mergePatched(view(entry), body)
    if (next === undefined)
      throw new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request')
    if (!isJsonPatch) this.#precondition(where, entry.object, (body as Body).metadata)
    return this.#write(where, entry, subresource, next as FakeObject, (after) =>
      taken(entry.managers, manager, owned(entry.object), owned(after), where.kind.keyed ?? {}),
    )
  }

  delete(where: Where, preconditions: Partial<FakeMeta> | undefined): FakeObject {
    const entry = this.#entry(where)
    this.#precondition(where, entry.object, preconditions)
    const { object, managers } = entry
    if ((object.metadata.finalizers ?? []).length === 0) return this.#commit(where, 'DELETED', object, managers)
    if (object.metadata.deletionTimestamp !== undefined) return shown(entry)
    const { generation } = object.metadata
    const deletionTimestamp = new Date(this.#wallMs()).toISOString().replace(/\.\d+/, '')
    return this.#commit(
      where,
      'MODIFIED',
      {
        ...object,
        metadata: {
          ...object.metadata,
          deletionTimestamp,
          ...(generation === undefined ? {} : { generation: generation + 1 }),
        },
      },
      managers,
    )
  }

  scaleOf(where: Where): Record<string, unknown> {
    const { metadata, spec = {}, status = {} } = this.get(where)
    const { scale } = where.kind
    if (scale === undefined) throw new StatusError(404, 'NotFound', 'the server could not find the requested resource')
    if (typeof spec[scale.spec] !== 'number')
      throw new StatusError(
        500,
        'InternalError',
        `Internal error occurred: the spec replicas field ".spec.${scale.spec}" does not exist`,
      )
    const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata
    return {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
      spec: { replicas: spec[scale.spec] },
      status: { replicas: status[scale.status] ?? 0, selector: status[scale.selector] ?? '' },
    }
  }

  scaleTo(where: Where, contentType: string, body: unknown, manager: string): Record<string, unknown> {
    const scale = contentType.startsWith('application/json-patch')
      ? jsonPatched(this.scaleOf(where), body as never)
      : body
    if (scale === undefined)
      throw new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request')
    const { metadata, spec } = scale as { metadata?: Partial<FakeMeta>; spec: { replicas: number } }
    this.patch(
      where,
      '',
      'application/merge-patch+json',
      {
        metadata: { resourceVersion: metadata?.resourceVersion ?? '' },
        spec: { [where.kind.scale?.spec ?? '']: spec.replicas },
      },
      manager,
      false,
    )
    return this.scaleOf(where)
  }

  /** Makes all versions so far unavailable for watches and lists. */
  compact(): void {
    this.compactedVersion = this.version
  }

  #apply(where: Where, subresource: string, body: Body, manager: string, force: boolean): FakeObject {
    const { kind } = where
    const entry = this.#entries.get(pathOf(where))
    if (entry === undefined) {
      if (subresource !== '') throw notFound(where)
      if (body.metadata?.uid !== undefined)
        throw new StatusError(
          409,
          'Conflict',
          `uid mismatch: the provided object specified uid ${body.metadata.uid}, and no existing object was found`,
        )
      return this.create(where, body, manager)
    }
    const { uid, ...rest } = body.metadata ?? {}
    this.#precondition(where, entry.object, rest)
    // The uid is not checked for a status.
    if (subresource === '' && uid !== undefined && uid !== entry.object.metadata.uid)
      throw new StatusError(
        422,
        'Invalid',
        `${kind.kind} "${where.name}" is invalid: metadata.uid: Invalid value: "${uid}": field is immutable`,
      )
    const owner = `${manager}/${subresource}`
    const { metadata: { labels, annotations, finalizers } = {}, apiVersion: _, kind: __, status, ...fields } = body
    const metadata = Object.fromEntries(
      Object.entries({ labels, annotations, finalizers }).filter(([, value]) => value !== undefined),
    )
    const wanted =
      subresource === 'status'
        ? { status }
        : {
            ...fields,
            ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
            ...(kind.status === true ? {} : { status }),
          }
    const result = applied(
      entry.object,
      entry.managers,
      owner,
      JSON.parse(JSON.stringify(wanted)) as Body,
      kind.keyed ?? {},
    )
    if (result.conflicts.length > 0 && !force)
      throw new StatusError(
        409,
        'Conflict',
        `Apply failed with ${result.conflicts.length} conflict${result.conflicts.length === 1 ? '' : 's'}: ` +
          result.conflicts.join(', '),
      )
    return this.#write(where, entry, subresource, result.object as unknown as FakeObject, () => result.managers)
  }

  /**
   * Applies a write: the fields that a subresource may change, generation, finalizers, and no event without a change.
   */
  #write(
    where: Where,
    entry: StoredObject,
    subresource: string,
    wanted: FakeObject,
    managersOf: (next: FakeObject) => Managers,
  ): FakeObject {
    const { kind } = where
    const { object: before } = entry
    const { uid, resourceVersion, creationTimestamp, generation, deletionTimestamp, name, namespace } = before.metadata
    const fixed = {
      uid,
      resourceVersion,
      creationTimestamp,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(generation === undefined ? {} : { generation }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    }
    const { status: oldStatus, ...oldRest } = before
    const { status: newStatus, ...newRest } = wanted
    const withStatus = (rest: object, status: unknown): FakeObject =>
      ({ ...rest, ...(status === undefined ? {} : { status }) }) as FakeObject
    const { deletionTimestamp: _, ...metadata } = wanted.metadata
    let next =
      subresource === 'status'
        ? withStatus(oldRest, newStatus)
        : withStatus(
            { ...newRest, apiVersion: before['apiVersion'], kind: before['kind'], metadata: { ...metadata, ...fixed } },
            kind.status === true ? oldStatus : newStatus,
          )
    next = copyOf(completed(kind, next))
    check(kind, next)
    if (isDeepStrictEqual(next, before)) {
      this.#entries.set(pathOf(where), { kind, object: before, managers: managersOf(next) })
      return shown(entry)
    }
    if (generation !== undefined && subresource === '' && !isDeepStrictEqual(contentOf(next), contentOf(before)))
      next = { ...next, metadata: { ...next.metadata, generation: generation + 1 } }
    const isGone = deletionTimestamp !== undefined && (next.metadata.finalizers ?? []).length === 0
    return this.#commit(where, isGone ? 'DELETED' : 'MODIFIED', next, managersOf(next))
  }

  #commit(where: Where, type: EventKind, object: FakeObject, managers: Managers): FakeObject {
    this.version += 1
    const { kind } = where
    const entry: StoredObject = {
      kind,
      object: {
        ...object,
        apiVersion: kind.group === '' ? kind.version : `${kind.group}/${kind.version}`,
        kind: kind.kind,
        metadata: { ...object.metadata, resourceVersion: String(this.version) },
      },
      managers,
    }
    if (type === 'DELETED') this.#entries.delete(pathOf(where))
    else this.#entries.set(pathOf(where), entry)
    const event = { version: this.version, kind, type, object: shown(entry) }
    this.history.push(event)
    const newest = this.#newest.get(kind) ?? new Map<string, FakeObject>()
    this.#newest.set(kind, newest)
    list(newest, event)
    for (const listener of this.listeners) listener(event)
    return event.object
  }

  #entry(where: Where): StoredObject {
    const entry = this.#entries.get(pathOf(where))
    if (entry === undefined) throw notFound(where)
    return entry
  }

  #precondition({ kind, name }: Where, { metadata }: FakeObject, wanted: Partial<FakeMeta> | undefined): void {
    const operation = `Operation cannot be fulfilled on ${qualified(kind)} "${name}":`
    if (wanted?.uid !== undefined && wanted.uid !== metadata.uid)
      throw new StatusError(
        409,
        'Conflict',
        `${operation} Precondition failed: UID in precondition: ${wanted.uid}, UID in object meta: ${metadata.uid}`,
      )
    if (
      wanted?.resourceVersion !== undefined &&
      wanted.resourceVersion !== '' &&
      wanted.resourceVersion !== metadata.resourceVersion
    )
      throw new StatusError(
        409,
        'Conflict',
        `${operation} the object has been modified; please apply your changes to the latest version and try again`,
      )
  }
}

/** Adds the object of an event to a list, or removes it. */
function list(to: Map<string, FakeObject>, { type, object }: FakeEvent): void {
  const key = `${object.metadata.namespace ?? ''}/${object.metadata.name}`
  if (type === 'DELETED') to.delete(key)
  else to.set(key, object)
}

const pathOf = ({ kind, namespace, name }: Where): string => `${kind.group}/${kind.plural}/${namespace}/${name}`
const qualified = ({ group, plural }: FakeKind): string => (group === '' ? plural : `${plural}.${group}`)
const notFound = ({ kind, name }: Where): StatusError =>
  new StatusError(404, 'NotFound', `${qualified(kind)} "${name}" not found`)
/** The part of an object that increments the generation. */
const contentOf = (object: FakeObject): object => without(object, 'metadata', 'status', 'apiVersion', 'kind')
/** The part of an object that has managers. */
const owned = (object: FakeObject): Record<string, unknown> => {
  const { labels, annotations, finalizers } = object.metadata
  const entries = Object.entries({ labels, annotations, finalizers }).filter(([, value]) => value !== undefined)
  return { ...without(object, 'apiVersion', 'kind'), metadata: Object.fromEntries(entries) }
}
const without = (object: object, ...names: readonly string[]): object =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))

/** An object as clients see it, to read only: it shares its fields with the stored one. */
function view({ kind, object, managers }: StoredObject): FakeObject {
  const managedFields = [...managers.keys()].map((manager) => ({ manager, operation: 'Apply' }))
  return completed(kind, { ...object, metadata: { ...object.metadata, managedFields } })
}

const shown = (entry: StoredObject): FakeObject => copyOf(view(entry))
const copyOf = (object: FakeObject): FakeObject => JSON.parse(JSON.stringify(object)) as FakeObject

/** Adds defaults, to written and read objects alike; otherwise an equal write would count as a change. */
const completed = (kind: FakeKind, object: FakeObject): FakeObject => kind.defaults?.(object) ?? object

function check(kind: FakeKind, object: FakeObject): void {
  const why = kind.refusal?.(object)
  if (why !== undefined)
    throw new StatusError(422, 'Invalid', `${kind.kind} "${object.metadata.name}" is invalid: ${why}`)
}
