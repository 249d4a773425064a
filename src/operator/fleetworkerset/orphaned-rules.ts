/**
 * @module operator/fleetworkerset/orphaned-rules
 * Removes enrolment rules whose set no longer exists. A set that is deleted while this term knows it removes its rule
 * itself; this finds those that were deleted while no operator ran. It reads the rules of every type that the master
 * offers, when a term begins and every 10 minutes.
 */
import { sleep, type Log, type Timers } from '../../runtime/index.ts'
import { isOrphaned, type RuleWriter } from '../fleet/index.ts'

const PERIOD_MS = 10 * 60_000
const RETRY_MS = 2_000
const ACTOR = 'kubernetes:muster-operator'

export interface OrphanedRulesDeps {
  readonly timers: Timers
  readonly log: Log
  readonly rules: RuleWriter
  /** Every type that the master offers; `undefined` if it is unavailable. */
  readonly offered: (signal: AbortSignal) => Promise<readonly string[] | undefined>
  readonly isLiveClaim: (claim: string) => boolean
  readonly watches: (namespace: string) => boolean
}

/** Resolves when the signal aborts. */
export async function keepRulesClean(deps: OrphanedRulesDeps, signal: AbortSignal): Promise<void> {
  for (;;) {
    const isComplete = await removeOrphaned(deps, signal).catch((error: unknown) => {
      if (!signal.aborted) deps.log.error('reading the enrolment rules failed, retrying', { error })
      return false
    })
    if (!(await sleep(deps.timers, isComplete ? PERIOD_MS : RETRY_MS, signal))) return
  }
}

/** @returns whether every type was read. */
async function removeOrphaned(
  { isLiveClaim, log, offered, rules, watches }: OrphanedRulesDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const types = await offered(signal)
  for (const type of types ?? []) {
    const response = await rules.list(type, signal)
    if (response.kind === 'not_registered' || response.kind === 'unknown_type' || response.kind === 'forbidden')
      continue
    if (response.kind !== 'ok') return false
    for (const { enrolment, managed_by: claim } of response.value) {
      if (claim === null || !isOrphaned(claim, { isLive: isLiveClaim, watches })) continue
      const removed = await rules.remove(type, enrolment, ACTOR, signal)
      if (removed.kind === 'ok') log.info('deleted the enrolment rule of a set that no longer exists', { type, claim })
    }
  }
  return types !== undefined
}
