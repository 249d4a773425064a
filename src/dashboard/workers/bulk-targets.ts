/**
 * @module dashboard/workers/bulk-targets
 * Selects the workers that an operation changes: those of one type, without managed ones unless they are included.
 */
import { countText, plural } from '../components/numbers.ts'
import { managerOf } from './managed.ts'
import type { WorkerRow } from './row.ts'

export interface TypeCount {
  readonly type: string
  readonly count: number
}

/** The types of the workers, the most frequent first. */
export function typesOf(rows: readonly WorkerRow[]): readonly TypeCount[] {
  const counts = new Map<string, number>()
  for (const { automation_type: type } of rows) counts.set(type, (counts.get(type) ?? 0) + 1)
  return [...counts].map(([type, count]) => ({ type, count })).toSorted((a, b) => b.count - a.count)
}

/** The type that is chosen at first; empty without workers. */
export const firstType = (rows: readonly WorkerRow[]): string => typesOf(rows)[0]?.type ?? ''

export const ofType = (rows: readonly WorkerRow[], type: string): readonly WorkerRow[] =>
  rows.filter((row) => row.automation_type === type)

export const isManaged = ({ managed_by: by }: WorkerRow): boolean => by !== null

/** To how many of the selected workers an operation applies, and which ones it leaves out; null if none. */
export function leftOutText(
  selected: readonly WorkerRow[],
  type: string,
  targets: readonly WorkerRow[],
): string | null {
  const ofOthers = selected.length - ofType(selected, type).length
  const managed = selected.length - ofOthers - targets.length
  const left = [
    ...(ofOthers === 0 ? [] : [`${countText(ofOthers)} of ${ofOthers === 1 ? 'another type' : 'other types'}`]),
    ...(managed === 0 ? [] : [`${countText(managed)} managed elsewhere`]),
  ]
  if (left.length === 0) return null
  const applies = `This applies to ${countText(targets.length)} of ${plural(selected.length, 'selected worker')}.`
  return `${applies} Left out: ${left.join(', ')}.`
}

/** The FleetWorkerSets that manage some of the workers, with the number of workers: `prod/crawlers`. */
export function setsOf(rows: readonly WorkerRow[]): readonly { readonly name: string; readonly count: number }[] {
  const counts = new Map<string, number>()
  for (const { managed_by: by } of rows) {
    const manager = by === null ? null : managerOf(by)
    if (manager?.kind === 'kubernetes' && manager.of === 'FleetWorkerSet')
      counts.set(manager.name, (counts.get(manager.name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => ({ name, count }))
}
