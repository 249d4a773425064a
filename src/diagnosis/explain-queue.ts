/**
 * @module diagnosis/explain-queue
 * Explains why a queue makes no progress. Returns the causes, the decisive one first, each with what fixes it.
 *
 * A queue is checked with a chain of filters. Each filter passes the workers that could still take a task. The filter
 * that stops the last workers is the decisive cause. Then failures are judged, before the number of slots: a worker
 * that fails each task immediately takes most of the tasks, and more slots only make it take more of them (D152).
 *
 *   registered ─▶ connected ─▶ enabled ─▶ slots ─▶ not DRAINING ─▶ tasks do not fail ─▶ a free slot ─▶ its tier's turn
 */
import type { QueueTotals, RunsBody } from '../protocol/index.ts'
import type { Cause, Fix, WorkersFilter } from './cause.ts'
import { explainFailures } from './explain-failures.ts'
import { countText, plural } from './texts.ts'
import { isDraining, isEnabled, runningSlots, wantedSlots, type WorkerFacts } from './worker-facts.ts'

export interface QueueFacts {
  readonly type: string
  readonly queue: QueueTotals
  /** Every worker of the type. */
  readonly workers: readonly WorkerFacts[]
  /** null if they are not known, as with a master of an earlier release. */
  readonly runs: RunsBody | null
  readonly nowSeconds: number
}

interface WorkerFilter {
  readonly passes: (worker: WorkerFacts) => boolean
  /** The cause if this filter stops all remaining workers. */
  readonly all: (type: string, stopped: readonly WorkerFacts[]) => string
  /** Text for the stopped workers if others pass. */
  readonly some: string
  readonly filter: WorkersFilter
}

const WORKER_FILTERS: readonly WorkerFilter[] = [
  {
    passes: ({ connected }) => connected,
    some: 'offline',
    filter: 'offline',
    all: (type, { length }) =>
      length === 1
        ? `The only worker of ${type} is offline.`
        : `All ${countText(length)} workers of ${type} are offline.`,
  },
  {
    passes: isEnabled,
    some: 'not enabled',
    filter: 'not_enabled',
    all: (_, stopped) =>
      `${connectedText(stopped)} not enabled. A worker takes tasks only if its config has enabled: true.`,
  },
  {
    passes: (worker) => wantedSlots(worker) > 0,
    some: 'scaled to zero slots',
    filter: 'no_slots',
    all: (_, stopped) => `${enabledText(stopped)} scaled to zero slots, so no task can run.`,
  },
  {
    passes: (worker) => !isDraining(worker),
    some: 'draining',
    filter: 'draining',
    all: (_, stopped) =>
      `${enabledText(stopped)} draining: running tasks finish, new ones are not taken. Start another worker.`,
  },
]

const connectedText = (stopped: readonly WorkerFacts[]): string =>
  stopped.length === 1 ? 'The only connected worker is' : `All ${countText(stopped.length)} connected workers are`
const enabledText = (stopped: readonly WorkerFacts[]): string =>
  stopped.length === 1 ? 'The only enabled worker is' : `All ${countText(stopped.length)} enabled workers are`

function fixFor(type: string, stopped: readonly WorkerFacts[], filter: WorkersFilter): Fix {
  const [only] = stopped
  if (stopped.length !== 1 || only === undefined) return { kind: 'list_workers', type, filter }
  const isConfig = filter === 'not_enabled' || filter === 'no_slots'
  return { kind: isConfig ? 'edit_config' : 'open_worker', type, worker: only.worker_id }
}

/** Never returns an empty list. The first cause is the decisive one. */
export function explainQueue(facts: QueueFacts): readonly Cause[] {
  const { type, workers, queue, runs, nowSeconds } = facts
  const waiting = queue.high + queue.normal + queue.low
  const { able, causes, stopped } = filterWorkers(type, workers)
  const failures = explainFailures({ type, able, runs, nowSeconds })
  if (waiting + queue.in_flight + queue.scheduled === 0)
    return failures.isDecisive
      ? [...failures.causes, nothingWaits(type, queue)]
      : [nothingWaits(type, queue), ...deadCause(type, queue)]
  if (workers.length === 0)
    return [
      {
        tone: 'bad',
        text: `No worker of ${type} has registered yet. Start one: muster worker --automation-type ${type}`,
        fixes: [],
      },
    ]
  if (queue.paused !== undefined) return [pauseCause(queue.paused), ...failures.causes, ...deadCause(type, queue)]
  if (stopped !== null) return [stopped, ...causes, ...deadCause(type, queue)]
  const pace = paceOf(facts, able, waiting)
  const tiers = tierCauses(queue, pace)
  return failures.isDecisive
    ? [...failures.causes, ...tiers, ...causes, ...deadCause(type, queue)]
    : [pace, ...tiers, ...causes, ...failures.causes, ...deadCause(type, queue)]
}

const nothingWaits = (type: string, { dead }: QueueTotals): Cause =>
  dead === 0
    ? { tone: 'calm', text: `No task of ${type} is waiting or running.`, fixes: [] }
    : {
        tone: 'warn',
        text: `No task is waiting or running, but ${plural(dead, 'task is', 'tasks are')} dead.`,
        fixes: [{ kind: 'replay_dead', type }],
      }

function pauseCause({ note, actor, until }: NonNullable<QueueTotals['paused']>): Cause {
  const end = until === null ? 'until the queue is resumed' : `until ${new Date(until * 1_000).toISOString()}`
  return {
    tone: 'warn',
    text: `Paused by ${actor}${note === null ? '' : ` (${note})`}: no task is leased ${end}.`,
    fixes: [],
  }
}

function filterWorkers(
  type: string,
  workers: readonly WorkerFacts[],
): { readonly able: readonly WorkerFacts[]; readonly causes: readonly Cause[]; readonly stopped: Cause | null } {
  const causes: Cause[] = []
  let able = workers
  for (const { passes, all, some, filter } of WORKER_FILTERS) {
    const affected = able.filter((worker) => !passes(worker))
    const fixes = [fixFor(type, affected, filter)]
    if (affected.length === able.length)
      return { able: [], causes, stopped: { tone: 'bad', text: all(type, affected), fixes } }
    if (affected.length > 0)
      causes.push({ tone: 'warn', text: `${plural(affected.length, 'worker is', 'workers are')} ${some}.`, fixes })
    able = able.filter(passes)
  }
  return { able, causes, stopped: null }
}

function paceOf({ queue, type }: QueueFacts, able: readonly WorkerFacts[], waiting: number): Cause {
  const slots = able.reduce((sum, worker) => sum + runningSlots(worker), 0)
  const toWorkers: Fix = { kind: 'list_workers', type, filter: 'all' }
  if (waiting === 0 && queue.in_flight === 0)
    return {
      tone: 'warn',
      text:
        `${plural(queue.scheduled, 'task is', 'tasks are')} scheduled: ` +
        'each is delayed, or failed and runs again after its backoff.',
      fixes: [{ kind: 'list_workers', type, filter: 'failing' }],
    }
  if (waiting > 0 && queue.in_flight >= slots)
    return {
      tone: 'calm',
      text:
        `${slots === 1 ? 'The only slot is' : `All ${countText(slots)} slots are`} busy, ` +
        `${plural(waiting, 'task is', 'tasks are')} waiting. Add slots or workers.`,
      fixes: [toWorkers],
    }
  if (waiting > 0 && queue.in_flight === 0)
    return {
      tone: 'warn',
      text:
        `${plural(waiting, 'task is', 'tasks are')} waiting and none is in flight, ` +
        `although ${plural(slots, 'slot')} on ${plural(able.length, 'worker')} could take them. ` +
        'If this lasts more than a few seconds, check the worker logs.',
      fixes: [toWorkers],
    }
  return {
    tone: 'good',
    text:
      `Processing: ${plural(queue.in_flight, 'task')} in flight ` +
      `on ${plural(able.length, 'worker')} with ${plural(slots, 'slot')}.`,
    fixes: [],
  }
}

/** A lower tier is served only when no higher tier has waiting tasks. */
function tierCauses({ high, normal, low }: QueueTotals, decisive: Cause): readonly Cause[] {
  if (decisive.tone === 'good') return []
  const behind = [...(high > 0 && normal > 0 ? ['normal'] : []), ...(high + normal > 0 && low > 0 ? ['low'] : [])]
  if (behind.length === 0) return []
  const above = high > 0 ? plural(high, 'high task') : plural(normal, 'normal task')
  return [
    {
      tone: 'warn',
      text: `The ${behind.join(' and ')} ${behind.length === 1 ? 'tier waits' : 'tiers wait'} for ${above}.`,
      fixes: [],
    },
  ]
}

const deadCause = (type: string, { dead }: QueueTotals): readonly Cause[] =>
  dead === 0
    ? []
    : [
        {
          tone: 'warn',
          text: `${plural(dead, 'task is', 'tasks are')} in the dead letters.`,
          fixes: [{ kind: 'list_dead', type }],
        },
      ]
