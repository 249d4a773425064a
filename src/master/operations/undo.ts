/**
 * @module master/operations/undo
 * Finds what an undo of an operation has to write: for each worker whose config the operation wrote, the values that
 * its fields had before. A worker with another generation is left alone (patch-plan.ts).
 */
import type { CatalogEntry } from '../../automation/index.ts'
import type { JsonObject } from '../../protocol/index.ts'
import type { Backend } from '../../storage/index.ts'
import type { Operation, OperationStore } from './operation-store.ts'
import type { PatchTarget } from './patch-plan.ts'
import { placeOf, type Item, type StoredPart } from './stored.ts'

/** Changes of a config that the store keeps. */
const HISTORY_ROWS = 50

export interface UndoTargets {
  readonly targets: readonly PatchTarget[]
  /** Workers whose values before are not kept. */
  readonly lost: readonly string[]
}

export async function undoTargets(
  { type, id, head }: Operation,
  entry: CatalogEntry,
  store: OperationStore,
  backend: Pick<Backend, 'configs'>,
): Promise<UndoTargets> {
  const targets: PatchTarget[] = []
  const lost: string[] = []
  for (let n = 0; n < partsIn(head.total); n += 1) {
    const part = await store.part(type, id, n)
    for (const item of part.items.filter((each) => each.n !== undefined)) {
      const patch = beforeOf(item, part) ?? (await beforeInHistory(item, { entry, fields: head.fields, backend }))
      if (patch === null) lost.push(item.id)
      else targets.push({ id: item.id, patch, gen: item.n ?? 0 })
    }
  }
  return { targets, lost }
}

/** @returns the number of parts of an operation. */
export const partsIn = (total: number): number => (total === 0 ? 0 : placeOf(total - 1).part + 1)

const beforeOf = ({ b }: Item, { befores }: StoredPart): JsonObject | null =>
  b === undefined ? null : (befores[b] ?? null)

/** @returns the values that the config of that generation had; null if the history does not have it. */
async function beforeInHistory(
  { id, g }: Item,
  {
    entry,
    fields,
    backend,
  }: {
    readonly entry: CatalogEntry
    readonly fields: readonly string[]
    readonly backend: Pick<Backend, 'configs'>
  },
): Promise<JsonObject | null> {
  const rows = await backend.configs.history({ type: entry.type, id }, HISTORY_ROWS)
  const text = rows.find(({ gen }) => gen === g)?.config ?? null
  if (text === null) return null
  const config = JSON.parse(text) as JsonObject
  return Object.fromEntries(fields.map((name) => [name, config[name] ?? null]))
}
