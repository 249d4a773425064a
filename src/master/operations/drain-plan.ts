/**
 * @module master/operations/drain-plan
 * Plans a drain of many workers. A worker that is not connected is left alone: its drain would apply to the process
 * that registers next.
 */
import type { CatalogEntry } from '../../automation/index.ts'
import type { OperationPreview } from '../../protocol/index.ts'
import type { Backend } from '../../storage/index.ts'
import type { Plan } from './patch-plan.ts'
import type { Item, NewItem } from './stored.ts'

/** Workers that one step reads. */
const SLICE = 500
const LISTED = 20

export async function planDrains(
  { type }: CatalogEntry,
  ids: readonly string[],
  { workers }: Pick<Backend, 'workers'>,
): Promise<Plan> {
  const items: NewItem[] = []
  const managers = new Map<string, number>()
  for (let from = 0; from < ids.length; from += SLICE) {
    const slice = ids.slice(from, from + SLICE)
    const rows = await workers.get(slice.map((id) => ({ type, id })))
    for (const [at, id] of slice.entries()) {
      const row = rows[at] ?? null
      const g = row?.config.gen ?? 0
      const by = row?.managedBy ?? null
      if (row?.connected === true && by !== null) managers.set(by, (managers.get(by) ?? 0) + 1)
      items.push({ item: itemOf(id, g, row) })
    }
  }
  return { items, preview: previewOf(items, managers) }
}

function itemOf(id: string, g: number, row: { readonly connected: boolean } | null): Item {
  if (row === null) return { id, s: 'unknown', g, e: 'has no record' }
  return row.connected ? { id, s: 'pending', g } : { id, s: 'unchanged', g, e: 'is not connected' }
}

function previewOf(items: readonly NewItem[], managers: ReadonlyMap<string, number>): OperationPreview {
  const count = (result: Item['s']): number => items.filter(({ item }) => item.s === result).length
  return {
    kind: 'drain',
    total: items.length,
    change: count('pending'),
    unchanged: count('unchanged'),
    refused: 0,
    unknown: count('unknown'),
    offline: 0,
    generations: [],
    values: [],
    managed: [...managers]
      .map(([by, workers]) => ({ managed_by: by, workers }))
      .toSorted((one, other) => other.workers - one.workers)
      .slice(0, LISTED),
    refused_because: [],
  }
}
