/**
 * @module dashboard/rollouts/texts
 * Formats the report of a rollout for its card (D148). The report is as old as the operator's last message; the numbers
 * of workers by revision come from the master and are current.
 */
import type { RevisionsBody, RolloutShown } from '../../protocol/index.ts'
import { countText, plural } from '../components/numbers.ts'
import { standingOf, type Standing } from '../../diagnosis/index.ts'

type Gate = RolloutShown['gates'][number]
type Failure = RolloutShown['failed'][number]
type Count = keyof RolloutShown['counts']

const URGENCY: readonly Standing['tone'][] = ['bad', 'warn', 'calm', 'good']

/** Sorts the reports: those that need a person first, then the newest. */
export const byUrgency = (reports: readonly RolloutShown[]): readonly RolloutShown[] =>
  reports.toSorted(
    (a, b) => URGENCY.indexOf(standingOf(a).tone) - URGENCY.indexOf(standingOf(b).tone) || b.since - a.since,
  )

/** An operator sends a report of a rollout under way at least this often. */
const REPORTED_WITHIN_SECONDS = 60
const ENDED: ReadonlySet<string> = new Set(['Failed', 'RolledBack', 'Complete'])

export const hasEnded = ({ phase }: RolloutShown): boolean => ENDED.has(phase)

/** The age of a report that should be newer, in seconds; `undefined` if it is new enough. */
export function staleSeconds(report: RolloutShown, nowSeconds: number): number | undefined {
  const age = nowSeconds - report.reported_at
  return hasEnded(report) || age <= REPORTED_WITHIN_SECONDS ? undefined : age
}

const HASH = /^[0-9a-f]{12,}$/

/** The first eight digits of a hash; any other name as it is. */
export const shortRevision = (revision: string): string => (HASH.test(revision) ? revision.slice(0, 8) : revision)

/** How many workers use a revision, by the master; `undefined` until that is loaded. */
export const usersOf = (stored: RevisionsBody['revisions'] | undefined, revision: string): number | undefined =>
  stored === undefined ? undefined : (stored.find((each) => each.revision === revision)?.workers ?? 0)

/** Number of workers that the set configures. */
export const membersOf = ({ counts: { matched, pinned, conflicted } }: RolloutShown): number =>
  Math.max(matched - pinned - conflicted, 0)

/** Why the revision failed, in its last attempt. */
export const failureOf = ({ failed, update_revision: revision }: RolloutShown): Failure | undefined =>
  failed.findLast((each) => each.revision === revision)

const COUNTS: readonly (readonly [Count, string])[] = [
  ['acknowledged', 'acknowledged'],
  ['unavailable', 'unavailable'],
  ['absent', 'absent'],
  ['failed', 'refused'],
  ['pinned', 'with a FleetWorker'],
  ['conflicted', 'of another set'],
  ['cordoned', 'cordoned'],
]

/** `233 acknowledged, 1 unavailable`. Only `acknowledged` is also shown if it is 0. */
export const countsText = ({ counts }: RolloutShown): string =>
  COUNTS.filter(([name]) => name === 'acknowledged' || counts[name] > 0)
    .map(([name, word]) => `${countText(counts[name])} ${word}`)
    .join(', ')

const GATES: Readonly<Record<string, string>> = {
  errors: 'failed workers',
  failureRate: 'failure rate',
  runSeconds: 'duration of a run',
}

export const gateName = (name: string): string => GATES[name] ?? name.replace(/^counter\./, 'counter ')

/** `31.0 % (412 runs)`; `–` without a value. */
export function gateValue(value: string | null, runs: number | null): string {
  if (value === null) return '–'
  return runs === null ? value : `${value} (${plural(runs, 'run')})`
}

type Verdict = Pick<Standing, 'tone' | 'mark' | 'word'>

const VERDICTS: Readonly<Record<Gate['verdict'], Verdict>> = {
  Passed: { tone: 'good', mark: '✓', word: 'passed' },
  Failed: { tone: 'bad', mark: '✗', word: 'failed' },
  Inconclusive: { tone: 'warn', mark: '▲', word: 'too few runs' },
  NoTraffic: { tone: 'calm', mark: '○', word: 'no runs' },
  NotApplicable: { tone: 'calm', mark: '○', word: 'not compared' },
}

export const verdictOf = ({ verdict }: Gate): Verdict => VERDICTS[verdict]

const REASONS: Readonly<Record<string, string>> = {
  WorkerError: 'in ERROR',
  ConfigRefused: 'refused the config',
  AckTimeout: 'has not acknowledged the config',
  Offline: 'offline',
  Rejected: 'the master refused its config',
}

export const reasonText = (reason: string): string => REASONS[reason] ?? reason

const CAUSES = {
  edit: 'by an edit of the set',
  source: 'by a changed Secret or ConfigMap',
  retry: 'by a retry',
} as const

/** Why the rollout began, after the time; empty if it is not known. */
export const causeText = ({ cause }: RolloutShown): string => (cause === null ? '' : ` ${CAUSES[cause]}`)
