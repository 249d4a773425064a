/**
 * @module diagnosis/rates
 * Adds to the attention list how much fails now and since when, and ranks tasks that die now as workers in ERROR.
 */
import type { DeadGroupsBody, RunsBody } from '../protocol/index.ts'
import { PROBLEM_RANK, type Problem } from './problems.ts'
import { countText, plural } from './texts.ts'

/** What runs did in the last minute, by type; without the types of which it is not known. */
export type RunsByType = ReadonlyMap<string, RunsBody>
/** The groups of dead tasks, by type; without the types of which they are not known. */
export type DeadGroupsByType = ReadonlyMap<string, DeadGroupsBody>

/** @returns the types of which {@link withRates} needs the runs. */
export const ratedTypes = (attention: readonly Problem[]): readonly string[] =>
  typesOf(attention, ({ kind }) => kind === 'dead' || kind === 'error')
/** @returns the types of which {@link withRates} needs the groups of dead tasks. */
export const deadTypes = (attention: readonly Problem[]): readonly string[] =>
  typesOf(attention, ({ kind }) => kind === 'dead')

const typesOf = (attention: readonly Problem[], holds: (item: Problem) => boolean): readonly string[] =>
  [...new Set(attention.filter(holds).map(({ type }) => type))].toSorted()

interface Rated<P extends Problem> {
  readonly item: P
  /** Tasks that died in the last minute. */
  readonly died: number
}

/** @returns the problems with their rates, sorted again. */
export function withRates<P extends Problem>(
  attention: readonly P[],
  runs: RunsByType,
  groups: DeadGroupsByType,
): readonly P[] {
  return attention
    .map((item) => ratedItem(item, runs, groups))
    .toSorted((a, b) => rankOf(a) - rankOf(b) || b.died - a.died)
    .map(({ item }) => item)
}

/** Sorting is stable, so the items of one rank stay in their order. */
function rankOf({ item: { kind }, died }: Rated<Problem>): number {
  return PROBLEM_RANK.indexOf(died > 0 ? 'error' : kind)
}

function ratedItem<P extends Problem>(item: P, runs: RunsByType, groups: DeadGroupsByType): Rated<P> {
  const ofType = runs.get(item.type)
  if (item.kind === 'dead') return ratedDead(item, ofType?.died ?? 0, groups.get(item.type))
  if (item.kind !== 'error' || ofType === undefined) return { item, died: 0 }
  const affected = new Set(item.affected.map(({ worker_id: id }) => id))
  const failed = ofType.workers.reduce((sum, each) => sum + (affected.has(each.worker_id) ? each.failed : 0), 0)
  return {
    item: failed === 0 ? item : { ...item, rate: `${countText(failed)} runs failed in the last minute` },
    died: 0,
  }
}

/** The age is that of the largest group of those that grow: old tasks of another error say nothing about this one. */
function ratedDead<P extends Problem>(item: P, died: number, dead: DeadGroupsBody | undefined): Rated<P> {
  const growing = dead?.groups.filter(({ trend }) => (trend.at(-1) ?? 0) > 0) ?? []
  const [worst] = (growing.length > 0 ? growing : (dead?.groups ?? [])).toSorted((a, b) => b.count - a.count)
  const since = worst?.first_died_at ?? null
  const cause = worst?.pattern ?? null
  const text = cause === null ? item.text : `${item.text}, ${of(worst?.count ?? 0, item.count)}: ${cause}`
  if (died === 0) return { item: { ...item, since, text }, died }
  // Some of these tasks may have been replayed or removed since.
  const now = died > item.count ? ` (${plural(item.count, 'is', 'are')} dead now)` : ''
  return { item: { ...item, since, text, tone: 'bad', rate: `${countText(died)} died in the last minute${now}` }, died }
}

const of = (count: number, total: number): string => (count >= total ? 'all' : `${countText(count)} of them`)
