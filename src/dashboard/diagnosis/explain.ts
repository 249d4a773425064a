/**
 * @module dashboard/diagnosis/explain
 * Explains why a queue or a worker makes no progress. Returns the causes, the decisive one first, each with a link to
 * the page where it can be fixed.
 *
 * A queue is checked with a chain of filters. Each filter passes the workers that could still take a task. The filter
 * that stops the last workers is the decisive cause. The other causes only contribute: an earlier filter stopped some
 * workers, or a lower tier waits for a higher one.
 *
 *   registered ─▶ connected ─▶ enabled ─▶ slots ─▶ not DRAINING ─▶ not ERROR ─▶ a free slot ─▶ its tier's turn
 */
import type { QueueTotals, WorkerBody } from '../../protocol/index.ts'
import { spanText } from '../components/age.ts'
import { countText, plural } from '../components/numbers.ts'
import { toConfig, toDead, toWorker, toWorkers, type Link } from './links.ts'

export interface Cause {
  readonly tone: 'bad' | 'warn' | 'calm' | 'good'
  readonly text: string
  readonly link: Link | null
}

/** The fields of a worker record that an explanation needs. All of them are in the summary view (D47). */
export type WorkerFacts = Pick<
  WorkerBody,
  | 'worker_id'
  | 'automation_type'
  | 'connected'
  | 'ended'
  | 'state'
  | 'state_since'
  | 'draining'
  | 'last_error'
  | 'config'
  | 'config_gen'
  | 'applied_config_gen'
  | 'config_changed_at'
> & { readonly current_stats: { readonly slots: number } | null }

export interface QueueFacts {
  readonly type: string
  readonly queue: QueueTotals
  /** Every worker of the type. */
  readonly workers: readonly WorkerFacts[]
}

export const isEnabled = ({ config }: WorkerFacts): boolean => config['enabled'] === true
const wantedSlots = ({ config }: WorkerFacts): number => (typeof config['slots'] === 'number' ? config['slots'] : 0)
const runningSlots = (worker: WorkerFacts): number => worker.current_stats?.slots ?? wantedSlots(worker)
const isDraining = ({ draining, state }: WorkerFacts): boolean => draining || state === 'DRAINING'

interface WorkerFilter {
  readonly passes: (worker: WorkerFacts) => boolean
  /** The cause if this filter stops all remaining workers. */
  readonly all: (type: string, stopped: readonly WorkerFacts[]) => Cause
  /** Text for the stopped workers if others pass. */
  readonly some: string
  readonly query: string
}

const WORKER_FILTERS: readonly WorkerFilter[] = [
  {
    passes: ({ connected }) => connected,
    some: 'offline',
    query: 'state:offline',
    all: (type, { length }) => ({
      tone: 'bad',
      text:
        length === 1
          ? `The only worker of ${type} is offline.`
          : `All ${countText(length)} workers of ${type} are offline.`,
      link: toWorkers('Show offline workers', `type:${type} state:offline`),
    }),
  },
  {
    passes: isEnabled,
    some: 'not enabled',
    query: 'enabled:no',
    all: (type, stopped) => ({
      tone: 'bad',
      text: `${connectedText(stopped)} not enabled. A worker takes tasks only if its config has enabled: true.`,
      link: linkTo(type, stopped, 'enabled:no'),
    }),
  },
  {
    passes: (worker) => wantedSlots(worker) > 0,
    some: 'scaled to zero slots',
    query: 'slots:<1',
    all: (type, stopped) => ({
      tone: 'bad',
      text: `${enabledText(stopped)} scaled to zero slots, so no task can run.`,
      link: linkTo(type, stopped, 'slots:<1'),
    }),
  },
  {
    passes: (worker) => !isDraining(worker),
    some: 'draining',
    query: 'state:draining',
    all: (type, stopped) => ({
      tone: 'bad',
      text: `${enabledText(stopped)} draining: running tasks finish, new ones are not taken. Start another worker.`,
      link: linkTo(type, stopped, 'state:draining'),
    }),
  },
  {
    passes: ({ state }) => state !== 'ERROR',
    some: 'in ERROR',
    query: 'state:error',
    all: (type, stopped) => ({
      tone: 'bad',
      text: `${enabledText(stopped)} in ERROR${mostFrequent(stopped)}`,
      link: linkTo(type, stopped, 'state:error'),
    }),
  },
]

const connectedText = (stopped: readonly WorkerFacts[]): string =>
  stopped.length === 1 ? 'The only connected worker is' : `All ${countText(stopped.length)} connected workers are`
const enabledText = (stopped: readonly WorkerFacts[]): string =>
  stopped.length === 1 ? 'The only enabled worker is' : `All ${countText(stopped.length)} enabled workers are`

function linkTo(type: string, stopped: readonly WorkerFacts[], query: string): Link {
  const [first] = stopped
  return stopped.length === 1 && first !== undefined
    ? toWorker(type, first.worker_id)
    : toWorkers('Show these workers', `type:${type} ${query}`)
}

/** The most frequent error of the workers, as the end of a sentence. */
export function mostFrequent(workers: readonly WorkerFacts[]): string {
  const counts = new Map<string, number>()
  for (const { last_error: error } of workers) if (error !== null) counts.set(error, (counts.get(error) ?? 0) + 1)
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a)
  return most === undefined ? '.' : `: ${most[0]}`
}

/** Never returns an empty list. The first cause is the decisive one. */
export function explainQueue(facts: QueueFacts): readonly Cause[] {
  const { type, workers, queue } = facts
  const waiting = queue.high + queue.normal + queue.low
  if (waiting + queue.in_flight + queue.scheduled === 0) return [nothingWaits(type, queue), ...deadCause(type, queue)]
  if (workers.length === 0)
    return [
      {
        tone: 'bad',
        text: `No worker of ${type} has registered yet. Start one: muster worker --automation-type ${type}`,
        link: null,
      },
    ]
  if (queue.paused !== undefined) return [pauseCause(queue.paused), ...deadCause(type, queue)]
  const { able, causes, stopped } = filterWorkers(type, workers)
  const decisive = stopped ?? paceOf(facts, able, waiting)
  return [decisive, ...(stopped === null ? tierCauses(queue, decisive) : []), ...causes, ...deadCause(type, queue)]
}

const nothingWaits = (type: string, { dead }: QueueTotals): Cause => ({
  tone: 'good',
  text: dead === 0 ? `No tasks left: all tasks of ${type} are done.` : 'No tasks left except the dead ones.',
  link: null,
})

function pauseCause({ note, actor, until }: NonNullable<QueueTotals['paused']>): Cause {
  const end = until === null ? 'until the queue is resumed' : `until ${new Date(until * 1_000).toISOString()}`
  return {
    tone: 'warn',
    text: `Paused by ${actor}${note === null ? '' : ` (${note})`}: no task is leased ${end}.`,
    link: null,
  }
}

function filterWorkers(
  type: string,
  workers: readonly WorkerFacts[],
): { readonly able: readonly WorkerFacts[]; readonly causes: readonly Cause[]; readonly stopped: Cause | null } {
  const causes: Cause[] = []
  let able = workers
  for (const filter of WORKER_FILTERS) {
    const affected = able.filter((worker) => !filter.passes(worker))
    if (affected.length === able.length) return { able: [], causes, stopped: filter.all(type, affected) }
    if (affected.length > 0)
      causes.push({
        tone: 'warn',
        text: `${plural(affected.length, 'worker is', 'workers are')} ${filter.some}.`,
        link: linkTo(type, affected, filter.query),
      })
    able = able.filter(filter.passes)
  }
  return { able, causes, stopped: null }
}

function paceOf({ queue, type }: QueueFacts, able: readonly WorkerFacts[], waiting: number): Cause {
  const slots = able.reduce((sum, worker) => sum + runningSlots(worker), 0)
  if (waiting === 0 && queue.in_flight === 0)
    return {
      tone: 'warn',
      text:
        `${plural(queue.scheduled, 'task is', 'tasks are')} scheduled: ` +
        'each is delayed, or failed and runs again after its backoff.',
      link: toWorkers('Show workers with an error', `type:${type} error:yes`),
    }
  if (waiting > 0 && queue.in_flight >= slots)
    return {
      tone: 'calm',
      text:
        `${slots === 1 ? 'The only slot is' : `All ${countText(slots)} slots are`} busy, ` +
        `${plural(waiting, 'task is', 'tasks are')} waiting. Add slots or workers.`,
      link: toWorkers('Show the workers', `type:${type}`),
    }
  if (waiting > 0 && queue.in_flight === 0)
    return {
      tone: 'warn',
      text:
        `${plural(waiting, 'task is', 'tasks are')} waiting and none is in flight, ` +
        `although ${plural(slots, 'slot')} on ${plural(able.length, 'worker')} could take them. ` +
        'If this lasts more than a few seconds, check the worker logs.',
      link: toWorkers('Show the workers', `type:${type}`),
    }
  return {
    tone: 'good',
    text:
      `Processing: ${plural(queue.in_flight, 'task')} in flight ` +
      `on ${plural(able.length, 'worker')} with ${plural(slots, 'slot')}.`,
    link: null,
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
      link: null,
    },
  ]
}

const deadCause = (type: string, { dead }: QueueTotals): readonly Cause[] =>
  dead === 0
    ? []
    : [{ tone: 'warn', text: `${plural(dead, 'task ran', 'tasks ran')} out of attempts.`, link: toDead(type) }]

/** A new config that is applied within this time is not reported. */
const APPLIED_WITHIN_SECONDS = 5

/** Never returns an empty list. The first cause is the decisive one. */
export function explainWorker(worker: WorkerFacts, nowSeconds: number): readonly Cause[] {
  const causes = [
    offlineCause(worker, nowSeconds),
    ...configCauses(worker),
    drainCause(worker, nowSeconds),
    behindCause(worker, nowSeconds),
    errorCause(worker, nowSeconds),
  ]
  const found = causes.filter((cause) => cause !== null)
  return found.length > 0
    ? found
    : [{ tone: 'good', text: 'No problems: connected, enabled and running the latest config.', link: null }]
}

const since = (at: number, nowSeconds: number): string => spanText(nowSeconds - at)

function offlineCause(
  { connected, ended, state_since: at, last_error: error }: WorkerFacts,
  nowSeconds: number,
): Cause | null {
  if (connected) return null
  if (ended === true) {
    const text =
      `Its process ended in an orderly way ${since(at, nowSeconds)} ago, ` +
      'for example because it was drained or scaled in. Start it again, or forget the worker.'
    return { tone: 'warn', text, link: null }
  }
  return {
    tone: 'bad',
    text:
      `Offline for ${since(at, nowSeconds)}. Check that its process is running and can reach the master.` +
      (error === null ? '' : ` Last error: ${error}`),
    link: null,
  }
}

function configCauses(worker: WorkerFacts): readonly Cause[] {
  const link = toConfig(worker.automation_type, worker.worker_id)
  return [
    ...(isEnabled(worker) ? [] : [{ tone: 'warn', text: 'Not enabled, so no slots run.', link } as const]),
    ...(wantedSlots(worker) > 0
      ? []
      : [{ tone: 'warn', text: 'Scaled to zero slots, so nothing runs.', link } as const]),
  ]
}

function drainCause(worker: WorkerFacts, nowSeconds: number): Cause | null {
  if (!isDraining(worker)) return null
  return worker.connected
    ? {
        tone: 'warn',
        text:
          `Draining for ${since(worker.state_since, nowSeconds)}: ` +
          'it finishes its running work, takes nothing new, then exits.',
        link: null,
      }
    : { tone: 'warn', text: 'A drain was requested. It starts when the worker reconnects.', link: null }
}

function behindCause(
  { config_gen: wanted, applied_config_gen: applied, config_changed_at: at, connected }: WorkerFacts,
  nowSeconds: number,
): Cause | null {
  if (applied === wanted || (applied === null && wanted === 0)) return null
  if (at !== null && connected && nowSeconds - at < APPLIED_WITHIN_SECONDS) return null
  const age = at === null ? '' : ` Saved ${since(at, nowSeconds)} ago.`
  const what =
    applied === null
      ? `Config generation ${wanted} is not applied yet.`
      : `Config generation ${wanted} is saved, ${applied} is applied.`
  return {
    tone: connected ? 'bad' : 'warn',
    text: `${what}${age}${connected ? ' Check its log.' : ' It gets the latest when it connects.'}`,
    link: null,
  }
}

function errorCause(
  { state, state_since: at, last_error: error, connected }: WorkerFacts,
  nowSeconds: number,
): Cause | null {
  if (state !== 'ERROR' || !connected) return null
  return {
    tone: 'bad',
    text: `In ERROR for ${since(at, nowSeconds)}${error === null ? '; it reported no error message.' : `: ${error}`}`,
    link: null,
  }
}
