/**
 * @module operator/fleetworkerset/report-next
 * Says what a person can do next about a rollout, as one sentence, and as a command of `muster rollout`. Part of
 * report.ts.
 */
import type { RolloutBody } from '../../protocol/index.ts'
import type { RolloutFacts } from './conditions.ts'
import { isFailedPhase, type Phase, type RolloutStatus } from './rollout-schema.ts'

type Next = RolloutBody['next']
type SetName = Pick<RolloutBody['set'], 'namespace' | 'name'>

interface NextFacts {
  readonly rollout: RolloutStatus
  readonly facts: Pick<RolloutFacts, 'isHeld' | 'isPaused'>
  readonly current: string | undefined
}

interface Advice {
  readonly text: string
  readonly verb?: 'resume' | 'promote' | 'abort' | 'retry'
}

export function nextOf(
  { namespace, name }: SetName,
  rollout: RolloutStatus,
  { facts, current }: Omit<NextFacts, 'rollout'>,
): Next {
  const { text, verb } = adviceOf({ rollout, facts, current })
  return { text, command: verb === undefined ? null : `muster rollout ${verb} -n ${namespace} ${name}` }
}

function adviceOf(given: NextFacts): Advice {
  const { facts, rollout } = given
  if (facts.isPaused && !isFailedPhase(rollout.phase))
    return { text: 'The set is paused. Resume it to continue the rollout.', verb: 'resume' }
  return ADVICE[rollout.phase](given)
}

const inProgress =
  (what: string) =>
  ({ current, facts }: NextFacts): Advice => {
    const abort = current === undefined ? 'To stop it, abort it.' : `To return the workers to ${current}, abort it.`
    const text = facts.isHeld ? 'Look at the workers that are unavailable; the rollout waits for them.' : what
    return { text: `${text} ${abort}`, verb: 'abort' }
  }

const ADVICE: Readonly<Record<Phase, (facts: NextFacts) => Advice>> = {
  Writing: inProgress('Nothing to do: the rollout continues by itself.'),
  Acknowledging: inProgress('Nothing to do: the workers of the stage apply the config.'),
  Baking: inProgress('Nothing to do: the stage is judged when its workers have run long enough.'),
  WaitingForApproval: ({ rollout }) => ({
    text: `Check the updated workers, then promote stage ${rollout.stage}, or abort the rollout.`,
    verb: 'promote',
  }),
  Inconclusive: ({ rollout }) => ({
    text: `Wait for more runs, promote stage ${rollout.stage} without a judgement, or abort the rollout.`,
    verb: 'promote',
  }),
  Failed: ({ current }) =>
    current === undefined
      ? { text: 'There is no earlier config to return to. Correct the config, or retry.', verb: 'retry' }
      : { text: `Abort to return the workers to ${current}; or correct the config, or retry.`, verb: 'abort' },
  RollingBack: ({ current }) => ({
    text: `Wait until the workers run ${current ?? 'their earlier config'} again. Then correct the config, or retry.`,
    verb: 'retry',
  }),
  RolledBack: ({ current }) => ({
    text: `Nothing to do now: the workers run ${current ?? 'their earlier config'}. Correct the config, or retry.`,
    verb: 'retry',
  }),
}

export const NOTHING_TO_DO: Next = { text: 'Nothing to do.', command: null }
