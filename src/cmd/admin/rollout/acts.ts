/**
 * @module cmd/admin/rollout/acts
 * `muster rollout pause|resume|promote|abort|retry`. Each reads the set first, and refuses with the reason if the act
 * would have no effect. An act names the revision and the stage or attempt that the status shows, so if the set changes
 * in between, the operator ignores it.
 */
import {
  ABORT_ANNOTATION,
  ALL_STAGES,
  isFailedPhase,
  PROMOTE_ANNOTATION,
  RETRY_ANNOTATION,
} from '../../../operator/index.ts'
import { EXIT, Failure, type ClusterInvocation } from '../verb.ts'
import { SettingsError } from '../../settings.ts'
import { ownersOf } from './owners.ts'
import { failureOf, isObserved, isWaitingPhase, shownName, type RolloutStatus, type SetObject } from './set-object.ts'

/** Annotations by which a person acts on a rollout. */
const ANNOTATIONS = { promote: PROMOTE_ANNOTATION, abort: ABORT_ANNOTATION, retry: RETRY_ANNOTATION } as const

export async function setPaused(call: ClusterInvocation, isPaused: boolean): Promise<number> {
  const { operands, printer, sets } = call
  const set = await sets.get(operands[0] ?? '')
  const name = shownName(set)
  if ((set.spec.paused === true) === isPaused) {
    printer.note(`rollouts of ${name} are ${isPaused ? 'paused' : 'not paused'} already`)
    return printed(call, set)
  }
  const owners = ownersOf(set, 'paused')
  const changed = await sets.apply(set.metadata.name, { paused: isPaused })
  for (const { manager, kind } of owners)
    printer.note(
      `warning: ${manager} also sets spec.paused, and ${kind === 'gitops' ? 'sets' : 'its next run sets'} it back to ` +
        `${!isPaused}; change it at the source as well`,
    )
  printer.note(`rollouts of ${name} are ${isPaused ? 'paused' : 'resumed'}`)
  return printed(call, changed)
}

interface PromoteOptions {
  readonly stage: number | undefined
  readonly all: boolean
}

export async function promote(call: ClusterInvocation & { readonly options: PromoteOptions }): Promise<number> {
  const { options, operands, sets } = call
  if (options.all && options.stage !== undefined)
    throw new SettingsError([{ name: '--all', problem: 'cannot be combined with --stage' }])
  const set = await sets.get(operands[0] ?? '')
  const { revision, rollout } = rolloutOf(set, 'promote')
  const { phase } = rollout
  if (isFailedPhase(phase) && !(options.all && phase === 'Failed'))
    throw nothingTo(set, 'promote', `the rollout has failed, its phase is ${phase}`, nextCommand(set, 'retry'))
  return act(
    call,
    set,
    'promote',
    `${revision}/${options.all ? ALL_STAGES : promotedStage(set, rollout, options.stage)}`,
  )
}

/** @throws {Failure} if the rollout does not wait after the stage, and will not. */
function promotedStage(
  set: SetObject,
  { phase, stage = 1, stages = 1 }: RolloutStatus,
  given: number | undefined,
): number {
  if (given !== undefined && given >= stage && given <= stages) return given
  if (given !== undefined)
    throw nothingTo(
      set,
      'promote',
      `stage ${given} ${given < stage ? 'has passed already' : `is not one of ${stages}`}`,
    )
  if (isWaitingPhase(phase)) return stage
  throw nothingTo(
    set,
    'promote',
    `stage ${stage} of ${stages} does not wait for a promotion, its phase is ${phase}`,
    `--stage ${stage} promotes it in advance, and --all skips the remaining stages`,
  )
}

export async function abort(call: ClusterInvocation): Promise<number> {
  const set = await call.sets.get(call.operands[0] ?? '')
  const { revision, rollout } = rolloutOf(set, 'abort')
  const { phase } = rollout
  if (isFailedPhase(phase) && phase !== 'Failed')
    throw nothingTo(set, 'abort', `the rollout has failed already, its phase is ${phase}`)
  if (phase === 'Failed' && set.status?.currentRevision === undefined)
    throw nothingTo(set, 'abort', 'no earlier revision is known to which the workers could return')
  return act(call, set, 'abort', `${revision}/${rollout.attempt ?? 1}`)
}

export async function retry(call: ClusterInvocation): Promise<number> {
  const set = await call.sets.get(call.operands[0] ?? '')
  expectObserved(set, 'retry')
  const { rollout, updateRevision } = set.status ?? {}
  const attempts = attemptsOf(set, rollout)
  return act(call, set, 'retry', `${rollout?.revision ?? updateRevision}/${attempts + 1}`)
}

/** How often the failed revision was rolled out. @throws {Failure} if it has not failed in a rollout. */
function attemptsOf(set: SetObject, rollout: RolloutStatus | undefined): number {
  const failure = failureOf(set)
  if (rollout !== undefined && !isFailedPhase(rollout.phase))
    throw nothingTo(set, 'retry', `its attempt ${rollout.attempt ?? 1} is under way, its phase is ${rollout.phase}`)
  if (rollout !== undefined || failure?.stage !== undefined)
    return Math.max(rollout?.attempt ?? 0, failure?.attempts ?? 0, 1)
  if (failure === undefined) throw nothingTo(set, 'retry', 'its revision has not failed')
  throw nothingTo(
    set,
    'retry',
    `the master refuses the config of revision ${failure.revision}: ${failure.message}`,
    'correct the config; the new revision is rolled out by itself',
  )
}

/** The rollout that is under way, or has failed. @throws {Failure} if there is none. */
function rolloutOf(
  set: SetObject,
  verb: 'promote' | 'abort',
): { readonly revision: string; readonly rollout: RolloutStatus } {
  expectObserved(set, verb)
  const { rollout, updateRevision = '' } = set.status ?? {}
  if (rollout === undefined) throw nothingTo(set, verb, 'no rollout with stages is under way')
  return { revision: rollout.revision ?? updateRevision, rollout }
}

function expectObserved(set: SetObject, verb: string): void {
  if (isObserved(set)) return
  throw new Failure(
    EXIT.CONFLICT,
    `cannot ${verb} the rollout of ${shownName(set)}`,
    'the operator has not seen the last edit of the set yet, so its status is about another revision',
    `look again: ${nextCommand(set, 'status')}`,
  )
}

const nothingTo = (set: SetObject, verb: string, why: string, next?: string): Failure =>
  new Failure(
    EXIT.FAILED,
    `there is nothing to ${verb} in ${shownName(set)}`,
    why,
    next ?? `see its state: ${nextCommand(set, 'status')}`,
  )

const nextCommand = ({ metadata: { name, namespace } }: SetObject, verb: string): string =>
  `muster rollout ${verb} -n ${namespace} ${name}`

async function act(
  call: ClusterInvocation,
  set: SetObject,
  verb: keyof typeof ANNOTATIONS,
  value: string,
): Promise<number> {
  const changed = await call.sets.annotate(set.metadata.name, ANNOTATIONS[verb], value)
  call.printer.note(`${shownName(set)} has the annotation ${ANNOTATIONS[verb]}: ${value}; the operator acts on it`)
  return printed(call, changed)
}

async function printed({ printer }: ClusterInvocation, set: SetObject): Promise<number> {
  if (!printer.isTable) await printer.value(set, () => '', [set.metadata.name])
  return EXIT.OK
}
