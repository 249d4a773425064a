/**
 * @module operator/fleetworkerset/enrolment
 * Keeps the enrolment rule of a set at the master, by which a new worker gets the config of the set when it registers,
 * also while no operator runs. The rule moves to a new revision when every worker of the set has it, so that a worker
 * that joins during a rollout does not get a config that is still being tried.
 */
import type { EnrolmentBody } from '../../protocol/index.ts'
import type { RuleWriter } from '../fleet/index.ts'
import { storeRevision } from './bulk.ts'
import type { SetConfig } from './config.ts'
import { refusedSet, type SetContext, type SetResult } from './context.ts'
import { setEventTarget } from './resource.ts'
import { variantsOf } from './revision.ts'
import type { FleetWorkerSet } from './schema.ts'

/** Text in the memory of a set for: the master has no rule of it. */
const NO_RULE = ''

/**
 * Stores the rule if this term has not done so yet.
 * @param revision The revision for new workers: that of the config, or the current one while a rollout runs.
 * @returns why that is not possible.
 */
export async function putRule(
  context: SetContext,
  config: SetConfig,
  revision: string,
): Promise<SetResult | undefined> {
  const { deps, set, state, signal, claim } = context
  const rule = ruleOf(set, revision, claim)
  const text = JSON.stringify(rule)
  if (state.rule === text) return undefined
  const put = (): ReturnType<RuleWriter['put']> => deps.rules.put(set.spec.type, state.ruleName, rule, claim, signal)
  let response = await put()
  if (response.kind === 'not_registered' && revision === config.revision) {
    const stopped = await storeRevision(context, config, '')
    if (stopped !== undefined) return stopped
    response = await put() // Refused again: by a master without rules. Its new workers wait for the operator.
  }
  if (response.kind === 'rejected') {
    const message = `new workers wait for the operator: the master refuses the enrolment rule: ${response.message}`
    deps.events.record(setEventTarget(set), 'Warning', 'EnrolmentRefused', message)
  } else if (response.kind !== 'ok' && response.kind !== 'not_registered') return refusedSet(response, context)
  state.rule = text
  return undefined
}

/** Removes the rule, unless this term knows that there is none. A failure is repeated at the next look. */
export async function removeRule({
  deps: { leadership, rules },
  signal,
  state,
}: Pick<SetContext, 'deps' | 'signal' | 'state'>): Promise<void> {
  if (state.rule === NO_RULE || !leadership.mayWrite()) return
  const response = await rules.remove(state.type, state.ruleName, state.claim, signal)
  if (response.kind === 'ok' || response.kind === 'not_registered' || response.kind === 'unknown_type')
    state.rule = NO_RULE
}

function ruleOf(set: FleetWorkerSet, revision: string, claim: string): EnrolmentBody {
  const { idPatterns = [], matchLabels = {} } = set.spec.selector
  // No worker has the empty id, so an override never applies.
  const { patch, variant } = variantsOf(set)('')
  return {
    ...(idPatterns.length > 0 && { id_patterns: [...idPatterns] }),
    ...(Object.keys(matchLabels).length > 0 && { match_labels: { ...matchLabels } }),
    revision,
    ...(Object.keys(patch).length > 0 && { patch }),
    variant,
    managed_by: claim,
  }
}
