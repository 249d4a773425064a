/**
 * @module cmd/doctor/cluster-checks
 * Checks the custom resources and the operator of a Kubernetes cluster, if a kubeconfig or a service account exists. It
 * only reads. The client of the API server is large, so it is loaded only then.
 */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { KubeIdentity, KubeTransport, Resource } from '../../operator/kube/index.ts'
import type { Environment } from '../settings.ts'
import { fail, ok, skip, warn, type Check, type Finding } from './check.ts'
import type { Session } from './session.ts'

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount/token'
/** The operator renews it every 2 s. */
const LEASE_OLD_MS = 60_000
/** Objects that one request lists. */
const PAGE = 500
/** Objects that a finding names. */
const NAMED = 3
const INSTALL = 'kubectl apply --server-side --force-conflicts -k crds'

/** The requests of these checks are sent to the cluster, so they need none of the master. */
export const crds: Check = {
  name: 'crds',
  what: 'with a kubeconfig: whether the custom resource definitions are those of this release',
  needs: [],
  run: (session) => withCluster(session, checkDefinitions),
}

export const operatorLease: Check = {
  name: 'operator-lease',
  what: 'with a kubeconfig: whether an operator holds its Lease',
  needs: ['crds'],
  run: (session) => withCluster(session, checkLease),
}

export const tenants: Check = {
  name: 'tenants',
  what: 'with a kubeconfig: whether the tenants of the operator permit every FleetWorker and FleetWorkerSet',
  needs: ['operator-lease'],
  run: (session) => withCluster(session, checkTenants),
}

interface Cluster {
  readonly transport: KubeTransport
  readonly identity: KubeIdentity
  readonly signal: AbortSignal
  readonly session: Session
}

function hasKubeconfig(environment: Environment): boolean {
  const home = environment['HOME'] ?? homedir()
  return (
    (environment['KUBECONFIG'] ?? '') !== '' || existsSync(join(home, '.kube/config')) || existsSync(SERVICE_ACCOUNT)
  )
}

async function withCluster(session: Session, check: (cluster: Cluster) => Promise<Finding>): Promise<Finding> {
  const { environment, time } = session.io
  if (!hasKubeconfig(environment)) return skip('there is no kubeconfig')
  const { readIdentity } = await import('../kube-identity.ts')
  const reading = readIdentity()
  if (reading.kind === 'fault')
    return fail('the kubeconfig cannot be used', reading.fault.problem, 'correct KUBECONFIG: kubectl config view')
  const { PooledTransport } = await import('../../operator/kube/index.ts')
  const { identity } = reading
  const transport = new PooledTransport({ identity, clock: time, timers: time })
  const end = new AbortController()
  const cancel = time.after(session.limits.upgradeMs, () => end.abort(new Error('no response from the API server')))
  try {
    return await check({ transport, identity, signal: end.signal, session })
  } catch (error) {
    const { status, message } = error as { readonly status?: number; readonly message: string }
    if (status === 401 || status === 403) return skip(`the user of the kubeconfig lacks a right: ${message}`)
    return fail(
      `the API server ${identity.server.host} cannot be read`,
      message,
      'compare with kubectl get --raw /readyz, or unset KUBECONFIG if this cluster has no Muster',
    )
  } finally {
    cancel()
    await transport.close()
  }
}

interface Definition {
  readonly spec: {
    readonly versions: readonly {
      readonly name: string
      readonly served: boolean
      readonly schema?: { readonly openAPIV3Schema?: Schema }
    }[]
  }
}
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
}

async function checkDefinitions({ transport, signal }: Cluster): Promise<Finding> {
  const { FLEET_WORKERS, FLEET_WORKER_SETS, FleetWorkerSpec, FleetWorkerSetSpec } =
    await import('../../operator/index.ts')
  const known = [
    { resource: FLEET_WORKERS, fields: Object.keys(FleetWorkerSpec.properties) },
    { resource: FLEET_WORKER_SETS, fields: Object.keys(FleetWorkerSetSpec.properties) },
  ]
  const read = await Promise.all(
    known.map(async ({ resource, fields }) => {
      const definition = await definitionOf(resource, transport, signal)
      return { resource, definition, problem: definition === null ? null : problemOf(definition, resource, fields) }
    }),
  )
  if (read.every(({ definition }) => definition === null)) return skip('the cluster has no custom resources of Muster')
  const missing = read.filter(({ definition }) => definition === null).map(({ resource }) => nameOf(resource))
  if (missing.length > 0)
    return fail(`${missing.join(', ')} is missing`, 'the definitions are of an earlier release', INSTALL)
  const problems = read.flatMap(({ problem }) => (problem === null ? [] : [problem]))
  if (problems.length === 0) return ok(`${known.map(({ resource }) => nameOf(resource)).join(', ')} have all fields`)
  return warn('the definitions are of another release', problems.join('; '), INSTALL)
}

const nameOf = ({ plural, group, version }: Resource): string => `${plural}.${group}/${version}`

async function definitionOf(
  { plural, group }: Resource,
  transport: KubeTransport,
  signal: AbortSignal,
): Promise<Definition | null> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${group}`
  return unlessMissing(async () => (await transport.json<Definition>({ method: 'GET', path }, signal)).body)
}

async function unlessMissing<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if ((error as { readonly status?: number }).status === 404) return null
    throw error
  }
}

function problemOf({ spec }: Definition, resource: Resource, fields: readonly string[]): string | null {
  const version = spec.versions.find(({ name, served }) => name === resource.version && served)
  if (version === undefined) return `${nameOf(resource)} is not served`
  const stored = Object.keys(version.schema?.openAPIV3Schema?.properties?.['spec']?.properties ?? {})
  const missing = fields.filter((field) => !stored.includes(field))
  if (missing.length === 0) return null
  return `${nameOf(resource)} lacks ${missing.map((field) => `spec.${field}`).join(', ')}`
}

interface Lease {
  readonly spec?: { readonly holderIdentity?: string | null; readonly renewTime?: string | null }
}

async function checkLease({ transport, identity, signal, session }: Cluster): Promise<Finding> {
  const { environment } = session.io
  const name = environment['SVC_LEASE_NAME'] || 'muster-operator'
  const namespace = session.namespace ?? (environment['SVC_LEASE_NAMESPACE'] || identity.namespace || 'default')
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`
  const read = await unlessMissing(() => transport.json<Lease>({ method: 'GET', path }, signal))
  const pods = `kubectl get pods -n ${namespace} -l app.kubernetes.io/component=operator`
  const lease = `Lease ${name} of namespace ${namespace}`
  if (read === null)
    return warn(
      `the ${lease} does not exist`,
      'no operator has run with this name in this namespace',
      `${pods}; for another place: muster doctor --namespace NAMESPACE, or SVC_LEASE_NAME=NAME`,
    )
  const { holderIdentity: holder, renewTime } = read.body.spec ?? {}
  const ageMs = (read.dateMs ?? session.io.time.wallMs()) - Date.parse(renewTime ?? '')
  if ((holder ?? '') === '')
    return fail(
      `no operator holds the ${lease}`,
      'the last one released it when it stopped',
      `start the operator: ${pods}`,
    )
  if (Number.isNaN(ageMs) || ageMs > LEASE_OLD_MS)
    return fail(
      `${holder} has not renewed the ${lease} since ${renewTime ?? 'its start'}`,
      'the operator does not run, does not reach the API server, or its clock is wrong',
      `look at its log: ${pods}`,
    )
  return ok(`${holder} holds the ${lease}`)
}

interface Declared {
  readonly metadata: { readonly namespace: string; readonly name: string }
  readonly status?: { readonly conditions?: readonly { readonly reason: string; readonly message?: string }[] }
}

/** Reads what the operator has written into the status of the objects, because only it knows its tenants. */
async function checkTenants({ transport, signal }: Cluster): Promise<Finding> {
  const { FLEET_WORKERS, FLEET_WORKER_SETS } = await import('../../operator/index.ts')
  let count = 0
  const refused: { readonly name: string; readonly cause: string }[] = []
  for (const { kind, resource } of [
    { kind: 'FleetWorker', resource: FLEET_WORKERS },
    { kind: 'FleetWorkerSet', resource: FLEET_WORKER_SETS },
  ])
    for await (const { metadata, status } of listed(resource, transport, signal)) {
      count += 1
      const condition = status?.conditions?.find(({ reason }) => reason === 'NotPermitted')
      if (condition === undefined) continue
      refused.push({
        name: `${kind} ${metadata.namespace}/${metadata.name}`,
        cause: condition.message ?? 'NotPermitted',
      })
    }
  const [first] = refused
  if (first === undefined) return ok(`${count} FleetWorkers and FleetWorkerSets, all permitted`)
  const names = refused.slice(0, NAMED).map(({ name }) => name)
  const more = refused.length > NAMED ? ` and ${refused.length - NAMED} more` : ''
  return warn(
    `the tenants of the operator do not permit ${names.join(', ')}${more}`,
    first.cause,
    'correct operator.tenants of the chart (SVC_TENANTS), or type and id of the objects',
  )
}

async function* listed({ group, version, plural }: Resource, transport: KubeTransport, signal: AbortSignal) {
  const path = `/apis/${group}/${version}/${plural}`
  let place: string | undefined
  do {
    const query = { limit: PAGE, continue: place }
    const { body } = await transport.json<{
      readonly items: readonly Declared[]
      readonly metadata: { readonly continue?: string }
    }>({ method: 'GET', path, query }, signal)
    yield* body.items
    place = body.metadata.continue
  } while (place !== undefined && place !== '')
}
