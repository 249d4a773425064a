/**
 * @module dashboard/diagnosis/attention
 * Summarizes the state of the fleet in one sentence and lists what needs attention. Problems of one kind and type are
 * one item, so 1,000 workers behind a broken network switch show up as one line.
 */
import type { OverviewBody } from '../../protocol/index.ts'
import { countText, plural } from '../components/numbers.ts'
import { standingOf } from '../rollouts/standing.ts'
import { isEnabled, type WorkerFacts } from './explain.ts'
import { toDead, toOutput, toQueue, toRollouts, toWorker, toWorkers, type Link } from './links.ts'

type Kind = 'paused' | 'unserved' | 'rollout' | 'offline' | 'error' | 'behind' | 'old' | 'dead' | 'stream'

export interface Attention {
  readonly kind: Kind
  readonly type: string
  readonly tone: 'bad' | 'warn' | 'offline'
  /** `mailer`, or `mailer/m-7`; of a rollout its set, `prod/crawlers`. */
  readonly subject: string
  readonly text: string
  /** Unix seconds; null if unknown. */
  readonly since: number | null
  readonly count: number
  readonly link: Link
  /** The affected workers. Empty for a queue or stream, or while no worker record is loaded. */
  readonly affected: readonly WorkerFacts[]
}

export interface FleetFacts {
  readonly overview: OverviewBody
  /** Records of all workers that the token covers. null while they are loading; then the overview's counts are used. */
  readonly workers: readonly WorkerFacts[] | null
  readonly nowSeconds: number
}

const PATIENCE_SECONDS = 60
const OLD_AFTER_SECONDS = 300
/** A stream keeps 50,000 entries and then drops the oldest. */
const STREAM_NEARLY_FULL = 45_000
const RANK: readonly Kind[] = ['unserved', 'rollout', 'error', 'offline', 'behind', 'paused', 'old', 'dead', 'stream']

type TypeOverview = OverviewBody['automations'][string]
interface TypeFacts {
  readonly type: string
  readonly of: TypeOverview
  readonly workers: readonly WorkerFacts[] | null
  readonly nowSeconds: number
}

/** Returns what needs attention, sorted by severity and then by age. */
export function attentionOf({ overview, workers, nowSeconds }: FleetFacts): readonly Attention[] {
  const found = Object.entries(overview.automations).flatMap(([type, of]) => {
    const facts: TypeFacts = {
      type,
      of,
      workers: workers?.filter((worker) => worker.automation_type === type) ?? null,
      nowSeconds,
    }
    return [...rolloutsOf(facts), ...workersOf(facts), ...queueOf(facts), ...streamOf(facts)]
  })
  return found.toSorted(
    (a, b) => RANK.indexOf(a.kind) - RANK.indexOf(b.kind) || (a.since ?? Infinity) - (b.since ?? Infinity),
  )
}

/** Rollouts that have failed or that wait for a person. */
function rolloutsOf({ type, of: { rollouts = [] } }: TypeFacts): readonly Attention[] {
  return rollouts.flatMap((rollout): readonly Attention[] => {
    const { set, since, stage, stages } = rollout
    const { tone, clause } = standingOf(rollout)
    if (tone !== 'bad' && tone !== 'warn') return []
    const text = `rollout ${clause} in stage ${stage} of ${stages}`
    return [{ kind: 'rollout', type, tone, subject: set, text, since, count: 1, link: toRollouts(type), affected: [] }]
  })
}

interface WorkerProblem {
  readonly kind: Kind
  readonly tone: Attention['tone']
  /** For example `offline`; follows "is" or "are". */
  readonly word: string
  readonly query: string
  readonly holds: (worker: WorkerFacts, nowSeconds: number) => boolean
  readonly since: (worker: WorkerFacts) => number | null
  /** Number of affected workers according to the overview. */
  readonly counted: (workers: TypeOverview['workers']) => number
}

const WORKER_PROBLEMS: readonly WorkerProblem[] = [
  {
    kind: 'error',
    tone: 'bad',
    word: 'in ERROR',
    query: 'state:error',
    counted: ({ ERROR }) => ERROR,
    holds: ({ connected, state }) => connected && state === 'ERROR',
    since: ({ state_since: at }) => at,
  },
  {
    kind: 'offline',
    tone: 'offline',
    word: 'offline',
    query: 'state:offline',
    counted: ({ total, connected }) => total - connected,
    holds: ({ connected, state_since: at }, now) => !connected && now - at > PATIENCE_SECONDS,
    since: ({ state_since: at }) => at,
  },
  {
    kind: 'behind',
    tone: 'warn',
    word: 'behind the saved config',
    query: 'behind:yes',
    counted: ({ behind }) => behind,
    holds: ({ connected, applied_config_gen: applied, config_gen: wanted, config_changed_at: at }, now) =>
      connected && applied !== null && applied < wanted && now - (at ?? 0) > PATIENCE_SECONDS,
    since: ({ config_changed_at: at }) => at,
  },
]

function workersOf({ type, of, workers, nowSeconds }: TypeFacts): readonly Attention[] {
  return WORKER_PROBLEMS.flatMap((problem): readonly Attention[] => {
    const { kind, tone, word, query } = problem
    const affected = workers?.filter((worker) => problem.holds(worker, nowSeconds)) ?? []
    const count = workers === null ? problem.counted(of.workers) : affected.length
    if (count === 0) return []
    const since = affected.reduce<number | null>((oldest, worker) => smaller(oldest, problem.since(worker)), null)
    const [only] = affected
    if (count === 1 && only !== undefined)
      return [
        {
          kind,
          type,
          tone,
          count,
          since,
          affected,
          subject: `${type}/${only.worker_id}`,
          text: oneText(problem, only),
          link: toWorker(type, only.worker_id),
        },
      ]
    return [
      {
        kind,
        type,
        tone,
        count,
        since,
        affected,
        subject: type,
        text: `${plural(count, 'worker is', 'workers are')} ${word}`,
        link: toWorkers('Show workers', `type:${type} ${query}`),
      },
    ]
  })
}

function oneText(
  { kind, word }: WorkerProblem,
  { last_error: error, config_gen: wanted, applied_config_gen: applied }: WorkerFacts,
): string {
  if (kind === 'behind') return `config generation ${wanted} saved, ${applied} applied`
  return error === null ? word : `${word}: ${error}`
}

function smaller(a: number | null, b: number | null): number | null {
  if (a === null) return b
  if (b === null) return a
  return Math.min(a, b)
}

function queueOf(facts: TypeFacts): readonly Attention[] {
  const {
    type,
    of: { queue },
    nowSeconds,
  } = facts
  if (queue === null) return []
  const waiting = queue.high + queue.normal + queue.low
  const oldest = queue.oldest_submitted_at
  const of = { type, subject: type, affected: [] }
  const found: Attention[] = []
  if (queue.paused !== undefined)
    found.push({
      ...of,
      kind: 'paused',
      tone: 'warn',
      count: waiting,
      since: queue.paused.since,
      text:
        `paused by ${queue.paused.actor}${queue.paused.note === null ? '' : ` (${queue.paused.note})`}, ` +
        `${plural(waiting, 'task is', 'tasks are')} waiting`,
      link: toQueue(type),
    })
  else if (waiting > 0 && !canTakeTasks(facts))
    found.push({
      ...of,
      kind: 'unserved',
      tone: 'bad',
      count: waiting,
      since: oldest,
      text:
        `${plural(waiting, 'task is', 'tasks are')} waiting, ` +
        `but no worker can take ${waiting === 1 ? 'it' : 'them'}`,
      link: toQueue(type),
    })
  else if (waiting > 0 && oldest !== null && nowSeconds - oldest > OLD_AFTER_SECONDS)
    found.push({
      ...of,
      kind: 'old',
      tone: 'warn',
      count: waiting,
      since: oldest,
      text: `${plural(waiting, 'task is', 'tasks are')} waiting, the oldest over 5 min`,
      link: toQueue(type),
    })
  if (queue.dead > 0)
    found.push({
      ...of,
      kind: 'dead',
      tone: 'warn',
      count: queue.dead,
      since: null,
      text: plural(queue.dead, 'dead task'),
      link: toDead(type),
    })
  return found
}

/** Whether any worker can take a task. Without worker records: whether any worker is connected. */
function canTakeTasks({ workers, of }: TypeFacts): boolean {
  return workers === null ? of.workers.connected > 0 : workers.some((worker) => worker.connected && isEnabled(worker))
}

function streamOf({ type, of: { stream } }: TypeFacts): readonly Attention[] {
  if (stream.length < STREAM_NEARLY_FULL) return []
  return [
    {
      kind: 'stream',
      type,
      tone: 'warn',
      subject: type,
      affected: [],
      count: stream.length,
      since: null,
      text:
        `the output stream has ${countText(stream.length)} of 50,000 entries; ` +
        'when it is full, the oldest are dropped',
      link: toOutput(type),
    },
  ]
}

/** One sentence with the two most severe kinds of problems, or that there are none. */
export function fleetSummaryText({ automations }: OverviewBody, attention: readonly Attention[]): string {
  const workers = Object.values(automations).reduce((sum, each) => sum + each.workers.total, 0)
  const clauses = RANK.flatMap((kind) => clauseOf(attention.filter((each) => each.kind === kind)))
  if (clauses.length > 0)
    return `Attention: ${clauses.slice(0, 2).join(' and ')}${clauses.length > 2 ? ', and more' : ''}.`
  if (workers === 0) return 'No worker has registered yet.'
  return workers === 1
    ? 'The only worker is connected and up to date.'
    : `All ${countText(workers)} workers are connected and up to date.`
}

function clauseOf(items: readonly Attention[]): readonly string[] {
  const [first] = items
  if (first === undefined) return []
  const count = items.reduce((sum, each) => sum + each.count, 0)
  const isOne = items.length === 1
  const queues = isOne ? `${first.subject}'s queue` : plural(items.length, 'queue')
  const [has, is] = isOne ? (['has', 'is'] as const) : (['have', 'are'] as const)
  switch (first.kind) {
    case 'unserved':
      return [`${queues} ${has} no worker to take tasks`]
    case 'rollout':
      return [`${plural(count, 'rollout needs', 'rollouts need')} attention`]
    case 'paused':
      return [`${queues} ${is} paused`]
    case 'error':
      return [`${plural(count, 'worker is', 'workers are')} in ERROR`]
    case 'offline':
      return [`${plural(count, 'worker is', 'workers are')} offline`]
    case 'behind':
      return [`${plural(count, 'worker is', 'workers are')} behind the saved config`]
    case 'old':
      return [`${queues} ${has} tasks waiting over 5 min`]
    case 'dead':
      return [`${plural(count, 'task is', 'tasks are')} dead`]
    case 'stream':
      return [`${isOne ? `${first.subject}'s stream` : `${items.length} streams`} ${is} nearly full`]
  }
}
