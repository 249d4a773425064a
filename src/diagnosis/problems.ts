/**
 * @module diagnosis/problems
 * Finds what needs attention. Problems of one kind and type are one item, so 1,000 workers behind a broken network
 * switch show up as one line, and the line stays the same one while workers join or leave it. The dashboard lists the
 * problems, and the master makes alerts of them.
 */
import type { OverviewBody } from '../protocol/index.ts'
import type { ErrorPatience } from './error-patience.ts'
import { standingOf } from './rollout-standing.ts'
import { countText, plural } from './texts.ts'
import { isDraining, isEnabled, type WorkerFacts } from './worker-facts.ts'

export type ProblemKind =
  'paused' | 'unserved' | 'rollout' | 'offline' | 'error' | 'failing' | 'behind' | 'old' | 'dead' | 'stream'

export interface Problem {
  readonly kind: ProblemKind
  /** Names the item among those of its type (D171): the kind, or `rollout.NAME`. */
  readonly item: string
  readonly type: string
  readonly tone: 'bad' | 'warn' | 'offline'
  /** `mailer`, or `mailer/m-7`; of a rollout its set, `prod/crawlers`. */
  readonly subject: string
  readonly text: string
  /** How much happens now: `2,076 died in the last minute`; null if it is not known, or nothing. */
  readonly rate: string | null
  /** Unix seconds; null if unknown. */
  readonly since: number | null
  readonly count: number
  /** What distinguishes the problem from a later one of this kind: its error, without numbers. */
  readonly mark: string | null
  /** The affected workers. Empty for a queue or stream, or while no worker record is loaded. */
  readonly affected: readonly WorkerFacts[]
}

export interface FleetFacts {
  readonly overview: OverviewBody
  /** Records of all workers that the token covers. null while they are loading; then the overview's counts are used. */
  readonly workers: readonly WorkerFacts[] | null
  /** Which workers are listed as in ERROR; if left out, those that are now. */
  readonly patience?: Pick<ErrorPatience, 'listedSince'>
  readonly nowSeconds: number
}

const PATIENCE_SECONDS = 60
const OLD_AFTER_SECONDS = 300
/** A stream keeps 50,000 entries and then drops the oldest. */
const STREAM_NEARLY_FULL = 45_000
/** The order of kinds. Tasks that die now rank as `error` (rates.ts). */
export const PROBLEM_RANK: readonly ProblemKind[] = [
  'unserved',
  'rollout',
  'error',
  'failing',
  'offline',
  'behind',
  'paused',
  'old',
  'dead',
  'stream',
]

type TypeOverview = OverviewBody['automations'][string]
interface TypeFacts extends Pick<FleetFacts, 'patience' | 'nowSeconds'> {
  readonly type: string
  readonly of: TypeOverview
  readonly workers: readonly WorkerFacts[] | null
}

/** Returns what needs attention, sorted by severity and then by age. */
export function findProblems({ overview, workers, patience, nowSeconds }: FleetFacts): readonly Problem[] {
  const found = Object.entries(overview.automations).flatMap(([type, of]) => {
    const ofType = workers?.filter((worker) => worker.automation_type === type) ?? null
    const facts: TypeFacts = { type, of, nowSeconds, workers: ofType, ...(patience !== undefined && { patience }) }
    return [...rolloutsOf(facts), ...workersOf(facts), ...queueOf(facts), ...deadOf(facts), ...streamOf(facts)]
  })
  return found.toSorted(
    (a, b) =>
      PROBLEM_RANK.indexOf(a.kind) - PROBLEM_RANK.indexOf(b.kind) || (a.since ?? Infinity) - (b.since ?? Infinity),
  )
}

/** Rollouts that have failed or that wait for a person. */
function rolloutsOf({ type, of: { rollouts = [] } }: TypeFacts): readonly Problem[] {
  return rollouts.flatMap((rollout): readonly Problem[] => {
    const { name, set, since, stage, stages } = rollout
    const { tone, clause } = standingOf(rollout)
    if (tone !== 'bad' && tone !== 'warn') return []
    const text = `rollout ${clause} in stage ${stage} of ${stages}`
    const item = `rollout.${name}`
    return [
      { kind: 'rollout', item, type, tone, subject: set, text, mark: text, rate: null, since, count: 1, affected: [] },
    ]
  })
}

interface WorkerProblem {
  readonly kind: 'error' | 'offline' | 'behind'
  readonly tone: Problem['tone']
  /** For example `offline`; follows "is" or "are". */
  readonly word: string
  /** @returns since when the worker has the problem, in unix seconds; null if it does not have it. */
  readonly since: (worker: WorkerFacts, facts: TypeFacts) => number | null
  /** Number of affected workers according to the overview. */
  readonly counted: (workers: TypeOverview['workers']) => number
  /** Why several workers have it, and the part of them of which it is known; null if it is not known. */
  readonly reason: (workers: readonly WorkerFacts[]) => readonly [reason: string, workers: number] | null
}

/** A worker that was drained, or whose process ended in an orderly way, is offline on purpose. */
const isOfflineOnPurpose = (worker: WorkerFacts): boolean => worker.ended === true || isDraining(worker)
/** Whether the worker refuses its saved config. */
export const refusesConfig = ({ refused_config_gen: refused, config_gen: saved }: WorkerFacts): boolean =>
  refused === saved

const WORKER_PROBLEMS: readonly WorkerProblem[] = [
  {
    kind: 'error',
    tone: 'bad',
    word: 'in ERROR',
    counted: ({ ERROR, connected_in_error: connected }) => connected ?? ERROR,
    since: (worker, { patience }) => {
      if (patience !== undefined) return patience.listedSince(worker)
      return worker.connected && worker.state === 'ERROR' ? worker.state_since : null
    },
    reason: errorOf,
  },
  {
    kind: 'offline',
    tone: 'offline',
    word: 'offline',
    counted: ({ total, connected }) => total - connected,
    since: (worker, { nowSeconds }) =>
      !worker.connected && !isOfflineOnPurpose(worker) && nowSeconds - worker.state_since > PATIENCE_SECONDS
        ? worker.state_since
        : null,
    reason: () => null,
  },
  {
    kind: 'behind',
    tone: 'warn',
    word: 'behind the saved config',
    counted: ({ behind }) => behind,
    since: ({ connected, applied_config_gen: applied, config_gen: saved, config_changed_at: at }, { nowSeconds }) =>
      connected && applied !== null && applied < saved && nowSeconds - (at ?? 0) > PATIENCE_SECONDS ? (at ?? 0) : null,
    reason: (workers) => {
      const refusing = workers.filter(refusesConfig)
      return refusing.length === 0 ? null : ['they refuse it', refusing.length]
    },
  },
]

/** The most frequent error. */
function errorOf(workers: readonly WorkerFacts[]): readonly [string, number] | null {
  const counts = new Map<string, number>()
  for (const { last_error: error } of workers) if (error !== null) counts.set(error, (counts.get(error) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)[0] ?? null
}

function workersOf(facts: TypeFacts): readonly Problem[] {
  const { type, of, workers } = facts
  return WORKER_PROBLEMS.flatMap((problem): readonly Problem[] => {
    const { kind, tone, word } = problem
    const affected: WorkerFacts[] = []
    let since: number | null = null
    for (const worker of workers ?? []) {
      const at = problem.since(worker, facts)
      if (at === null) continue
      affected.push(worker)
      since = Math.min(since ?? at, at)
    }
    const count = workers === null ? problem.counted(of.workers) : affected.length
    if (count === 0) return []
    const shared = { kind, item: kind, type, tone, count, since, affected, rate: null }
    const reason = problem.reason(affected)
    const mark = reason === null ? null : markOf(reason[0])
    const [only] = affected
    if (count === 1 && only !== undefined)
      return [{ ...shared, subject: `${type}/${only.worker_id}`, text: oneText(problem, only), mark }]
    const text = groupText(`${plural(count, 'worker is', 'workers are')} ${word}`, count, reason)
    return [{ ...shared, subject: type, text, mark }]
  })
}

function groupText(text: string, count: number, reason: readonly [string, number] | null): string {
  if (reason === null) return text
  const [why, workers] = reason
  return workers === count ? `${text}: ${why}` : `${text}, ${countText(workers)} of them: ${why}`
}

function oneText(
  { kind, word }: WorkerProblem,
  { last_error: error, config_gen: saved, applied_config_gen: applied, ...worker }: WorkerFacts,
): string {
  if (kind === 'behind') {
    const refused = worker.refused_config_gen === saved ? ', which it refuses' : ''
    return `config generation ${saved} saved${refused}, ${applied} applied`
  }
  return error === null ? word : `${word}: ${error}`
}

const MAX_MARK_CHARS = 512

/** Errors of one cause often differ in their numbers. */
const markOf = (text: string): string => text.replaceAll(/\d+/g, '#').slice(0, MAX_MARK_CHARS).toWellFormed()

function queueOf(facts: TypeFacts): readonly Problem[] {
  const {
    type,
    of: { queue },
    nowSeconds,
  } = facts
  if (queue === null) return []
  const waiting = queue.high + queue.normal + queue.low
  const oldest = queue.oldest_submitted_at
  const of = { type, subject: type, affected: [], rate: null, mark: null, count: waiting }
  const found: Problem[] = []
  if (queue.paused !== undefined) {
    const { actor, note, since } = queue.paused
    const why = note === null ? '' : ` (${note})`
    found.push({
      ...of,
      kind: 'paused',
      item: 'paused',
      tone: 'warn',
      since,
      mark: markOf(`${actor} ${note ?? ''}`),
      text: `paused by ${actor}${why}, ${plural(waiting, 'task is', 'tasks are')} waiting`,
    })
  } else if (waiting > 0 && !canTakeTasks(facts))
    found.push({
      ...of,
      kind: 'unserved',
      item: 'unserved',
      tone: 'bad',
      since: oldest,
      text:
        `${plural(waiting, 'task is', 'tasks are')} waiting, ` +
        `but no worker can take ${waiting === 1 ? 'it' : 'them'}`,
    })
  else if (waiting > 0 && oldest !== null && nowSeconds - oldest > OLD_AFTER_SECONDS)
    found.push({
      ...of,
      kind: 'old',
      item: 'old',
      tone: 'warn',
      since: oldest,
      text: `${plural(waiting, 'task is', 'tasks are')} waiting, the oldest over 5 min`,
    })
  return found
}

/** How many die now is added by rates.ts. */
function deadOf({ type, of: { queue } }: TypeFacts): readonly Problem[] {
  if (queue === null || queue.dead === 0) return []
  return [
    {
      kind: 'dead',
      item: 'dead',
      type,
      tone: 'warn',
      subject: type,
      affected: [],
      count: queue.dead,
      since: null,
      rate: null,
      mark: null,
      text: plural(queue.dead, 'dead task'),
    },
  ]
}

/** Whether any worker can take a task. Without worker records: whether any worker is connected. */
function canTakeTasks({ workers, of }: TypeFacts): boolean {
  return workers === null ? of.workers.connected > 0 : workers.some((worker) => worker.connected && isEnabled(worker))
}

function streamOf({ type, of: { stream } }: TypeFacts): readonly Problem[] {
  if (stream.length < STREAM_NEARLY_FULL) return []
  return [
    {
      kind: 'stream',
      item: 'stream',
      type,
      tone: 'warn',
      subject: type,
      affected: [],
      count: stream.length,
      since: null,
      rate: null,
      mark: null,
      text:
        `the output stream has ${countText(stream.length)} of 50,000 entries; ` +
        'when it is full, the oldest are dropped',
    },
  ]
}
