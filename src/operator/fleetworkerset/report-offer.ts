/**
 * @module operator/fleetworkerset/report-offer
 * Decides what the report of a set at the master should be, from what the last reconcile has found and the report that
 * the master has. Pure.
 *
 *   rollout    the report of it; also of one that has failed, as long as the spec has the revision that failed
 *   none       the reported revision is the current one ─▶ Complete, and stays     another one: reverted ─▶ removed
 *   deleted    removed
 * @see D148
 */
import type { RolloutBody } from '../../protocol/index.ts'
import type { SetContext, SetResult } from './context.ts'
import { carriedOver, reportOf, withinBounds } from './report.ts'
import { NOTHING_TO_DO } from './report-next.ts'

/** What a reconcile has found. */
export type ReportOffer =
  | { readonly kind: 'rollout'; readonly report: RolloutBody }
  | {
      readonly kind: 'none'
      /** The revision of the last complete rollout. */
      readonly current: string | undefined
      readonly counts: RolloutBody['counts']
      /** Unix seconds, by the master's clock. */
      readonly now: number
    }
  | { readonly kind: 'deleted' }

/** @returns what is to be reported; `undefined` if the reconcile has learnt nothing. */
export function offerOf(context: SetContext, result: SetResult): ReportOffer | undefined {
  const { rollout: facts, stored } = result
  if (facts === undefined || stored === undefined) return undefined
  const report = reportOf(context, result)
  if (report !== undefined) return { kind: 'rollout', report }
  const now = context.deps.table.masterNowMs() / 1_000
  return { kind: 'none', current: stored.current, counts: { ...facts.counts }, now }
}

/** Whether a rollout in this phase has ended. */
export const isOver = (phase: RolloutBody['phase']): boolean =>
  phase === 'Complete' || phase === 'RolledBack' || phase === 'Failed'

/** @returns the report that the master should have; `keep`: the one that it has, if any. */
export function reportAfter(offer: ReportOffer, known: RolloutBody | undefined): RolloutBody | 'keep' | 'remove' {
  if (offer.kind === 'rollout') return withinBounds(carriedOver(offer.report, known))
  if (known === undefined) return 'keep'
  if (offer.kind === 'deleted' || offer.current !== known.update_revision) return 'remove'
  if (known.phase === 'Complete') return 'keep'
  const { counts, current, now } = offer
  return {
    ...known,
    phase: 'Complete',
    message: `all workers have ${current}`,
    next: NOTHING_TO_DO,
    paused: false,
    held: false,
    since: now,
    counts,
    worst: [],
  }
}
