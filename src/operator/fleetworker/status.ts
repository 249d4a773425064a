/**
 * @module operator/fleetworker/status
 * Reports the result of a reconcile: as a status, and as an Event when a condition changed. Conditions that depend on
 * time alone (a worker that is silent for too long) schedule the next look.
 *
 * Unknown values are left out of the status, and it has no empty object: server-side apply would convert one above
 * owned fields into null, which the API server rejects. Text from other clients is cut to the size that the schema
 * permits, so a status is never rejected because of it.
 */
import type { Stats } from '../../protocol/index.ts'
import { ACK_MS, type Facts, ONLINE_MS, type WorkerFacts, conditionsOf } from './conditions.ts'
import { cleanText, kubeTime, MAX_DRIFT_PATHS, MAX_MESSAGE_CHARS } from '../config/index.ts'
import { wantsDrain, type FleetWorkerStatus } from './schema.ts'
import type { SecretState } from './desired.ts'
import type { Registered } from '../fleet/index.ts'
import { type ReconcileOutcome, refOf, sharing } from '../kube/index.ts'
import type { ReconcileContext, SyncResult } from './context.ts'
import { type WorkerState, rejectedDigest } from './memory.ts'
import { policyOf } from './compare-config.ts'
import { eventTargetOf } from './resource.ts'

const MAX_INT32 = 2 ** 31 - 1

interface Drift {
  /** JSON pointers: all of them unless `count` says otherwise. */
  readonly paths: readonly string[]
  readonly count?: number | undefined
  readonly detectedMs: number
  readonly by: string | null
}

export interface StatusFacts extends Facts {
  readonly uid: string
  readonly stats: Pick<Stats, 'slots' | 'cpu_pct' | 'rss_mb'> | null
  /** What the operator must still know after a restart. */
  readonly memory: SecretState
  readonly drift: Drift | undefined
  /** Digest of the inputs that the master refused; `undefined` if it refused none. */
  readonly rejected: string | undefined
}

export function statusOf(facts: StatusFacts): FleetWorkerStatus {
  const { worker, generation, uid } = facts
  return {
    observedGeneration: generation,
    conditions: [...conditionsOf(facts)],
    selector: `muster.dev/uid=${uid}`,
    ...workerPart(worker),
    ...statsPart(facts.stats),
    ...configPart(facts),
    ...driftPart(facts.drift),
  }
}

function workerPart(worker: Facts['worker']): Partial<FleetWorkerStatus> {
  if (worker === null || worker === undefined) return {}
  return {
    state: cleanText(worker.state, 64),
    lastSeenTime: kubeTime(worker.lastSeenMs),
    ...(worker.lastError !== null && { lastError: cleanText(worker.lastError, MAX_MESSAGE_CHARS) }),
  }
}

/** Whole numbers within int32. Floats would differ at each read. */
const whole = (value: number): number => Math.min(Math.max(Math.round(value), 0), MAX_INT32)

function statsPart(stats: StatusFacts['stats']): Partial<FleetWorkerStatus> {
  return stats === null
    ? {}
    : { slots: whole(stats.slots), cpuPercent: whole(stats.cpu_pct), rssMegabytes: whole(stats.rss_mb) }
}

function configPart({
  memory: { generation, epoch, sources },
  rejected,
  worker,
}: StatusFacts): Partial<FleetWorkerStatus> {
  const applied = worker?.appliedConfigGen ?? undefined
  const config = {
    ...(generation !== undefined && { generation }),
    ...(epoch !== undefined && { epoch: cleanText(epoch, 64) }),
    ...(applied !== undefined && { appliedGeneration: applied }),
    ...(rejected !== undefined && { rejected }),
    ...(sources.size > 0 && {
      sources: [...sources].map(([field, version]) => ({ field, version })).toSorted(byField),
    }),
  }
  return Object.keys(config).length === 0 ? {} : { config }
}

const byField = (a: { readonly field: string }, b: { readonly field: string }): number => (a.field < b.field ? -1 : 1)

function driftPart(drift: Drift | undefined): Partial<FleetWorkerStatus> {
  if (drift === undefined || drift.paths.length === 0) return {}
  const { paths, count = paths.length, detectedMs, by } = drift
  return {
    drift: {
      paths: paths.slice(0, MAX_DRIFT_PATHS).map((path) => cleanText(path, 256)),
      count,
      detectedTime: kubeTime(detectedMs),
      ...(by !== null && { by: cleanText(by, 160) }),
    },
  }
}

/** How long the last facts stay in the status during an outage. */
const OUTAGE_MS = 60_000
/**
 * Events have no statistics, which autoscalers read. A worker whose slots are changing is read until it runs all of
 * them.
 */
const SLOTS_SOONEST_MS = 2_000
const SLOTS_MS = 5 * 60_000
/** Reasons of a condition that is False as requested by a user. */
const BY_DESIGN: ReadonlySet<string> = new Set(['Updating', 'Drained'])

/** The worker and the master at the time of the report. */
interface Observation {
  /** `null`: not registered. `undefined`: not known, or not to be shown. */
  readonly registered: Registered | null | undefined
  /** Derived from `registered`. */
  readonly worker: WorkerFacts | null | undefined
  readonly nowMs: number
  readonly isMasterUnavailable: boolean
}

/** @returns the outcome of the reconcile, with the time of the next look. */
export function report(context: ReconcileContext, result: SyncResult): ReconcileOutcome {
  const { deps, workerState, resource, lastStatus } = context
  const { table } = deps
  const nowMs = table.masterNowMs()
  const isMasterUnavailable = table.unavailableMs >= OUTAGE_MS
  if (result.isQuiet === true && !isMasterUnavailable) return result.outcome
  const registered = result.worker === undefined && result.isHidden !== true ? lastSeen(context) : result.worker
  const worker =
    registered === undefined || registered === null ? registered : workerFacts(registered, workerState, nowMs)
  const facts = statusFactsOf(context, result, { registered, worker, nowMs, isMasterUnavailable })
  const status = sharing(statusOf(facts), lastStatus)
  deps.status.put(refOf(resource), status, 'transition')
  recordFlips(context, status)
  if (result.outcome.kind !== 'ok' || worker === null || worker === undefined) return result.outcome
  const slotsInMs = slotsLookMs(registered, worker, nowMs)
  workerState.isUnsure ||= slotsInMs !== undefined
  return withNextLook(result.outcome.againAfterMs, worker, nowMs, slotsInMs)
}

function statusFactsOf(context: ReconcileContext, result: SyncResult, observation: Observation): StatusFacts {
  const { metadata, spec } = context.resource
  const { registered, worker, nowMs, isMasterUnavailable } = observation
  const drift = driftOf(context, result, nowMs)
  return {
    uid: metadata.uid,
    generation: metadata.generation,
    policy: policyOf(spec),
    suspend: spec.suspend === true,
    drain: wantsDrain(spec),
    isReleasing: result.isReleasing === true,
    synced: result.synced,
    worker,
    isMasterUnavailable,
    driftCount: drift?.count ?? drift?.paths.length ?? 0,
    nowMs,
    before: context.lastStatus.conditions ?? [],
    stats: registered?.record.current_stats ?? null,
    memory: result.secretState ?? context.recorded,
    drift,
    rejected: rejectedOf(context.workerState, result),
  }
}

/** @returns the digest of the inputs that the master refused, if the result reports that refusal. */
function rejectedOf({ parked }: WorkerState, { synced }: SyncResult): string | undefined {
  if (parked === undefined || parked.reason !== synced.reason) return undefined
  return rejectedDigest(parked.inputs)
}

/** When to read the worker for its slots. The interval grows. `undefined`: they match its config, or take too long. */
function slotsLookMs(
  registered: Registered | null | undefined,
  { appliedConfigGen, configGen, isConnected, isDraining, owesSinceMs }: WorkerFacts,
  nowMs: number,
): number | undefined {
  if (registered === null || registered === undefined || !isConnected || isDraining || appliedConfigGen !== configGen)
    return undefined
  const {
    record: {
      config: { enabled, slots },
      current_stats: stats,
    },
  } = registered
  const sinceMs = Math.max(nowMs - owesSinceMs, 0)
  return (stats?.slots ?? 0) === (enabled === true ? slots : 0) || sinceMs > SLOTS_MS
    ? undefined
    : Math.max(SLOTS_SOONEST_MS, sinceMs / 2)
}

function lastSeen({ deps, workerState }: ReconcileContext): Registered | undefined {
  const seen = deps.table.get(workerState.worker.type, workerState.worker.workerId)
  return seen.kind === 'registered' ? seen : undefined
}

const msOf = (seconds: number | null): number => (seconds ?? 0) * 1_000

function workerFacts({ record }: Registered, workerState: WorkerState, nowMs: number): WorkerFacts {
  const { connected: isUp } = record
  if (workerState.connection?.isUp !== isUp)
    workerState.connection = { isUp, sinceMs: workerState.connection === undefined ? 0 : nowMs }
  const { sinceMs } = workerState.connection
  return {
    isConnected: isUp,
    lastSeenMs: Math.max(msOf(record.last_seen), isUp ? 0 : sinceMs), // The event of a disconnect has no last_seen.
    state: record.state,
    lastError: record.last_error,
    isDraining: record.draining,
    configGen: record.config_gen,
    appliedConfigGen: record.applied_config_gen,
    owesSinceMs: Math.max(
      msOf(record.config_changed_at),
      msOf(record.registered_at),
      workerState.patchedMs,
      isUp ? sinceMs : 0,
    ),
  }
}

function driftOf({ lastStatus }: ReconcileContext, { drift: now }: SyncResult, nowMs: number): Drift | undefined {
  const old = lastStatus.drift
  const since = old?.detectedTime === undefined ? nowMs : Date.parse(old.detectedTime)
  if (now !== undefined) return now.paths.length === 0 ? undefined : { ...now, detectedMs: since }
  return old === undefined
    ? undefined
    : { paths: old.paths ?? [], count: old.count, detectedMs: since, by: old.by ?? null }
}

/**
 * Records changes of the conditions that users act upon. Changes caused by an outage of the master are left out: one
 * Event reports it for all.
 */
function recordFlips({ deps, resource, lastStatus }: ReconcileContext, { conditions = [] }: FleetWorkerStatus): void {
  for (const type of ['Synced', 'Online', 'Healthy', 'Drifted']) {
    const [old, now] = [lastStatus.conditions ?? [], conditions].map((list) => list.find((each) => each.type === type))
    if (
      now === undefined ||
      now.status === 'Unknown' ||
      old?.status === now.status ||
      old?.reason === 'MasterUnreachable'
    )
      continue
    const isGood = (now.status === 'True') === (type !== 'Drifted') || BY_DESIGN.has(now.reason)
    deps.events.record(eventTargetOf(resource), isGood ? 'Normal' : 'Warning', now.reason, now.message)
  }
}

function withNextLook(
  againAfterMs: number | undefined,
  { isConnected, lastSeenMs, owesSinceMs, configGen, appliedConfigGen }: WorkerFacts,
  nowMs: number,
  slotsInMs: number | undefined,
): ReconcileOutcome {
  const looks = [
    ...(againAfterMs === undefined ? [] : [againAfterMs]),
    ...(slotsInMs === undefined ? [] : [slotsInMs]),
    ...(isConnected ? [] : [lastSeenMs + ONLINE_MS - nowMs]),
    ...(isConnected && (appliedConfigGen ?? configGen) < configGen ? [owesSinceMs + ACK_MS - nowMs] : []),
  ].filter((ms) => ms > 0)
  return looks.length === 0 ? { kind: 'ok' } : { kind: 'ok', againAfterMs: Math.min(...looks) }
}
