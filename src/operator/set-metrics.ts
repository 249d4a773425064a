/**
 * @module operator/set-metrics
 * Exports metrics of all FleetWorkerSets, computed from the objects: how many sets have which condition, how their
 * workers stand, how rollouts end and how long they take. No label contains an object's name.
 *
 * A rollout is under way while the update revision of a status differs from its current one. It ends once:
 *
 *   its revision becomes the current one ────▶ complete
 *   phase RollingBack, RolledBack ───────────▶ rolled_back; aborted, if a person requested it
 *   phase Failed; refused by the master ─────▶ failed
 *   another update revision ─────────────────▶ superseded, also by an edit that returns to the current one
 * @see D58
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Clock } from '../runtime/index.ts'
import type { Change } from './kube/index.ts'
import { CONDITION_STATUSES } from './config/index.ts'
import { isHandsOff } from './fleetworker/index.ts'
import { ABORTED, type FleetWorkerSetObject, type WorkerCounts } from './fleetworkerset/index.ts'

const MS_PER_SECOND = 1_000
/** From one second to a day. */
const BUCKETS = [1, 5, 15, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 21_600, 86_400]

const OUTCOMES = ['complete', 'rolled_back', 'aborted', 'failed', 'superseded'] as const
type RolloutOutcome = (typeof OUTCOMES)[number]

const WORKER_STATES = [
  'matched',
  'online',
  'updated',
  'acknowledged',
  'ready',
  'unavailable',
  'absent',
  'pending',
  'failed',
  'pinned',
  'conflicted',
  'cordoned',
] satisfies (keyof WorkerCounts)[]

export interface SetMetricsDeps {
  readonly registry: Registry
  readonly clock: Clock
  readonly objects: () => Iterable<FleetWorkerSetObject>
}

export class FleetWorkerSetMetrics {
  readonly #clock: Clock
  /** By the uid of the set. */
  readonly #seen = new Map<string, Seen>()
  readonly #rollouts: Counter
  readonly #seconds: Histogram

  constructor({ registry, clock, objects }: SetMetricsDeps) {
    this.#clock = clock
    const registers = [registry]
    const sets: Gauge = new Gauge({
      name: 'svc_operator_sets',
      help: 'FleetWorkerSets, by condition and its status.',
      labelNames: ['condition', 'status'],
      registers,
      collect: () => {
        sets.reset()
        for (const [condition, counts] of countConditions(objects()))
          for (const status of CONDITION_STATUSES) sets.set({ condition, status }, counts.get(status) ?? 0)
      },
    })
    const workers: Gauge = new Gauge({
      name: 'svc_operator_set_workers',
      help: 'Workers of all FleetWorkerSets, by state as in status.workers. A worker has several states.',
      labelNames: ['state'],
      registers,
      collect: () => {
        const counts = countWorkers(objects())
        for (const state of WORKER_STATES) workers.set({ state }, counts[state])
      },
    })
    this.#rollouts = new Counter({
      name: 'svc_operator_rollouts_total',
      help: 'Rollouts of FleetWorkerSets that ended while this replica led, by outcome.',
      labelNames: ['outcome'],
      registers,
    })
    this.#seconds = new Histogram({
      name: 'svc_operator_rollout_seconds',
      help: 'Time from the start of a rollout until its outcome, if this replica saw both.',
      labelNames: ['outcome'],
      buckets: BUCKETS,
      registers,
    })
    for (const outcome of OUTCOMES) this.#rollouts.inc({ outcome }, 0)
  }

  /**
   * Processes a change of the cache, in order. `before` of a change does not help: it may be what this replica has just
   * written. `isLeader`: this replica writes the statuses.
   */
  changed({ before, after }: Change<FleetWorkerSetObject>, isLeader: boolean): void {
    if (before !== undefined && before.metadata.uid !== after?.metadata.uid) this.#seen.delete(before.metadata.uid)
    if (after === undefined) return
    const { uid } = after.metadata
    const earlier = this.#seen.get(uid)
    const outcome = earlier === undefined ? undefined : outcomeSince(earlier, after)
    if (outcome !== undefined && isLeader) this.#end(outcome, earlier?.beginMs)
    this.#seen.set(uid, this.#seenIn(after, earlier))
  }

  #end(outcome: RolloutOutcome, beginMs: number | undefined): void {
    this.#rollouts.inc({ outcome })
    if (beginMs === undefined) return
    this.#seconds.observe({ outcome }, (this.#clock.monotonicMs() - beginMs) / MS_PER_SECOND)
  }

  #seenIn(set: FleetWorkerSetObject, earlier: Seen | undefined): Seen {
    const live = liveRevisionOf(set)
    return {
      current: set.status?.currentRevision,
      live,
      refused: refusedRevisionOf(set),
      beginMs: this.#beginMs(live, earlier),
    }
  }

  #beginMs(live: string | undefined, earlier: Seen | undefined): number | undefined {
    if (live === undefined || earlier === undefined) return undefined
    return live === earlier.live ? earlier.beginMs : this.#clock.monotonicMs()
  }
}

/** What the last status of a set said about its rollout. */
interface Seen {
  readonly current: string | undefined
  /** The revision that is being rolled out. */
  readonly live: string | undefined
  /** The revision that the master refused. */
  readonly refused: string | undefined
  /** When that rollout was seen to begin. One that a set has when it is seen first began at an unknown time. */
  readonly beginMs: number | undefined
}

/** @returns the revision that is being rolled out, without an outcome so far. */
function liveRevisionOf(set: FleetWorkerSetObject): string | undefined {
  const { currentRevision, rollout, updateRevision } = set.status ?? {}
  if (isHandsOff(set.spec)) return undefined
  if (rollout !== undefined) return outcomeOfPhase(rollout.phase) === undefined ? rollout.revision : undefined
  return updateRevision === currentRevision || refusedRevisionOf(set) !== undefined ? undefined : updateRevision
}

/** @returns the revision of the spec, if the master refused its config, so that no worker gets it. */
const refusedRevisionOf = ({ status: { conditions = [], updateRevision } = {} }: FleetWorkerSetObject) =>
  conditions.some(({ type, reason }) => type === 'Synced' && reason === 'Rejected') ? updateRevision : undefined

/** A rollout that takes less than a second may be complete in the first status that shows it. */
function outcomeSince(earlier: Seen, after: FleetWorkerSetObject): RolloutOutcome | undefined {
  if (isHandsOff(after.spec)) return undefined
  const { currentRevision, failed = [], rollout } = after.status ?? {}
  if (currentRevision !== undefined && currentRevision !== earlier.current) return 'complete'
  const refused = refusedRevisionOf(after)
  if (refused !== undefined && refused !== earlier.refused) return 'failed'
  if (earlier.live === undefined || earlier.live === liveRevisionOf(after)) return undefined
  if (rollout?.revision !== earlier.live) return 'superseded'
  const isAborted = failed.some(({ gate, revision }) => revision === earlier.live && gate === ABORTED)
  return isAborted ? 'aborted' : outcomeOfPhase(rollout.phase)
}

function outcomeOfPhase(phase: string): RolloutOutcome | undefined {
  if (phase === 'RollingBack' || phase === 'RolledBack') return 'rolled_back'
  return phase === 'Failed' ? 'failed' : undefined
}

function countWorkers(sets: Iterable<FleetWorkerSetObject>): Readonly<Required<WorkerCounts>> {
  const sum = Object.fromEntries(WORKER_STATES.map((state) => [state, 0])) as Record<keyof WorkerCounts, number>
  for (const { status } of sets) for (const state of WORKER_STATES) sum[state] += status?.workers?.[state] ?? 0
  return sum
}

/** @returns the number of sets, by type of condition and its status. */
function countConditions(objects: Iterable<FleetWorkerSetObject>): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const counts = new Map<string, Map<string, number>>()
  for (const { status } of objects) {
    for (const { type, status: value } of status?.conditions ?? []) {
      const known = counts.get(type) ?? new Map<string, number>()
      counts.set(type, known.set(value, (known.get(value) ?? 0) + 1))
    }
  }
  return counts
}
