/**
 * The world of one run of the model: a master with workers, and the set at the API server, both in memory. It checks
 * each write as it arrives, so a fault of the operator is found at the call that commits it.
 */
import { isDeepStrictEqual } from 'node:util'
import type { BulkResult } from '../../../../src/protocol/index.ts'
import type { BulkChange, WorkerRow } from '../../../../src/operator/fleet/index.ts'
import {
  claimForSet,
  labelOf,
  type FleetWorkerSetObject,
  type FleetWorkerSetSpec,
  type FleetWorkerSetStatus,
} from '../../../../src/operator/fleetworkerset/index.ts'
import type { Random } from '../../../../src/runtime/index.ts'

export const NAMESPACE = 'ns'
export const NAME = 'crawler'
export const TYPE = 'job'
const MAX_NOTES = 5_000
/** Workers enter ERROR with this config. */
export const BAD = { enabled: true, url: 'http://bad' }

/** A guarantee of rollouts that does not hold, and where the run stood. */
class Violation extends Error {}

interface Worker {
  record: WorkerRow['record']
  isBroken: boolean
  /** It ran nothing when the set had no current revision, so no stage counts it. */
  isUncounted: boolean
}

export class World {
  readonly random: Random
  readonly workers = new Map<string, Worker>()
  readonly events: string[] = []
  nowMs = 1_800_000_000_000
  epoch = 'epoch-0'
  set: FleetWorkerSetObject
  /** Configs by the name of the revision. */
  revisions = new Map<string, unknown>()
  /** What ControllerRevisions contain; they survive the loss of the master's store. */
  readonly history = new Map<string, { readonly config: unknown; readonly configFrom: unknown }>()
  rule: { readonly revision: string; readonly variant: string } | undefined
  /** `spec.replicas` of the workload, if the set has one. */
  workloadReplicas = 3
  writes = 0
  #version = 1
  #joined = 0
  #spec: FleetWorkerSetSpec

  constructor(random: Random, spec: FleetWorkerSetSpec, workers: number) {
    this.random = random
    this.#spec = spec
    const creationTimestamp = '2026-01-01T00:00:00Z'
    this.set = {
      metadata: {
        name: NAME,
        namespace: NAMESPACE,
        uid: 'uid',
        generation: 1,
        resourceVersion: '1',
        creationTimestamp,
      },
      spec,
    }
    for (let n = 0; n < workers; n += 1) this.join()
  }

  get spec(): FleetWorkerSetSpec {
    return this.#spec
  }

  get status(): FleetWorkerSetStatus {
    return this.set.status ?? {}
  }

  edit(spec: Partial<FleetWorkerSetSpec>): void {
    this.#spec = { ...this.#spec, ...spec }
    const { generation } = this.set.metadata
    this.#store({ ...this.set, spec: this.#spec, metadata: { ...this.set.metadata, generation: generation + 1 } })
    this.note(`edit ${JSON.stringify(spec)}`)
  }

  /** Another writer sets the number of pods, or removes it. */
  scale(replicas: number | undefined): void {
    const { replicas: _, ...rest } = this.#spec
    this.#spec = rest
    this.edit(replicas === undefined ? {} : { replicas })
  }

  /** The exception of I7: the operator sets a number that is missing, to that of the workload. @returns whether. */
  setFirstReplicas(resourceVersion: string | undefined, replicas: number): boolean {
    if (resourceVersion !== undefined && resourceVersion !== this.set.metadata.resourceVersion) return false
    if (this.#spec.replicas !== undefined) this.fail(`I7: replaces the number ${this.#spec.replicas} by ${replicas}`)
    if (replicas !== this.workloadReplicas) this.fail(`I7: the number is ${replicas}, not ${this.workloadReplicas}`)
    if (this.#spec.workload === undefined) this.fail('I7: a set without workload gets a number')
    this.writes += 1
    this.edit({ replicas })
    return true
  }

  annotate(name: string, value: string): void {
    const annotations = { ...this.set.metadata.annotations, [`muster.dev/${name}`]: value }
    this.#store({ ...this.set, metadata: { ...this.set.metadata, annotations } })
    this.note(`${name} ${value}`)
  }

  /** @returns whether the version was the present one. */
  writeStatus(resourceVersion: string, status: FleetWorkerSetStatus): boolean {
    if (resourceVersion !== this.set.metadata.resourceVersion) return false
    this.#checkStages(status)
    if (!isDeepStrictEqual(status, this.set.status)) this.writes += 1
    this.#store({ ...this.set, status })
    this.note(`status ${JSON.stringify([status.currentRevision, status.rollout, status.failed])}`)
    return true
  }

  #store(set: FleetWorkerSetObject): void {
    this.#version += 1
    this.set = { ...set, metadata: { ...set.metadata, resourceVersion: String(this.#version) } }
  }

  /** I3: a stage begins only after the one before was judged, promoted or had nothing to do. */
  #checkStages({ rollout }: FleetWorkerSetStatus): void {
    const before = this.status.rollout
    if (rollout === undefined || before === undefined) return
    if (rollout.revision !== before.revision || rollout.attempt !== before.attempt) return
    if (rollout.epoch !== before.epoch) return // The master has lost its store, so the rollout begins again.
    const isNext = rollout.stage > before.stage && rollout.phase === 'Writing'
    const isPromoted =
      this.set.metadata.annotations?.['muster.dev/promote']?.startsWith(`${rollout.revision}/`) === true
    const isJudged = ['Baking', 'WaitingForApproval', 'Inconclusive', 'Acknowledging'].includes(before.phase)
    if (isNext && !isJudged && !isPromoted) this.fail(`I3: stage ${rollout.stage} began in the phase ${before.phase}`)
  }

  join(): void {
    const id = `${NAME}-${this.#joined}`
    this.#joined += 1
    const { rule } = this
    const label = rule === undefined ? null : `${rule.revision}/${rule.variant}`
    const record = {
      worker_id: id,
      automation_type: TYPE,
      config_gen: label === null ? 0 : 1,
      applied_config_gen: null,
      state: 'IDLE',
      last_seen: this.nowMs / 1_000,
      last_error: null,
      current_stats: null,
      connected: true,
      registered_at: 1,
      draining: false,
      managed_by: label === null ? null : claimForSet(this.set),
      state_since: 1,
      config_changed_at: label === null ? null : 1,
      config_changed_by: null,
      config_revision: label,
      labels: {},
      ended: false,
      refused_config_gen: null,
    } satisfies WorkerRow['record']
    this.workers.set(id, { record, isBroken: false, isUncounted: false })
    this.#acknowledge(id)
    this.note(`join ${id} ${label}`)
  }

  change(id: string, more: Partial<WorkerRow['record']>): void {
    const worker = this.workers.get(id)
    if (worker !== undefined) worker.record = { ...worker.record, ...more }
  }

  remove(id: string): void {
    this.workers.delete(id)
    this.note(`remove ${id}`)
  }

  /** Another client changes a config. */
  drift(id: string): void {
    const worker = this.workers.get(id)
    if (worker === undefined) return
    const { config_gen: gen, config_revision: label } = worker.record
    const revision = labelOf(label)?.revision
    const changed = revision === undefined ? null : `${revision}/*`
    this.change(id, { config_gen: gen + 1, config_revision: changed, config_changed_at: 1, config_changed_by: 'admin' })
    this.#acknowledge(id)
    this.note(`drift ${id}`)
  }

  /** The worker runs what it was sent last. A worker that is silent or offline does not. */
  #acknowledge(id: string): void {
    const worker = this.workers.get(id)
    if (worker === undefined || !worker.record.connected || worker.isBroken) return
    const revision = labelOf(worker.record.config_revision)?.revision
    const isBad = revision !== undefined && isDeepStrictEqual(this.revisions.get(revision), BAD)
    const [state, error] = isBad ? (['ERROR', 'the config is bad'] as const) : (['RUNNING', null] as const)
    this.change(id, { applied_config_gen: worker.record.config_gen, state, last_error: error })
  }

  /** Workers that can, apply their config. */
  settle(): void {
    for (const id of this.workers.keys()) this.#acknowledge(id)
  }

  /** The master starts with an empty store; all workers register again. */
  loseStore(): void {
    this.epoch = `epoch-${Number(this.epoch.slice(6)) + 1}`
    this.revisions = new Map()
    this.rule = undefined
    for (const [id, worker] of this.workers) {
      const forgotten = { config_gen: 0, applied_config_gen: 0, managed_by: null, config_revision: null }
      worker.record = { ...worker.record, ...forgotten, config_changed_at: null, state: 'IDLE', last_error: null }
      if (!worker.record.connected) this.workers.delete(id)
    }
    this.note('the master has lost its store')
  }

  rows(): readonly WorkerRow[] {
    return [...this.workers.values()].map(({ record }) => ({ record, epoch: this.epoch, isStale: false }))
  }

  /** A bulk call: compares and sets each worker. @returns `undefined` if the revision is not stored. */
  apply(change: BulkChange): readonly BulkResult[] | undefined {
    if (!this.revisions.has(change.revision)) return undefined
    const results = change.items.map((item): BulkResult => {
      const { workerId: id, variant } = item
      const record = this.workers.get(id)?.record
      if (record === undefined) return { worker_id: id, error: { status: 404, detail: 'no such worker' } }
      const label = `${change.revision}/${variant}`
      if (record.config_revision === label && record.managed_by === change.managedBy) {
        if (item.epoch === this.epoch && item.configGen === record.config_gen)
          this.fail(`I6: ${id} has this config already`)
        return { worker_id: id, config_gen: record.config_gen, changed: [] }
      }
      if (item.epoch !== this.epoch || item.configGen !== record.config_gen || item.managedBy !== record.managed_by)
        return { worker_id: id, error: { status: 412, detail: 'changed since' } }
      this.writes += 1
      // A worker that is brought back to its revision counts as it did.
      if (labelOf(record.config_revision)?.revision !== change.revision) {
        this.#checkRevision(change.revision)
        const isDisabled = record.state === 'IDLE' && record.applied_config_gen === record.config_gen
        const isIdle = record.config_changed_at === null || isDisabled
        this.#worker(id).isUncounted = isIdle && this.status.currentRevision === undefined
      }
      const changed = { config_changed_at: 1, config_changed_by: change.managedBy, managed_by: change.managedBy }
      this.change(id, { ...changed, config_gen: record.config_gen + 1, config_revision: label })
      return { worker_id: id, config_gen: record.config_gen + 1, changed: ['url'] }
    })
    this.note(`apply ${change.revision} to ${change.items.map(({ workerId }) => workerId).join(' ')}`)
    this.#checkLimit(change.revision)
    return results
  }

  countOf(revision: string): number {
    const counted = [...this.workers.values()].filter(({ isUncounted }) => !isUncounted)
    return counted.filter(({ record }) => labelOf(record.config_revision)?.revision === revision).length
  }

  #worker(id: string): Worker {
    const found = this.workers.get(id)
    return found ?? this.fail(`there is no ${id}`)
  }

  /** I2: only the current and the update revision; without stages, that of the spec. I4: none that failed. */
  #checkRevision(revision: string): void {
    const { currentRevision, failed = [], rollout } = this.status
    const hasStages = this.spec.rollout?.stages?.length !== 0
    if (hasStages && revision !== currentRevision && revision !== rollout?.revision)
      this.fail(`I2: ${revision} is neither the current nor the update revision of the status`)
    const failure = failed.find((each) => each.revision === revision && each.stage !== undefined)
    const isRetried = rollout?.revision === revision && rollout.attempt > (failure?.attempts ?? 0)
    if (failure !== undefined && !isRetried && rollout?.phase !== 'Failed')
      this.fail(`I4: ${revision} failed and is written again`)
  }

  /** I1: never more workers than the status permits. */
  #checkLimit(revision: string): void {
    const { currentRevision, rollout } = this.status
    if (revision === currentRevision || rollout?.revision !== revision) return
    if (rollout.phase !== 'Writing' && rollout.phase !== 'Failed') return
    if (this.countOf(revision) > (rollout.limit ?? Infinity))
      this.fail(`I1: ${this.countOf(revision)} workers have ${revision}, ${rollout.limit} are permitted`)
  }

  /** Notes what happens. A run that ends has far fewer notes. */
  note(text: string): void {
    this.events.push(text)
    if (this.events.length > MAX_NOTES) this.fail('the operator does not come to an end')
  }

  fail(message: string): never {
    throw new Violation(`${message}\n${this.events.slice(-25).join('\n')}`)
  }
}
