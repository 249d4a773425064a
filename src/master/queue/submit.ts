/**
 * @module master/queue/submit
 * Serves task submission, single and in batches (D38), and its dry run (D49). The response is sent after the commit.
 * A rejected task (422, 429, 503) uses neither its task id nor its idempotency key (G7).
 */
import type { Counter } from 'prom-client'
import type { CatalogEntry } from '../../automation/index.ts'
import {
  AnyObject,
  API_PREFIX,
  BatchResults,
  codeForClient,
  detailForClient,
  ERRORS,
  FleetError,
  SubmitResult,
  TaskBatch,
  TaskBatchBody,
  TaskBody,
  ValidatedBody,
  type BatchResult,
  type FieldError,
} from '../../protocol/index.ts'
import { inSpan, traceHeadersOf, type Span, type TraceHeaders } from '../../runtime/index.ts'
import type { NewTask, SubmitItemResult } from '../../storage/index.ts'
import type { Static } from 'typebox'
import type { MasterReleases } from '../master-releases.ts'
import type { Principal } from '../auth/index.ts'
import { route, type RateLimiter, type Route } from '../http/index.ts'
import { newTask, remainingFaults, taskFaults, traceOf, type NewTaskDeps } from './new-task.ts'
import type { TypeQueue } from './type-queue.ts'

/** The W3C trace headers that a submit reads (D113). */
const TRACE_HEADERS = {
  traceparent: 'W3C trace context for tasks that do not set `traceparent`; an invalid value is ignored.',
  tracestate: 'Vendor data of that trace; at most 512 characters.',
}

const TASKS = `${API_PREFIX}/automations/{type}/tasks`

/** An estimate of how long workers need to free a part of the queue. */
const FULL_RETRY_SECONDS = 10

export interface SubmitDeps extends NewTaskDeps {
  /** What the live masters implement. If left out, there is no other master. */
  readonly releases?: MasterReleases | undefined
  readonly limiter: RateLimiter
  /** Limits the tokens that have a rate of their own. */
  readonly ownLimiter: RateLimiter
  /** The number of masters among which such a rate is divided, 1 or more. */
  readonly liveMasters: () => number
  readonly isOverloaded: () => boolean
  readonly queueOf: (type: string) => TypeQueue
  /** Rejected tasks by automation type and reason. */
  readonly refused: Counter
}

type BatchResult_ = Static<typeof BatchResult>
type RejectReason = 'not_batch' | 'overloaded' | 'upgrading' | 'rate_limited' | 'invalid' | 'queue_full' | 'store'

export function submitRoutes(deps: SubmitDeps): readonly Route[] {
  return [singleRoute(deps), batchRoute(deps), dryRunRoute(deps)]
}

function singleRoute(deps: SubmitDeps): Route {
  return route({
    method: 'POST',
    path: TASKS,
    access: 'scoped',
    isHot: true,
    needs: 'submit',
    audit: 'task.submit',
    body: TaskBody,
    keepsNumbers: true,
    response: SubmitResult,
    refuses: ['RATE_LIMITED'],
    example: { payload: { url: 'https://example.com/' }, priority: 1, idempotency_key: 'order-7' },
    summary: 'Queues a task.',
    reads: TRACE_HEADERS,
    handle: async ({ entry, principal, body, exactBody, header }) => {
      const trace = traceOf(header)
      const submit = async (span: Span): Promise<SubmitResult> => {
        admit(deps, entry, principal, 1)
        const upgrade = deps.releases?.faultOf(body) ?? null
        if (upgrade !== null) throw counted(deps, entry, 'upgrading', upgrade)
        const faults = remainingFaults(body, entry, deps)
        if (faults.length > 0) throw counted(deps, entry, 'invalid', new FleetError('INVALID', faults))
        const task = newTask(
          body,
          { exactPayload: exactBody.payload, trace: traceHeadersOf(span) ?? trace },
          entry,
          deps,
        )
        span.setAttribute('fleet.task_id', task.id)
        const [stored] = await deps.queueOf(entry.type).submit([task])
        const result = resultOf(deps, entry, task, body.priority ?? 0, stored)
        span.setAttribute('fleet.task_id', result.task_id) // For a duplicate, the id of the existing task.
        return result
      }
      const attributes = { 'fleet.automation_type': entry.type, 'fleet.priority': body.priority ?? 0 }
      return { body: await inSpan('api.submit_task', attributes, submit, { parent: trace }) }
    },
  })
}

function batchRoute(deps: SubmitDeps): Route {
  return route({
    method: 'POST',
    path: `${TASKS}/batch`,
    access: 'scoped',
    isHot: true,
    needs: 'submit',
    audit: 'task.submit',
    body: TaskBatchBody,
    keepsNumbers: true,
    response: BatchResults,
    refuses: ['RATE_LIMITED'],
    bodyInFull: TaskBatch,
    example: {
      tasks: [{ payload: { url: 'https://example.com/' } }, { payload: { url: 'https://example.org/' }, priority: -1 }],
    },
    summary: 'Queues up to 1,000 tasks; one result each, in order.',
    reads: TRACE_HEADERS,
    handle: async ({ entry, principal, body, exactBody, header }) => {
      admit(deps, entry, principal, body.tasks.length)
      const tasks = { bodies: body.tasks, exactBodies: exactBody.tasks, trace: traceOf(header) }
      const results = await submitBatch(deps, entry, tasks)
      return {
        body: { results },
        audit: { count: results.filter((result) => 'queued' in result && result.queued).length },
      }
    },
  })
}

function dryRunRoute(deps: SubmitDeps): Route {
  return route({
    method: 'POST',
    path: `${TASKS}/validate`,
    access: 'scoped',
    needs: ['read', 'submit'],
    isDryRun: true,
    refuses: ['RATE_LIMITED'],
    body: AnyObject,
    keepsNumbers: true,
    response: ValidatedBody,
    example: { payload: { url: 'https://example.com/' } },
    summary: 'Checks a task as a submit would, and queues nothing.',
    handle: ({ entry, body }) => {
      if (entry.validatePayload === null) throw notBatch(entry)
      const errors = taskFaults(body, entry, deps)
      return { body: { valid: errors.length === 0, errors } }
    },
  })
}

const notBatch = ({ type }: CatalogEntry): FleetError =>
  new FleetError('BAD_REQUEST', `"${type}" is not a batch automation and accepts no tasks`)

/** @throws {FleetError} BAD_REQUEST if the automation accepts no tasks; OVERLOADED; RATE_LIMITED. */
function admit(deps: SubmitDeps, entry: CatalogEntry, { key, submitRps }: Principal, count: number): void {
  if (entry.validatePayload === null) throw counted(deps, entry, 'not_batch', notBatch(entry))
  if (deps.isOverloaded()) {
    throw counted(
      deps,
      entry,
      'overloaded',
      new FleetError('OVERLOADED', 'the master is overloaded; submit again in a second', {
        retryAfterSeconds: 1,
      }),
    )
  }
  const retryAfterSeconds =
    deps.limiter.take(key, count) ??
    (submitRps === undefined ? null : deps.ownLimiter.take(key, count, submitRps / deps.liveMasters()))
  if (retryAfterSeconds !== null) {
    throw counted(
      deps,
      entry,
      'rate_limited',
      new FleetError('RATE_LIMITED', 'this token submits too fast; retry after the time in Retry-After', {
        retryAfterSeconds,
      }),
    )
  }
}

interface Batch {
  readonly bodies: readonly unknown[]
  readonly exactBodies: readonly unknown[]
  readonly trace: TraceHeaders | undefined
}

async function submitBatch(
  deps: SubmitDeps,
  entry: CatalogEntry,
  { bodies, exactBodies, trace }: Batch,
): Promise<readonly BatchResult_[]> {
  const faults = bodies.map((body) => taskFaults(body, entry, deps))
  const upgrades = bodies.map((body) => deps.releases?.faultOf(Object(body) as object) ?? null)
  const isGood = (_: unknown, at: number): boolean => faults[at]?.length === 0 && upgrades[at] === null
  const good = bodies.filter(isGood) as TaskBody[]
  const exact = exactBodies.filter(isGood) as TaskBody[]
  const tasks = good.map((body, at) => newTask(body, { exactPayload: exact[at]?.payload, trace }, entry, deps))
  const outcomes = tasks.length === 0 ? [] : await deps.queueOf(entry.type).submit(tasks)
  const [failure] = outcomes
  if (outcomes.length === bodies.length && outcomes.every((outcome) => outcome instanceof Error)) throw failure as Error
  let next = 0
  return faults.map((own, index) => {
    try {
      const upgrade = upgrades[index] ?? null
      if (upgrade !== null) throw counted(deps, entry, 'upgrading', upgrade)
      if (own.length > 0) throw counted(deps, entry, 'invalid', new FleetError('INVALID', own))
      const at = next++
      return resultOf(deps, entry, tasks[at] as NewTask, good[at]?.priority ?? 0, outcomes[at])
    } catch (error) {
      return { error: itemError(error) }
    }
  })
}

/** @throws the error of the store, or QUEUE_FULL. */
function resultOf(
  deps: SubmitDeps,
  entry: CatalogEntry,
  task: NewTask,
  priority: number,
  outcome: SubmitItemResult | Error | undefined,
): SubmitResult {
  if (outcome === undefined || outcome instanceof Error) {
    throw counted(deps, entry, 'store', outcome ?? new TypeError('the store returned fewer results than requested'))
  }
  if (outcome.kind === 'queue_full') {
    const sentence =
      `the queue is full: "${entry.type}" has reached its limit of tasks, dead ones included; ` +
      'add slots, or clear or replay dead tasks'
    throw counted(
      deps,
      entry,
      'queue_full',
      new FleetError('QUEUE_FULL', sentence, { retryAfterSeconds: FULL_RETRY_SECONDS }),
    )
  }
  if (outcome.kind === 'duplicate') return { task_id: outcome.duplicateOf, queued: false, duplicate: true }
  const { replaced } = outcome
  return { task_id: task.id, queued: true, priority, ...(replaced !== undefined && { replaced }) }
}

/** Counts a rejected task or batch. @returns the error, to throw. */
function counted(deps: SubmitDeps, entry: CatalogEntry, reason: RejectReason, error: Error): Error {
  deps.refused.inc({ automation_type: entry.type, reason })
  return error
}

/** The error of one item. @throws {TypeError} and other programming errors, which never mean an invalid item. */
function itemError(error: unknown): { status: number; detail: string | FieldError[]; code?: 'UPGRADING' } {
  if (!(error instanceof FleetError)) throw error
  const detail = detailForClient(error)
  const { status } = ERRORS[error.code]
  return { status, detail: typeof detail === 'string' ? detail : [...detail], ...codeForClient(error) }
}
