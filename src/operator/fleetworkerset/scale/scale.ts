/**
 * @module operator/fleetworkerset/scale/scale
 * Scales the workload of a set in one reconcile, by the decisions of stateful-set.ts and deployment.ts.
 *
 *   open ──▶ read the workload; raise `replicas` ──▶ isCordoned ──▶ (the set writes its workers) ──▶ advance
 *   advance ──▶ read the records of cordoned workers ──▶ change deletion costs ──▶ lower `replicas`
 *
 * What is remembered only limits the rate of calls.
 */
import { cleanText } from '../../config/index.ts'
import { isHandsOff } from '../../fleetworker/index.ts'
import type { ScaleProblem } from '../conditions.ts'
import type { SetContext } from '../context.ts'
import { olderScalerOf } from '../ownership.ts'
import { setEventTarget } from '../resource.ts'
import { variantsOf } from '../revision.ts'
import type { FleetWorkerSetStatus } from '../schema.ts'
import { planDeployment, type PodFacts } from './deployment.ts'
import { setFirstReplicas } from './first-replicas.ts'
import type { PodWorker, ScalePlan } from './plan.ts'
import { MAX_SELECTOR_CHARS, type Workload } from './schema.ts'
import { planStatefulSet } from './stateful-set.ts'
import { podWorkerOf } from './workers.ts'
import { WorkloadClient, type WorkloadCall, type WorkloadRead } from './workload.ts'

/** Between two writes, and between two reads while the number of pods changes. */
const STEP_MS = 2_000
const CALM_MS = 10_000
/** A scale-in that waits for so long is reported. */
const PATIENCE_MS = 60_000
const MAX_WORKERS_SHOWN = 3
const MAX_EVENT_CHARS = 512
const SECONDS = 1_000

type FoundWorkload = Extract<WorkloadRead, { readonly kind: 'found' }>

export interface ScaleReport {
  readonly status: Pick<FleetWorkerSetStatus, 'replicas' | 'selector'>
  readonly problem: ScaleProblem | undefined
}

/** The number of pods of a set, as one reconcile sees and changes it. */
export interface Scale {
  readonly isCordoned: (workerId: string) => boolean
  readonly report: ScaleReport
  /** Continues scale-in. @returns after how many milliseconds to look again; `undefined`: nothing is under way. */
  readonly advance: () => Promise<number | undefined>
}

/** Reads the workload, and raises its number of replicas if the set should have more. */
export async function openScale(context: SetContext): Promise<Scale> {
  const { deps, set } = context
  const { workload } = set.spec
  if (workload === undefined)
    return unscaled(() => false, { status: { selector: `muster.dev/uid=${set.metadata.uid}` }, problem: undefined })
  const older = olderScalerOf(set, deps.cache)
  if (older !== undefined)
    return unscaled(() => false, {
      status: {},
      problem: { reason: 'WorkloadConflict', message: `${older} scales the ${workload.kind} ${workload.name} already` },
    })
  const client = new WorkloadClient(deps.transport, set.metadata.namespace, workload)
  const read = await readWorkload(context, workload, client)
  // A worker keeps what it has while the workload is unknown.
  if (read.kind === 'unavailable') return unscaled(labelledIn(context, workload), { status: {}, problem: undefined })
  if (read.kind !== 'found') return unscaled(() => false, { status: {}, problem: problemOf(workload, read) })
  if (isHandsOff(set.spec))
    return unscaled(labelledIn(context, workload), { status: statusOf(read, read.replicas), problem: undefined })
  if (set.spec.replicas === undefined) return withoutReplicas(context, workload, client, read)
  return new WorkloadScale(context, { workload, desired: set.spec.replicas, client, read }).opened()
}

const unscaled = (isCordoned: Scale['isCordoned'], report: ScaleReport): Scale => ({
  isCordoned,
  report,
  advance: async () => (report.problem === undefined ? undefined : CALM_MS),
})

/** The set gets its first number. Until then nothing is scaled. */
function withoutReplicas(context: SetContext, workload: Workload, client: WorkloadClient, read: FoundWorkload): Scale {
  const { first } = context.state.scale
  return {
    isCordoned: () => false,
    get report() {
      return { status: statusOf(read, read.replicas), problem: first.problem }
    },
    advance: () => setFirstReplicas(context, workload, client),
  }
}

async function readWorkload(
  { deps, set, signal, state }: SetContext,
  workload: Workload,
  client: WorkloadClient,
): Promise<WorkloadRead> {
  const nowMs = deps.clock.monotonicMs()
  const input = JSON.stringify([workload, set.spec.replicas])
  const known = state.scale.workload
  const isMoving = known?.read.kind === 'found' && known.read.replicas !== set.spec.replicas
  if (known?.input === input && nowMs - known.atMs < (isMoving ? STEP_MS : CALM_MS)) return known.read
  const read = await client.read(signal)
  state.scale.workload = { read, input, atMs: nowMs }
  return read
}

/** @returns whether the label of a worker says that it is cordoned. */
function labelledIn(context: SetContext, workload: Workload): (workerId: string) => boolean {
  const workers = workersOf(context, workload)
  return (id) => workers.get(id)?.isCordoned ?? false
}

function workersOf({ claim, deps, set }: SetContext, workload: Workload): ReadonlyMap<string, PodWorker> {
  const cordoned = variantsOf(set, () => true)
  const facts = {
    nowMs: deps.table.masterNowMs(),
    timeoutMs: (workload.scaleInTimeoutSeconds ?? 0) * SECONDS,
    claim,
    cordonOf: (id: string) => cordoned(id).variant,
  }
  return new Map(
    [...deps.table.rows(set.spec.type)]
      .filter(({ record }) => record.worker_id.startsWith(`${workload.name}-`))
      .map((row) => [row.record.worker_id, podWorkerOf(row, facts)]),
  )
}

const statusOf = ({ selector }: FoundWorkload, replicas: number): ScaleReport['status'] => ({
  replicas,
  ...(selector.length <= MAX_SELECTOR_CHARS && { selector }),
})

const problemOf = (
  { kind, name }: Workload,
  { kind: why, message }: Exclude<WorkloadRead, FoundWorkload>,
): ScaleProblem =>
  why === 'not_found'
    ? { reason: 'WorkloadNotFound', message: `there is no ${kind} ${name} in this namespace` }
    : {
        reason: 'WorkloadForbidden',
        message:
          `the operator may not scale the ${kind} ${name}; set operator.rbac.scaleWorkers of the chart, or apply ` +
          `manifests/operator/scale-workers: ${message}`,
      }

interface WorkloadFacts {
  readonly workload: Workload
  readonly desired: number
  readonly client: WorkloadClient
  readonly read: FoundWorkload
}

class WorkloadScale implements Scale {
  readonly #context: SetContext
  readonly #facts: WorkloadFacts
  #replicas: number
  #pods: readonly PodFacts[] | undefined
  #cordon: ReadonlySet<string> = new Set()
  #problem: ScaleProblem | undefined

  constructor(context: SetContext, facts: WorkloadFacts) {
    this.#context = context
    this.#facts = facts
    this.#replicas = facts.read.replicas
  }

  readonly isCordoned = (workerId: string): boolean => this.#cordon.has(workerId)

  /** Cordoned pods are left out: within its tolerance an HPA would return the present number, and end the scale-in. */
  get report(): ScaleReport {
    const { desired, read } = this.#facts
    return { status: statusOf(read, Math.min(this.#replicas, desired)), problem: this.#problem }
  }

  /** Raises the number of replicas, and decides which workers are cordoned. */
  async opened(): Promise<this> {
    const { desired } = this.#facts
    if (desired > this.#replicas) await this.#write(desired)
    this.#pods = await this.#readPods()
    const plan = this.#plan(new Set())
    this.#cordon = plan?.cordon ?? this.#labelled()
    await this.#mark(plan?.marks.remove ?? [], false)
    return this
  }

  readonly advance = async (): Promise<number | undefined> => {
    const { deps, state } = this.#context
    if (this.#problem !== undefined) return CALM_MS
    const nowMs = deps.clock.monotonicMs()
    if (!this.#isMoving) state.scale.waiting = undefined
    if (!this.#isMoving && this.#cordon.size === 0) return undefined
    const restMs = state.scale.advancedMs + STEP_MS - nowMs
    if (restMs > 0) return restMs
    state.scale.advancedMs = nowMs
    const candidates = this.#plan(new Set())?.candidates ?? []
    const plan = this.#plan(await this.#verify(candidates))
    if (plan === undefined) return STEP_MS
    await this.#mark(plan.marks.remove, false)
    await this.#mark(plan.marks.add, true)
    if (this.#problem !== undefined) return CALM_MS
    if (plan.replicas !== undefined && (await this.#write(plan.replicas))) state.scale.waiting = undefined
    else this.#reportWaiting(candidates)
    return STEP_MS
  }

  get #isMoving(): boolean {
    return this.#replicas !== this.#facts.desired
  }

  #plan(verified: ReadonlySet<string>): ScalePlan | undefined {
    const { desired, read, workload } = this.#facts
    const facts = { desired, actual: this.#replicas, workers: workersOf(this.#context, workload), verified }
    if (workload.kind === 'StatefulSet') return planStatefulSet({ ...facts, name: workload.name, start: read.start })
    return this.#pods === undefined ? undefined : planDeployment({ ...facts, pods: this.#pods })
  }

  /** Pods are read only while some of them are removed. */
  async #readPods(): Promise<readonly PodFacts[] | undefined> {
    const { client, desired, read, workload } = this.#facts
    if (workload.kind === 'StatefulSet') return undefined
    const isNeeded = desired < this.#replicas || this.#labelled().size > 0
    if (!isNeeded) return []
    const found = await client.pods(read.selector, this.#context.signal)
    if (found.kind === 'ok') return found.value
    this.#failed(found)
    return undefined
  }

  #labelled(): ReadonlySet<string> {
    const workers = workersOf(this.#context, this.#facts.workload)
    return new Set([...workers].filter(([, { isCordoned }]) => isCordoned).map(([id]) => id))
  }

  /** Reads records from the master. @returns the ids of those that are known now. */
  async #verify(candidates: readonly string[]): Promise<ReadonlySet<string>> {
    const { deps, set, signal } = this.#context
    const read = await Promise.all(
      candidates.map(async (workerId) => {
        const { kind } = await deps.master.get({ type: set.spec.type, workerId }, signal)
        return kind === 'ok' || kind === 'not_registered' ? [workerId] : []
      }),
    )
    return new Set(read.flat())
  }

  async #mark(pods: readonly string[], isMarked: boolean): Promise<void> {
    const { deps, signal } = this.#context
    for (const pod of pods) {
      if (!deps.leadership.mayWrite()) return
      const marked = await this.#facts.client.mark(pod, isMarked, signal)
      if (marked.kind !== 'ok') return this.#failed(marked)
    }
  }

  #failed(failure: Exclude<WorkloadCall<unknown>, { readonly kind: 'ok' }>): void {
    const { deps, state } = this.#context
    const { workload } = this.#facts
    state.scale.workload = undefined // Read again: another client may have changed it.
    if (failure.kind === 'forbidden') this.#problem = problemOf(workload, { ...failure, kind: 'forbidden' })
    else deps.log.info('scaling a workload failed, retrying', { workload: workload.name, why: failure.message })
  }

  /** @returns whether the workload has this number of replicas now. */
  async #write(replicas: number): Promise<boolean> {
    const { deps, signal, state } = this.#context
    const nowMs = deps.clock.monotonicMs()
    if (nowMs - state.scale.wroteMs < STEP_MS || !deps.leadership.mayWrite()) return false
    state.scale.wroteMs = nowMs
    const { client, read, workload } = this.#facts
    const written = await client.scale(this.#replicas, replicas, signal)
    if (written.kind !== 'ok') {
      this.#failed(written)
      return false
    }
    deps.log.info('scaled the workload of a FleetWorkerSet', {
      workload: `${workload.kind} ${workload.name}`,
      from: this.#replicas,
      to: replicas,
    })
    this.#replicas = replicas
    if (state.scale.workload !== undefined)
      state.scale.workload = { ...state.scale.workload, read: { ...read, replicas } }
    return true
  }

  #reportWaiting(candidates: readonly string[]): void {
    const { deps, set, state } = this.#context
    const nowMs = deps.clock.monotonicMs()
    const waiting = (state.scale.waiting ??= { sinceMs: nowMs, isReported: false })
    if (!this.#isMoving || waiting.isReported || nowMs - waiting.sinceMs < PATIENCE_MS) return
    const workers = workersOf(this.#context, this.#facts.workload)
    const busy = candidates.filter((id) => workers.get(id)?.isIdle === false)
    if (busy.length === 0) return
    waiting.isReported = true
    const shown = busy.slice(0, MAX_WORKERS_SHOWN).join(', ')
    const message = `scale-in to ${this.#facts.desired} waits for workers that are not known to be idle: ${shown}`
    deps.events.record(setEventTarget(set), 'Normal', 'ScaleInWaiting', cleanText(message, MAX_EVENT_CHARS))
  }
}
