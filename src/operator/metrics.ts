/**
 * @module operator/metrics
 * Exports metrics of all FleetWorkers, computed from their changes: how long an edit takes to be applied, how many
 * objects have which condition, how old drift is. No label contains an object's name.
 * @see D58
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Clock } from '../runtime/index.ts'
import type { Change } from './kube/index.ts'
import { CONDITION_STATUSES } from './config/index.ts'
import type { DriftOutcome, FleetWorkerObject } from './fleetworker/index.ts'
import { StatusCounts } from './status-counts.ts'

const MS_PER_SECOND = 1_000
const BUCKETS = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600]

/** An edit that is not applied yet. */
interface Edit {
  readonly generation: number
  readonly seenMs: number
  isSynced: boolean
}

export interface MetricsDeps {
  readonly registry: Registry
  readonly clock: Clock
  readonly comparedCount: () => number
}

export class FleetWorkerMetrics {
  readonly #clock: Clock
  readonly #edits = new Map<string, Edit>()
  readonly #statuses = new StatusCounts()
  readonly #toSynced: Histogram
  readonly #toApplied: Histogram
  readonly #drift: Counter

  constructor({ registry, clock, comparedCount }: MetricsDeps) {
    this.#clock = clock
    const registers = [registry]
    this.#toSynced = new Histogram({
      name: 'svc_operator_edit_to_synced_seconds',
      help: 'Time from an edit of a FleetWorker until its condition Synced is True in the status.',
      buckets: BUCKETS,
      registers,
    })
    this.#toApplied = new Histogram({
      name: 'svc_operator_edit_to_applied_seconds',
      help: 'Time from an edit of a FleetWorker until its condition Applied is True in the status.',
      buckets: BUCKETS,
      registers,
    })
    this.#drift = new Counter({
      name: 'svc_operator_drift_total',
      help: 'Config changes by other clients that were detected, by what the operator did.',
      labelNames: ['outcome'],
      registers,
    })
    for (const outcome of ['reverted', 'tolerated', 'contested'] satisfies DriftOutcome[])
      this.#drift.inc({ outcome }, 0)
    const workers: Gauge = new Gauge({
      name: 'svc_operator_workers',
      help: 'FleetWorkers, by condition and its status.',
      labelNames: ['condition', 'status'],
      registers,
      collect: () => {
        workers.reset()
        for (const [condition, counts] of this.#statuses.conditions)
          for (const status of CONDITION_STATUSES) workers.set({ condition, status }, counts.get(status) ?? 0)
      },
    })
    const comparedGauge: Gauge = new Gauge({
      name: 'svc_operator_judged',
      help:
        'FleetWorkers that this replica has compared with their workers since it became the leader. ' +
        'Below the number of FleetWorkers, the first pass is not complete.',
      registers,
      collect: () => comparedGauge.set(comparedCount()),
    })
    const driftAge: Gauge = new Gauge({
      name: 'svc_operator_drift_age_seconds',
      help: 'Age of the oldest drift in a status; 0 if there is none.',
      registers,
      collect: () => {
        const now = clock.wallMs()
        driftAge.set(Math.max(0, now - (this.#statuses.oldestDriftMs ?? now)) / MS_PER_SECOND)
      },
    })
  }

  /**
   * Processes a change of the cache, in order. `isEdit`: the change was watched live, by the replica that acts on it.
   */
  changed({ before, after }: Change<FleetWorkerObject>, isEdit: boolean): void {
    const { uid } = (after ?? before)?.metadata ?? {}
    if (uid === undefined) return
    if (before !== undefined && before.metadata.uid !== after?.metadata.uid) this.#statuses.delete(before.metadata.uid)
    if (after !== undefined) this.#statuses.set(uid, after.status)
    if (after === undefined) this.#edits.delete(uid)
    else if (isEdit && isNewGeneration(before, after))
      this.#edits.set(uid, {
        generation: after.metadata.generation,
        seenMs: this.#clock.monotonicMs(),
        isSynced: false,
      })
    else this.#settle(uid, after)
  }

  drifted(outcome: DriftOutcome): void {
    this.#drift.inc({ outcome })
  }

  #settle(uid: string, after: FleetWorkerObject): void {
    const edit = this.#edits.get(uid)
    if (edit === undefined) return
    const seconds = (this.#clock.monotonicMs() - edit.seenMs) / MS_PER_SECOND
    const holds = (type: string): boolean =>
      after.status?.conditions?.some(
        (each) => each.type === type && each.status === 'True' && (each.observedGeneration ?? 0) >= edit.generation,
      ) === true
    if (!edit.isSynced && holds('Synced')) {
      edit.isSynced = true
      this.#toSynced.observe(seconds)
    }
    if (!edit.isSynced || !holds('Applied')) return
    this.#edits.delete(uid)
    this.#toApplied.observe(seconds)
  }
}

const isNewGeneration = (before: FleetWorkerObject | undefined, after: FleetWorkerObject): boolean =>
  after.metadata.deletionTimestamp === undefined &&
  (before?.metadata.uid !== after.metadata.uid || before.metadata.generation !== after.metadata.generation)
