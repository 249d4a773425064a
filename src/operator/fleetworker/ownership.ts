/**
 * @module operator/fleetworker/ownership
 * Decides which FleetWorker may manage a worker.
 *
 * Namespaces: a map limits which workers the FleetWorkers of a namespace may manage. The operator's token covers all
 * workers. Without the map every author in a watched namespace could configure the workers of every other team.
 *
 *   {"team-a": {"types": ["crawler"], "workers": ["team-a-*"]}}
 *
 * The key `*` matches every namespace without its own entry. Types are exact or `*`; worker ids are exact, or end in
 * `*`, which matches any suffix.
 *
 * Duplicates: of several FleetWorkers for one worker the oldest owns it, then the one with the smaller uid, until it is
 * deleted from the API server. The result depends on nothing else, so every replica has the same one. A FleetWorker
 * that cannot be applied owns no worker. Otherwise an object without effect would block the others.
 * @see D65
 */
import { compareText } from '../../runtime/index.ts'
import { type Change, type ObjectCache, type ObjectKey, keyOf } from '../kube/index.ts'
import { boundFaults } from './bounds.ts'
import { type FleetWorkerObject, targetOf, whole, workerOf } from './resource.ts'
import { TYPE_PATTERN } from '../../protocol/index.ts'
import { type FleetWorker, workerIdOf } from './schema.ts'

const rivalsOf = (resource: FleetWorkerObject, cache: ObjectCache<FleetWorkerObject>): readonly FleetWorkerObject[] => {
  const { type, workerId } = workerOf(resource)
  return cache.byIndex('target', targetOf(type, workerId))
}

const byAge = ({ metadata: a }: FleetWorkerObject, { metadata: b }: FleetWorkerObject): number => {
  return compareText(`${a.creationTimestamp} ${a.uid}`, `${b.creationTimestamp} ${b.uid}`)
}

/** False for a resource that is being deleted, suspended, not permitted or invalid. */
function isApplicable(resource: FleetWorkerObject, permits: Permits): boolean {
  const { metadata, spec } = resource
  return (
    metadata.deletionTimestamp === undefined &&
    spec.suspend !== true &&
    permits(resource) &&
    boundFaults(whole(resource)).length === 0
  )
}

/** @returns the owner if that is another resource; `undefined` if it is this one, or none can be applied. */
export function otherOwnerOf(
  resource: FleetWorkerObject,
  cache: ObjectCache<FleetWorkerObject>,
  permits: Permits,
): FleetWorkerObject | undefined {
  const rivals = rivalsOf(resource, cache)
  if (rivals.every(({ metadata }) => metadata.uid === resource.metadata.uid)) return undefined
  const [oldest] = rivals.filter((each) => isApplicable(each, permits)).toSorted(byAge)
  return oldest === undefined || oldest.metadata.uid === resource.metadata.uid ? undefined : oldest
}

/** Names the owner only to users who may see it. */
export function conflictMessage({ metadata }: FleetWorkerObject, { metadata: owner }: FleetWorkerObject): string {
  const isSameNamespace = metadata.namespace === owner.namespace
  const other = isSameNamespace ? `the older FleetWorker ${owner.name}` : 'an older FleetWorker of another namespace'
  return `${other} manages this worker; delete one of the two`
}

/**
 * Keys of the other FleetWorkers for the same worker. They are affected if a resource is created or deleted, or becomes
 * applicable or inapplicable.
 */
export function rivalKeys(
  { key, before, after }: Change<FleetWorkerObject>,
  cache: ObjectCache<FleetWorkerObject>,
  permits: Permits,
): readonly ObjectKey[] {
  const keys = [before, after]
    .flatMap((each) => (each === undefined ? [] : rivalsOf(each, cache)))
    .map(({ metadata }) => keyOf(metadata))
  const others = [...new Set(keys)].filter((each) => each !== key)
  if (others.length === 0 || before === undefined || after === undefined || before.metadata.uid !== after.metadata.uid)
    return others
  return isApplicable(before, permits) === isApplicable(after, permits) ? [] : others
}

interface Tenant {
  readonly types: readonly string[]
  readonly workers: readonly string[]
}
export type Tenants = Readonly<Record<string, Tenant>>
/** Whether the namespace of a FleetWorker may manage its worker. */
export type Permits = (resource: FleetWorker) => boolean
/** Which workers of a type the objects of a namespace may manage. */
export interface PermittedWorkers {
  permits(workerId: string): boolean
  /** Whether every worker whose id matches the pattern is permitted; `*` and `?` are wildcards. */
  permitsAll(idPattern: string): boolean
}
/** @returns `undefined` if the objects of the namespace may manage no worker of the type. */
export type WorkerScope = (namespace: string, type: string) => PermittedWorkers | undefined

const NAMESPACE = /^(\*|[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)$/
const TYPE = new RegExp(TYPE_PATTERN)
const WORKERS = /^[^*]*\*?$/
const EXAMPLE = 'for example {"team-a": {"types": ["http-probe"], "workers": ["team-a-*"]}}'

/** @throws Error whose message is the problem and an example. */
export function parseTenants(text: string): Tenants {
  const map = objectOf(parsed(text), 'the value')
  for (const [namespace, tenant] of Object.entries(map)) {
    if (!NAMESPACE.test(namespace))
      throw new Error(`${JSON.stringify(namespace)} is not the name of a namespace, nor "*"; ${EXAMPLE}`)
    const { types, workers, ...others } = objectOf(tenant, namespace)
    const [unknown] = Object.keys(others)
    if (unknown !== undefined)
      throw new Error(`${namespace} has the unknown key ${JSON.stringify(unknown)}; its keys are types and workers`)
    checkList(types, `types of ${namespace}`, (each) => each === '*' || TYPE.test(each), 'an automation type, nor "*"')
    checkList(
      workers,
      `workers of ${namespace}`,
      (each) => WORKERS.test(each),
      'a worker id, nor a prefix that ends in "*"',
    )
  }
  return map as Tenants
}

/** Without a map every namespace that is watched may manage every worker. */
export function permitsOf(tenants: Tenants | undefined): Permits {
  const scope = scopeOf(tenants)
  return (resource) => scope(resource.metadata.namespace, resource.spec.type)?.permits(workerIdOf(resource)) === true
}

export function scopeOf(tenants: Tenants | undefined): WorkerScope {
  if (tenants === undefined) return () => EVERY_WORKER
  return (namespace, type) => {
    const tenant = Object.hasOwn(tenants, namespace) ? tenants[namespace] : tenants['*']
    if (tenant === undefined || !tenant.types.some((each) => each === '*' || each === type)) return undefined
    return {
      permits: (workerId) => tenant.workers.some((each) => covers(each, workerId)),
      permitsAll: (idPattern) => tenant.workers.some((each) => coversAll(each, idPattern)),
    }
  }
}

const EVERY_WORKER: PermittedWorkers = { permits: () => true, permitsAll: () => true }

/** Every id that matches begins with the part before the first wildcard. */
function coversAll(pattern: string, idPattern: string): boolean {
  const literal = idPattern.split(/[*?]/, 1)[0] ?? ''
  return pattern.endsWith('*') ? literal.startsWith(pattern.slice(0, -1)) : idPattern === pattern && literal === pattern
}

const covers = (pattern: string, id: string): boolean =>
  pattern.endsWith('*') ? id.startsWith(pattern.slice(0, -1)) : id === pattern

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`is not JSON: ${(error as Error).message}; ${EXAMPLE}`, { cause: error })
  }
}

function objectOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${what} is not an object; ${EXAMPLE}`)
  return value as Readonly<Record<string, unknown>>
}

function checkList(value: unknown, what: string, isSound: (each: string) => boolean, kind: string): void {
  if (!Array.isArray(value)) throw new Error(`${what}: is not a list; ${EXAMPLE}`)
  const wrong: unknown = value.find((each: unknown) => typeof each !== 'string' || !isSound(each))
  if (wrong !== undefined) throw new Error(`${what}: ${JSON.stringify(wrong)} is not ${kind}; ${EXAMPLE}`)
}
