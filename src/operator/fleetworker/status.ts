/**
 * @module operator/fleetworker/status
 * Builds the whole status of one FleetWorker. Unknown values are left out, and the status has no empty object: server-
 * side apply would convert one above owned fields into null, which the API server rejects. Text from other clients is
 * cut to the size that the schema permits, so a status is never rejected because of it.
 */
import type { Stats } from '../../protocol/index.ts'
import { conditionsOf, type Facts } from './conditions.ts'
import { MAX_DRIFT_PATHS, MAX_MESSAGE_CHARS, type FleetWorkerStatus } from './schema.ts'
import type { SecretState } from './secrets.ts'
import { cleanText, kubeTime } from './text.ts'

const MAX_INT32 = 2 ** 31 - 1

export interface Drift {
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
