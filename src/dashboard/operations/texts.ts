/** @module dashboard/operations/texts  Formats operations: what they do, how far they are, and why they ended. */
import type {
  OperationCounts,
  OperationPreview,
  OperationResult,
  OperationShown,
  ReplayResult,
} from '../../protocol/index.ts'
import { cutText } from '../components/json-text.ts'
import { countText, plural } from '../components/numbers.ts'

type Tone = 'good' | 'bad' | 'warn' | 'calm'

const RUNNING_EVERY_MS = 2_000
/** A cancelled operation begins no more workers, but those that have the change still confirm it. */
const CONFIRMING_EVERY_MS = 5_000
/** An ended operation changes only when it is undone, which opens another page. */
const NEVER_MS = Infinity
/** Other users create operations. */
const LIST_EVERY_MS = 15_000
const VALUES_CHARS = 200

export const isRunning = ({ state }: Pick<OperationShown, 'state'>): boolean => state === 'running'

/** How often one operation is read. */
export function pollMs(operation: OperationShown | undefined): number {
  if (operation === undefined || isRunning(operation)) return RUNNING_EVERY_MS
  return operation.counts.active > 0 ? CONFIRMING_EVERY_MS : NEVER_MS
}

/** How often the list is read. */
export const listPollMs = (operations: readonly OperationShown[] | undefined): number =>
  operations?.some(isRunning) === true ? RUNNING_EVERY_MS : LIST_EVERY_MS

const STATES: Readonly<Record<OperationShown['state'], { tone: Tone; mark: string; word: string }>> = {
  running: { tone: 'calm', mark: '◐', word: 'running' },
  done: { tone: 'good', mark: '✓', word: 'done' },
  stopped: { tone: 'bad', mark: '✗', word: 'stopped' },
  cancelled: { tone: 'warn', mark: '■', word: 'cancelled' },
}

export const stateOf = ({ state }: OperationShown): (typeof STATES)[OperationShown['state']] => STATES[state]

/** `Config`, `Drain`, `Replay` or `Undo`. */
export function kindText({ kind, undo_of: undoOf }: Pick<OperationShown, 'kind' | 'undo_of'>): string {
  if (undoOf !== null) return 'Undo'
  return { patch: 'Config', drain: 'Drain', replay: 'Replay' }[kind]
}

/** What it does, for one line of the list. */
export function whatText(operation: OperationShown): string {
  const { kind, patch, fields, total, undo_of: undoOf } = operation
  if (kind === 'replay') return `replays ${plural(total, 'dead task')}`
  if (kind === 'drain') return `drains ${plural(total, 'worker')}`
  const workers = plural(total, 'worker')
  if (undoOf !== null) return `restores ${fields.join(', ')} on ${workers} to the values before operation ${undoOf}`
  return `sets ${valuesText(patch)} on ${workers}`
}

/** The fields of a patch or of a config: `slots: 4, enabled: true`. */
export function valuesText(values: Readonly<Record<string, unknown>> | null): string {
  const parts = Object.entries(values ?? {}).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  return cutText(parts.length === 0 ? 'nothing' : parts.join(', '), VALUES_CHARS)
}

interface Outcome {
  readonly result: OperationResult
  readonly tone: Tone
  readonly mark: string
  readonly text: string
}

/** In the order of the page: what waits, what succeeded, what did not. */
const OUTCOMES: readonly Outcome[] = [
  { result: 'pending', tone: 'calm', mark: '…', text: 'pending' },
  { result: 'active', tone: 'calm', mark: '◐', text: 'changed, not confirmed yet' },
  { result: 'done', tone: 'good', mark: '✓', text: 'done' },
  { result: 'offline', tone: 'good', mark: '✓', text: 'changed while offline' },
  { result: 'unchanged', tone: 'calm', mark: '–', text: 'already set' },
  { result: 'failed', tone: 'bad', mark: '✗', text: 'failed' },
  { result: 'refused', tone: 'bad', mark: '✗', text: 'refused: the config would be invalid' },
  { result: 'conflict', tone: 'warn', mark: '▲', text: 'skipped: its config changed meanwhile' },
  { result: 'unknown', tone: 'warn', mark: '▲', text: 'skipped: not registered' },
]
/** What differs by kind, or once the operation has ended. */
function outcomeText({ result, text }: Outcome, operation: OperationShown): string {
  const { kind } = operation
  if (result === 'pending' && !isRunning(operation)) {
    if (kind !== 'replay') return 'not changed'
    return operation.state === 'done' ? 'skipped: no longer dead' : 'not replayed'
  }
  if (kind === 'replay') return result === 'done' ? 'replayed' : text
  if (kind === 'patch') return text
  if (result === 'active') return 'draining'
  if (result === 'done') return 'drained'
  return result === 'unchanged' ? 'skipped: not connected' : text
}

export interface CountedOutcome extends Outcome {
  readonly count: number
}

/** The outcomes that occur. */
export const outcomesOf = (operation: OperationShown): readonly CountedOutcome[] =>
  OUTCOMES.filter(({ result }) => operation.counts[result] > 0).map((outcome) => ({
    ...outcome,
    text: outcomeText(outcome, operation),
    count: operation.counts[outcome.result],
  }))

/** How many have an outcome. */
export const settledOf = ({ total, counts: { pending, active } }: OperationShown): number => total - pending - active

/** `20 a second, 20 at a time`. */
export function paceText({ kind, per_second: perSecond, parallel }: OperationShown): string {
  const rate = `${perSecond} a second`
  return kind === 'replay' ? rate : `${rate}, ${parallel} at a time`
}

/** When it stops by itself; null if it does not. */
export function stopText({ stop_after: after, stop_share: share }: OperationShown): string | null {
  const rules = [
    ...(after === null ? [] : [`after ${plural(after, 'failure')}`]),
    ...(share === null ? [] : [`when ${Math.round(share * 1_000) / 10} % have failed, of at least 10`]),
  ]
  return rules.length === 0 ? null : rules.join(', or ')
}

/** Why it ended early, and what that means for the rest; null if it did not. */
export function endText(operation: OperationShown): string | null {
  const { state, reason, counts, kind } = operation
  if (state !== 'stopped' && state !== 'cancelled') return null
  const left = counts.pending
  const noun = kind === 'replay' ? 'dead task' : 'worker'
  const done = kind === 'replay' ? 'replayed' : 'changed'
  const rest = left === 0 ? '' : ` ${plural(left, `${noun} was`, `${noun}s were`)} not ${done}.`
  const why = reason ?? (state === 'stopped' ? 'by its own rule' : 'by a user')
  const headline = why.startsWith(state) ? capital(why) : `${capital(state)}: ${why}`
  return `${headline.replace(/[.]?$/, '.')}${rest}`
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Number of workers whose config it has written. */
export const writtenBy = ({ done, offline, failed, active }: OperationCounts): number =>
  done + offline + failed + active

/** What a cancel means for those that are under way. */
export function cancelText({ kind, counts: { pending, active } }: OperationShown): string {
  if (kind === 'replay')
    return `${plural(pending, 'dead task')} will not be replayed. Replayed tasks stay in the queue.`
  const rest = `${plural(pending, 'worker')} will not be ${kind === 'drain' ? 'drained' : 'changed'}.`
  if (active === 0) return rest
  if (kind === 'drain')
    return `${rest} ${plural(active, 'worker drains', 'workers drain')} already; a drain cannot be cancelled.`
  return `${rest} ${plural(active, 'worker keeps', 'workers keep')} the change that was made already.`
}

/** What an operation would do, in sentences without the first one, which has the number. */
export function previewLines(preview: OperationPreview): readonly string[] {
  const { kind, unchanged, refused, unknown, offline, refused_because: reasons } = preview
  const lines: string[] = []
  const add = (count: number, one: string, many: string, rest: string): void => {
    if (count > 0) lines.push(`${plural(count, one, many)} ${rest}`)
  }
  if (kind === 'drain') add(unchanged, 'worker is', 'workers are', 'not connected and skipped.')
  else add(unchanged, 'worker has', 'workers have', 'these values already.')
  add(offline, 'of them is', 'of them are', 'offline: the config is applied when the worker connects.')
  if (refused > 0) {
    const why = reasons.map(({ detail, workers }) => `${reasonText(detail)} (${countText(workers)})`).join('; ')
    lines.push(`${plural(refused, 'worker')} refused, because the config would be invalid: ${why}.`)
  }
  add(unknown, 'worker has', 'workers have', 'no record any more.')
  return lines
}

function reasonText(detail: OperationPreview['refused_because'][number]['detail']): string {
  if (typeof detail === 'string') return detail
  const [first, ...more] = detail
  if (first === undefined) return 'invalid'
  const text = `${first.path} ${first.message}`.trim()
  return more.length === 0 ? text : `${text} (and ${more.length} more)`
}

/** `generation 4 (290 workers), generation 7 (9 workers)`. */
export const generationsText = ({ generations }: OperationPreview): string =>
  generations.map(({ config_gen: gen, workers }) => `generation ${gen} (${plural(workers, 'worker')})`).join(', ')

/** `1,453 replayed: 1,390 done, 63 dead again`. The rest waits or runs, or was cancelled or removed, or has expired. */
export function replayText({ replayed, done, died }: Pick<ReplayResult, 'replayed' | 'done' | 'died'>): string {
  const left = Math.max(0, replayed - done - died)
  const parts = [
    `${countText(done)} done`,
    ...(died > 0 ? [`${countText(died)} dead again`] : []),
    ...(left > 0 ? [`${countText(left)} not finished`] : []),
  ]
  return `${countText(replayed)} replayed: ${parts.join(', ')}`
}
