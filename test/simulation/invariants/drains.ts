/**
 * Checks drains.
 *
 *   I13  after a drain no task is leased to that process, and no master that acknowledged one sends it a lease; the
 *        drain lasts as long as the process, which ends within 31 s in a calm network unless a task runs; what it had
 *        leased is not charged, unless a fault hinders it                                                       (G14)
 */
import type {
  CancelResult,
  DrainResult,
  LeaseRef,
  Ref,
  RegisterResult,
  Registration,
  ReserveRequest,
  ReserveResult,
  StorageCall,
} from '../../../src/storage/index.ts'
import type { Fault } from '../plan.ts'
import type { Served } from '../pool.ts'
import { Calm } from './calm.ts'
import type { CheckDeps, CreateCheck, InvariantCheck, PluginEvent } from './invariant.ts'

interface WorkerState {
  isDraining: boolean
  instance: string
  /** The master that has the socket. */
  owner: string
  /** Masters that acknowledged the drain of this process. */
  readonly acknowledgedBy: Set<object>
  /** Leases of this worker that have not ended, and when they expire. */
  readonly leases: Map<number, string>
  /** Leases that it had when it was drained in a calm network: none of them may expire. */
  readonly protected: Set<number>
  running: number
}

interface Runs {
  readonly life: number | null
  readonly running: number
  readonly changedAtMs: number
}

const WORKER_PATH = /\/automations\/([^/]+)\/workers\/([^/]+)\/(drain|rpc)$/

class DrainCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  readonly #calm: Calm
  readonly #workers = new Map<string, WorkerState>()
  /** The running tasks of each worker, in its newest life that had one. */
  readonly #runs = new Map<string, Runs>()
  /** The number of faults that may hinder a drain in the calm phase. */
  #hindered = 0

  constructor(deps: CheckDeps) {
    this.#deps = deps
    this.#calm = new Calm(deps)
  }

  executed({ group, method, args }: StorageCall, result: unknown): void {
    const results = result as readonly unknown[]
    switch (`${group}.${method}`) {
      case 'workers.register':
        return (args[0] as readonly Registration[]).forEach((item, at) =>
          this.#registered(item, results[at] as RegisterResult),
        )
      case 'workers.drain':
        return (args[0] as readonly Ref[]).forEach((ref, at) => this.#drained(ref, results[at] as DrainResult))
      case 'workers.forget':
        return (args[0] as readonly Ref[]).forEach(({ type, id }) => void this.#workers.delete(`${type}/${id}`))
      case 'tasks.reserve':
        return this.#reserved(args[0] as string, args[2] as readonly ReserveRequest[], result as ReserveResult)
      case 'tasks.ack':
      case 'tasks.release':
        return this.#settled(args[1] as readonly LeaseRef[])
      case 'tasks.nack':
        return this.#settled(args[2] as readonly LeaseRef[])
      case 'tasks.cancel':
        return this.#settled(
          (results as readonly CancelResult[]).filter((each) => each.kind === 'cancelled' && each.was === 'in_flight'),
        )
    }
  }

  storeLost(): void {
    this.#workers.clear()
  }

  served({ master, method, path, status, text }: Served): void {
    const [matches, type = '', id = '', what = ''] = WORKER_PATH.exec(path) ?? []
    const worker = this.#workers.get(`${type}/${id}`)
    if (matches === undefined || status !== 200 || method !== 'POST' || worker?.isDraining !== true) return
    if (what === 'drain') return void worker.acknowledgedBy.add(master)
    if (!text.includes('"tasks":[')) return
    const hasLease = text.includes('"token"')
    if (hasLease && worker.acknowledgedBy.has(master))
      this.#deps.fail('I13', `${master.name} sent a lease to ${id} after it had acknowledged its drain`)
    if (!worker.acknowledgedBy.has(master) && worker.acknowledgedBy.size > 0 && master.name !== worker.owner)
      this.#deps.count('reserve on a third master during a drain')
  }

  ran(event: PluginEvent): void {
    if (event.kind !== 'task_started' && event.kind !== 'task_ended') return
    const life = this.#deps.lifeOf(event.worker)
    const known = this.#runs.get(event.worker)
    const running = (known?.life === life ? known.running : 0) + (event.kind === 'task_started' ? 1 : -1)
    this.#runs.set(event.worker, { life, running, changedAtMs: this.#deps.time.monotonicMs() })
    const worker = this.#workers.get(`${event.type}/${event.worker}`)
    if (worker !== undefined) worker.running += event.kind === 'task_started' ? 1 : -1
  }

  faultsEnded(): void {
    this.#calm.faultsEnded()
  }

  injected(fault: Fault): void {
    this.#calm.injected(fault)
    if (fault.kind !== 'store_unavailable' && fault.kind !== 'lose_host') return
    this.#hindered += 1
    for (const worker of this.#workers.values()) worker.protected.clear()
  }

  #registered({ type, id, instance, conn }: Registration, result: RegisterResult): void {
    if (result.kind !== 'registered') return
    const before = this.#workers.get(`${type}/${id}`)
    const owner = conn.slice(0, conn.lastIndexOf('/'))
    if (before?.instance === instance) {
      if (before.isDraining) this.#deps.count('draining process registered again')
      if (before.isDraining && !result.drain)
        this.#deps.fail('I13', `the drain of ${id} ended when the same process registered again`)
      return void Object.assign(before, { owner, isDraining: result.drain })
    }
    this.#workers.set(`${type}/${id}`, {
      isDraining: result.drain,
      instance,
      owner,
      acknowledgedBy: new Set(),
      leases: new Map(),
      protected: new Set(),
      running: 0,
    })
  }

  #drained({ type, id }: Ref, result: DrainResult): void {
    const worker = this.#workers.get(`${type}/${id}`)
    if (result.kind !== 'draining' || worker === undefined || result.conn === null) return
    worker.isDraining = true
    if (worker.running > 0) this.#deps.count('drain of a worker with running tasks')
    if (this.#calm.forMs < CALM_MS) return
    for (const token of worker.leases.keys()) worker.protected.add(token)
    this.#checkEnds(id)
  }

  /** In a calm network the process learns of its drain with its next frame, and ends when its tasks have ended. */
  #checkEnds(id: string): void {
    const [life, hindered] = [this.#deps.lifeOf(id), this.#hindered]
    this.#deps.time.after(ENDS_WITHIN_MS, () => {
      if (life === null || this.#deps.lifeOf(id) !== life || hindered !== this.#hindered) return
      const runs = this.#runs.get(id)
      const isBusy =
        runs?.life === life &&
        (runs.running > 0 || this.#deps.time.monotonicMs() - runs.changedAtMs < SETTLES_WITHIN_MS)
      if (!isBusy)
        this.#deps.fail(
          'I13',
          `${id} was drained ${ENDS_WITHIN_MS} ms ago in a calm network and still runs without tasks`,
        )
    })
  }

  #reserved(type: string, requests: readonly ReserveRequest[], { results }: ReserveResult): void {
    for (const [at, { worker: id }] of requests.entries()) {
      const one = results[at]
      const worker = this.#workers.get(`${type}/${id}`)
      if (one?.kind === 'refused' && one.reason === 'draining') this.#deps.count('reserve of a draining worker refused')
      if (one?.kind !== 'leased' || worker === undefined) continue
      if (one.leases.length > 0 && worker.isDraining)
        this.#deps.fail('I13', `task ${one.leases[0]?.id} was leased to ${id} after its drain`)
      for (const { token, id: task } of one.leases) {
        this.#checkUncharged(task)
        worker.leases.set(token, task)
      }
    }
  }

  /** A task is leased again: the lease before it has expired, unless it was settled. */
  #checkUncharged(task: string): void {
    for (const [id, worker] of this.#workers)
      for (const [token, leased] of worker.leases) {
        if (leased !== task) continue
        worker.leases.delete(token)
        if (worker.protected.delete(token))
          this.#deps.fail('I13', `the drain of ${id} in a calm network lost the lease of task ${task}`)
      }
  }

  #settled(items: readonly { readonly token: number }[]): void {
    for (const { token } of items)
      for (const worker of this.#workers.values()) {
        worker.leases.delete(token)
        worker.protected.delete(token)
      }
  }
}

/** The next frame comes within 15 s, and the last outcomes and outputs of a process take a few more. */
const ENDS_WITHIN_MS = 31_000
/** After its last task a process delivers the outcome, and ends, within this time. */
const SETTLES_WITHIN_MS = 15_000
/** After faults end, connections that are silently dead are noticed within this time. */
const CALM_MS = 65_000

export const checkDrains: CreateCheck = (deps) => new DrainCheck(deps)
