/**
 * @module operator/fleetworker/tenants
 * Maps namespaces to the workers that their FleetWorkers may manage. The operator's token covers all workers. Without
 * this map every author in a watched namespace could configure the workers of every other team.
 *
 *   {"team-a": {"types": ["crawler"], "workers": ["team-a-*"]}}
 *
 * The key `*` matches every namespace without its own entry. Types are exact or `*`; worker ids are exact, or
 * end in `*`, which matches any suffix.
 * @see D65
 */
import { TYPE_PATTERN } from '../../protocol/index.ts'
import { workerIdOf, type FleetWorker } from './schema.ts'

interface Tenant {
  readonly types: readonly string[]
  readonly workers: readonly string[]
}
export type Tenants = Readonly<Record<string, Tenant>>
/** Whether the namespace of a FleetWorker may manage its worker. */
export type Permits = (resource: FleetWorker) => boolean

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
      'a worker id, or a beginning that ends in "*"',
    )
  }
  return map as Tenants
}

/** Without a map every namespace that is watched may manage every worker. */
export function permitsOf(tenants: Tenants | undefined): Permits {
  if (tenants === undefined) return () => true
  return (resource) => {
    const {
      metadata: { namespace },
      spec: { type },
    } = resource
    const tenant = Object.hasOwn(tenants, namespace) ? tenants[namespace] : tenants['*']
    const id = workerIdOf(resource)
    return (
      tenant !== undefined &&
      tenant.types.some((each) => each === '*' || each === type) &&
      tenant.workers.some((each) => covers(each, id))
    )
  }
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
