/**
 * Checks the operator.
 *
 *   I16  no config of an older spec replaces one of a newer spec (G21); two FleetWorkers for one worker never
 *        alternate, and a replica writes only while the lease names it (G24); at rest nothing is written (G20)
 *   V3   60 s after faults end each worker has the config of its FleetWorker, and the status says so (G19, G22, G23)
 *
 * The claim of a deleted FleetWorker may return. A leader that started after the deletion cannot distinguish it from
 * one of another cluster, and leaves the worker to it with OwnershipConflict (D103).
 *
 * A spec has a revision, which rises with each edit. The claim of the FleetWorker is the actor of its writes, and ends
 * with a part of its uid. After 60 s of calm each FleetWorker is reconciled 50 more times.
 */
import { isDeepStrictEqual } from 'node:util'
import { RECONCILE_ANNOTATION } from '../../../src/operator/fleetworker/resource.ts'
import type { ConfigPut } from '../../../src/storage/index.ts'
import { LEASES } from '../../operator/fake-apiserver.ts'
import { FLEETWORKERS } from '../../operator/fleetworker/kinds.ts'
import type { FakeEvent, FakeObject } from '../../operator/fake-store.ts'
import { NAMESPACE, type SimApiServer } from '../operator/api-server.ts'
import type { CheckDeps, CreateCheck, InvariantCheck, LogLine, OperatorWrite } from './invariant.ts'

/** Faults of the calm phase begin later than the sum of both. */
const SETTLES_MS = 60_000
const REST_MS = 8_000
const MORE_RECONCILES = 50
/** A worker reports every 15 s. One whose frames do not arrive is connected again within 61 s (liveness.ts). */
const SILENT_MS = 20_000
/** The rest of a status shows what the worker reports, whose tasks may fail at any time. */
const CONDITIONS: ReadonlySet<string> = new Set(['Synced', 'Online', 'Applied'])

const UID_CHARS = 8
/** The part of a uid at the end of a claim. */
const uidOf = (claim: string): string => claim.slice(claim.lastIndexOf('#') + 1)

interface Applied {
  /** The highest revision that was stored for the last writer. */
  revision: number
  /** The claim of the last writer, and those that it replaced. */
  actor: string
  readonly replaced: Set<string>
}

export const checkOperator: CreateCheck = (deps) => {
  const api = deps.api()
  return api === null ? {} : new OperatorCheck(deps, api)
}

class OperatorCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #api: SimApiServer
  readonly #applied = new Map<string, Applied>()
  /** The last status of each FleetWorker, by uid. */
  readonly #statuses = new Map<string, FakeObject['status']>()
  /** FleetWorkers whose worker was silent when the fleet came to rest. */
  readonly #silent = new Set<string>()
  /** When a FleetWorker was deleted, by the part of its uid that its claim contains. */
  readonly #deletedMs = new Map<string, number>()
  /** When each process of the operator started last. */
  readonly #startedMs = new Map<string, number>()
  #isAtRest = false
  /** The store executes again what it kept after a loss. */
  #isReplaying = false

  constructor(deps: CheckDeps, api: SimApiServer) {
    this.#deps = deps
    this.#api = api
    api.store.listeners.add((event) => this.#changed(event))
  }

  executed({ group, method, args }: Parameters<NonNullable<InvariantCheck['executed']>>[0], result: unknown): void {
    if (this.#isReplaying || group !== 'configs' || method !== 'put' || (result as { kind: string }).kind !== 'stored')
      return
    const { type, id, actor, config } = args[0] as ConfigPut
    if (!actor.startsWith('admin kubernetes:')) return
    const { revision = 0 } = JSON.parse(config) as { revision?: number }
    this.#stored(`${type}/${id}`, actor, revision)
  }

  storeLost(): void {
    this.#isReplaying = true
  }

  storeKept(): void {
    this.#isReplaying = false
  }

  logged({ process, message }: LogLine): void {
    if (message === 'the operator has started') this.#startedMs.set(process, this.#deps.time.monotonicMs())
  }

  operatorWrites({ side, replica, method, path }: OperatorWrite): void {
    if (path.includes('/leases') || path.includes('/events')) return
    const holder = this.#leader
    const what = `${method} ${path}`
    if (holder !== replica) this.#deps.fail('I16', `${replica} sent ${what} while the lease named ${holder}`)
    if (this.#isAtRest && side === 'master') this.#deps.fail('I16', `at rest the operator sent ${what}`)
  }

  faultsEnded(): void {
    const { time } = this.#deps
    time.after(SETTLES_MS, () => {
      void this.#checkInSync()
      this.#isAtRest = true
      time.after(REST_MS, () => (this.#isAtRest = false))
      for (let at = 0; at < MORE_RECONCILES; at += 1)
        time.after((at * REST_MS) / 2 / MORE_RECONCILES, () => this.#requestReconciles(at))
    })
  }

  /** A Reset writes the defaults, whose revision is 0, when its FleetWorker is deleted. */
  #stored(worker: string, actor: string, revision: number): void {
    const fail = (problem: string): void => this.#deps.fail('I16', problem)
    const applied = this.#applied.get(worker) ?? { revision: 0, actor, replaced: new Set() }
    this.#applied.set(worker, applied)
    if (applied.actor !== actor) {
      // One that was replaced may take over again only from one that is deleted.
      if (applied.replaced.has(actor) && !this.#isBeingDeleted(applied.actor))
        return fail(`${actor} wrote to ${worker} again after ${applied.actor}`)
      applied.replaced.add(applied.actor)
      applied.actor = actor
      applied.revision = 0
      this.#deps.count('operator applied the spec of another FleetWorker')
    }
    if (revision === 0 && this.#isBeingDeleted(actor)) return this.#deps.count('operator reset a config')
    if (revision < applied.revision)
      return fail(`${worker} has the spec of revision ${revision} after that of ${applied.revision}`)
    applied.revision = revision
  }

  #isBeingDeleted(actor: string): boolean {
    const uid = uidOf(actor)
    const object = this.#fleetWorkers.find(({ metadata }) => metadata.uid.startsWith(uid))
    return object === undefined || object.metadata.deletionTimestamp !== undefined
  }

  /** The replica that the lease names. */
  get #leader(): string {
    return String(this.#api.list(LEASES, NAMESPACE)[0]?.spec?.['holderIdentity'])
  }

  /** Whether the leader started after the FleetWorker of a claim was deleted. */
  #isUnknownToLeader(claim: string | null | undefined): boolean {
    const deletedMs = this.#deletedMs.get(uidOf(claim ?? '')) ?? Infinity
    const [process = ''] = this.#leader.split('_')
    return deletedMs < (this.#startedMs.get(process) ?? 0)
  }

  get #fleetWorkers(): readonly FakeObject[] {
    return this.#api.list(FLEETWORKERS, NAMESPACE)
  }

  async #checkInSync(): Promise<void> {
    for (const object of this.#fleetWorkers) {
      const problem = await this.#differenceOf(object)
      if (problem !== null) this.#deps.fail('V3', `60 s after faults ended, ${object.metadata.name} ${problem}`)
    }
  }

  async #differenceOf({ metadata, spec = {}, status = {} }: FakeObject): Promise<string | null> {
    const { type, workerId, slots, config } = spec as Record<string, string>
    const [row] = await this.#deps.backend().workers.get([{ type: String(type), id: String(workerId) }])
    if (this.#isUnknownToLeader(row?.managedBy) && JSON.stringify(status).includes('"OwnershipConflict"')) return null
    const stored = row === null || row === undefined ? null : (JSON.parse(row.config.config) as Record<string, unknown>)
    const wanted = { ...(config as unknown as object), slots }
    const found = Object.fromEntries(Object.keys(wanted).map((name) => [name, stored?.[name]]))
    if (!isDeepStrictEqual(found, wanted))
      return `has the config ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}: ${JSON.stringify(status)}`
    const { nowMs } = await this.#deps.backend().meta.info()
    if (row === null || row === undefined || nowMs - row.lastSeenAtMs > SILENT_MS) {
      this.#silent.add(metadata.uid)
      return null
    }
    const { conditions, observedGeneration } = meaningOf(status)
    return observedGeneration === metadata.generation && conditions.every((each) => each.status === 'True')
      ? null
      : `has generation ${String(metadata.generation)} and the status ${JSON.stringify(status)}`
  }

  #requestReconciles(at: number): void {
    for (const { metadata } of this.#fleetWorkers)
      this.#api.store.patch(
        { kind: FLEETWORKERS, namespace: NAMESPACE, name: metadata.name },
        '',
        'application/merge-patch+json',
        { metadata: { annotations: { [RECONCILE_ANNOTATION]: String(at) } } },
        'kubectl',
        false,
      )
  }

  /** At rest, a status may only change in what the worker reports. */
  #changed({ kind, type, object }: FakeEvent): void {
    if (kind !== FLEETWORKERS) return
    if (type === 'DELETED') this.#deletedMs.set(object.metadata.uid.slice(0, UID_CHARS), this.#deps.time.monotonicMs())
    const before = this.#statuses.get(object.metadata.uid)
    this.#statuses.set(object.metadata.uid, object.status)
    if (!this.#isAtRest) return
    const [old, now] = [meaningOf(before), meaningOf(object.status)]
    if (!isDeepStrictEqual(old, now) && !this.#silent.has(object.metadata.uid))
      this.#deps.fail('I16', `at rest the status changed from ${JSON.stringify(old)} to ${JSON.stringify(now)}`)
  }
}

interface Meaning {
  readonly observedGeneration: unknown
  readonly config: unknown
  readonly conditions: readonly { readonly type: string; readonly status: string }[]
}

/**
 * What a status says about the config. The reason of Online may change at rest: `RecentlySeen` becomes `Connected`
 * with a later read.
 */
const meaningOf = ({ observedGeneration, config, conditions = [] }: Record<string, unknown> = {}): Meaning => ({
  observedGeneration,
  config,
  conditions: (conditions as Meaning['conditions'])
    .filter(({ type }) => CONDITIONS.has(type))
    .map((each) => (each.type === 'Online' ? { type: each.type, status: each.status } : each)),
})
