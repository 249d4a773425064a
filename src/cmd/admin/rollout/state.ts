/**
 * @module cmd/admin/rollout/state
 * Describes how the rollout of a set stands, from the status that the operator wrote: whether it is complete, has
 * failed or continues, as text for a person, and the command that a person would use next. Pure.
 */
import { brief, plain, tableText, type Column } from '../printer.ts'
import { isFailedPhase } from '../../../operator/index.ts'
import { failureOf, isObserved, isWaitingPhase, type GateResult, type SetObject } from './set-object.ts'

export interface RolloutState {
  readonly outcome: 'complete' | 'failed' | 'waiting'
  /** Reason and message of the condition Ready. */
  readonly reason: string
  readonly message: string
  /** What a person does next; `undefined`: nothing. */
  readonly next: string | undefined
}

/** Reasons of Ready without a rollout to wait for, although it is False: too many workers are offline. */
const AFTER_ROLLOUT: ReadonlySet<string> = new Set(['Unavailable'])

export function stateOf(set: SetObject): RolloutState {
  const { metadata, status = {} } = set
  if (metadata.deletionTimestamp !== undefined)
    return { outcome: 'failed', reason: 'Deleting', message: 'the set is being deleted', next: undefined }
  const ready = status.conditions?.find(({ type }) => type === 'Ready')
  if (!isObserved(set) || ready === undefined)
    return {
      outcome: 'waiting',
      reason: 'Pending',
      message: 'the operator has not seen the last edit yet',
      next: 'if this does not change, check that an operator runs and watches this namespace',
    }
  const { reason, message } = ready
  const isStalled = status.conditions?.some((each) => each.type === 'Stalled' && each.status === 'True') === true
  const isOver = ready.status === 'True' || AFTER_ROLLOUT.has(reason)
  const outcome = isStalled ? 'failed' : ended(isOver)
  return { outcome, reason, message: plain(message), next: nextOf(set, outcome, reason) }
}

const ended = (isOver: boolean): 'complete' | 'waiting' => (isOver ? 'complete' : 'waiting')

const commandOf =
  ({ metadata: { name, namespace } }: SetObject) =>
  (verb: string): string =>
    `muster rollout ${verb} -n ${namespace} ${name}`

function nextOf(set: SetObject, outcome: RolloutState['outcome'], reason: string): string | undefined {
  if (outcome === 'complete') return undefined
  const command = commandOf(set)
  const { rollout } = set.status ?? {}
  const isPaused = reason === 'Paused' || (set.spec.paused === true && rollout !== undefined)
  if (outcome === 'waiting' && isPaused) return command('resume')
  // The workers of an inconclusive rollout have not returned, so a person may still decide.
  if (isWaitingPhase(rollout?.phase)) return `${command('promote')}, or ${command('abort')}`
  if (outcome === 'failed') return nextAfterFailure(set)
  return rollout === undefined || isFailedPhase(rollout.phase) ? undefined : `wait, or ${command('abort')}`
}

function nextAfterFailure(set: SetObject): string {
  const { currentRevision, rollout } = set.status ?? {}
  const command = commandOf(set)
  if (rollout?.phase === 'Failed' && currentRevision !== undefined)
    return `${command('abort')} returns the workers; or correct the config, or repeat: ${command('retry')}`
  if (isFailedPhase(rollout?.phase) || failureOf(set)?.stage !== undefined)
    return `correct the config, or ${command('undo')}, or repeat: ${command('retry')}`
  return `correct the set, or ${command('undo')}`
}

const GATE_COLUMNS: readonly Column<GateResult>[] = [
  { head: 'GATE', cell: (gate) => gate.name },
  { head: 'UPDATED', cell: (gate) => gate.updated },
  { head: 'CURRENT', cell: (gate) => gate.current },
  { head: 'ALLOWED', cell: (gate) => gate.allowed },
  { head: 'RUNS', cell: (gate) => gate.runs },
  { head: 'VERDICT', cell: (gate) => gate.verdict },
]

type SetStatus = NonNullable<SetObject['status']>
type Row = readonly [label: string, text: string | undefined]

/** The whole state, as lines of text. */
export function stateText(set: SetObject): string {
  const { metadata, status = {} } = set
  const { reason, message, next } = stateOf(set)
  const { rollout, workers, worst = [] } = status
  const failure = failureOf(set)
  const { gates = [] } = rollout ?? {}
  return [
    `${metadata.namespace}/${metadata.name}: ${revisionsText(status)}  ${reason}\n`,
    rowText(['Stage', rollout === undefined ? undefined : stageText(rollout)]),
    rowText(['Workers', workers === undefined ? undefined : workersText(workers)]),
    gates.length === 0 ? '' : tableText(gates, GATE_COLUMNS).replaceAll(/^(?=.)/gm, '  '),
    ...worst.map((each) => rowText(['Problem', `${each.worker} ${each.reason}: ${brief(each.message)}`])),
    rowText(['Failed', failure === undefined ? undefined : failureText(failure)]),
    rowText(['Now', message]),
    rowText(['Next', next]),
  ].join('')
}

function revisionsText({ currentRevision: current, updateRevision: update }: SetStatus): string {
  if (update === undefined) return 'no revision yet'
  return current === undefined || current === update ? update : `${update} replaces ${current}`
}

const LABEL_WIDTH = 9

const rowText = ([label, text]: Row): string =>
  text === undefined ? '' : `  ${label.padEnd(LABEL_WIDTH)}${plain(text)}\n`

function stageText({ stage, stages, phase, since, limit, attempt = 1 }: NonNullable<SetStatus['rollout']>): string {
  return [
    `${stage} of ${stages}, ${phase}${since === undefined ? '' : ` since ${since}`}`,
    limit === undefined ? '' : `, at most ${limit} updated workers`,
    attempt === 1 ? '' : `, attempt ${attempt}`,
  ].join('')
}

function workersText(workers: NonNullable<SetStatus['workers']>): string {
  const { updated = 0, pending = 0, acknowledged = 0 } = workers
  const others = ['unavailable', 'absent', 'failed', 'pinned', 'conflicted'] as const
  return [
    `${updated}${pending === 0 ? '' : ` of ${updated + pending}`} updated, ${acknowledged} acknowledged`,
    ...others.flatMap((state) => ((workers[state] ?? 0) === 0 ? [] : [`${workers[state]} ${state}`])),
  ].join(', ')
}

const failureText = ({ revision, time, stage, gate, message }: NonNullable<SetStatus['failed']>[number]): string =>
  [
    revision,
    ...(stage === undefined ? [] : [`in stage ${stage}`]),
    ...(gate === undefined ? [] : [`by ${gate}`]),
    ...(time === undefined ? [] : [`at ${time}`]),
  ].join(' ') + (message === undefined ? '' : `: ${message}`)
