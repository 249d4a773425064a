/**
 * @module master/operations/patch-plan
 * Plans a patch of many workers: reads their configs, and decides what the patch does to each of them. The plan is the
 * preview of an operation, and becomes its items.
 *
 *   10,000 workers ── 100 at a time ──▶ read ──▶ plan ──▶ pending · unchanged · refused · unknown
 *
 * An item records the generation that was read. The operation changes the worker only while it has this generation, so
 * what the preview showed is what is written. Secrets always count as changed (D89).
 */
import type { CatalogEntry } from '../../automation/index.ts'
import { maskSecrets, type FieldError, type JsonObject, type OperationPreview } from '../../protocol/index.ts'
import { truncateError } from '../../runtime/index.ts'
import type { Backend, WorkerRow } from '../../storage/index.ts'
import { planPatch, type PlannedPatch } from '../registry/index.ts'
import type { NewItem } from './stored.ts'

/** Workers whose configs are read in one step. A config may have 256 KiB. */
const SLICE = 100
/** Distinct configs of one slice whose plan is kept. */
const KEPT_PLANS = 100
const LISTED = 20
export const MAX_MESSAGE_CHARS = 200

/** A worker, with a patch and a generation of its own in an undo. */
export interface PatchTarget {
  readonly id: string
  readonly patch: JsonObject
  /** The worker is left alone if it has another generation; any if omitted. */
  readonly gen?: number
}

export interface Plan {
  readonly items: readonly NewItem[]
  readonly preview: OperationPreview
}

/** Counts values by their text. */
class Tally<T> {
  readonly #counts = new Map<string, { readonly value: T; workers: number }>()

  add(value: T): void {
    const key = JSON.stringify(value)
    const counted = this.#counts.get(key)
    if (counted === undefined) this.#counts.set(key, { value, workers: 1 })
    else counted.workers += 1
  }

  /** @returns the most frequent values. */
  top(): readonly { readonly value: T; readonly workers: number }[] {
    return [...this.#counts.values()].toSorted((one, other) => other.workers - one.workers).slice(0, LISTED)
  }
}

/** Plans the patch of the targets. It stores nothing. */
export async function planPatches(
  entry: CatalogEntry,
  targets: readonly PatchTarget[],
  { workers }: Pick<Backend, 'workers'>,
): Promise<Plan> {
  const summary = new PlanSummary(entry)
  const items: NewItem[] = []
  for (let from = 0; from < targets.length; from += SLICE) {
    const slice = targets.slice(from, from + SLICE)
    const refs = slice.map(({ id }) => ({ type: entry.type, id }))
    const rows = await workers.get(refs)
    const plans = new Map<string, PlannedPatch>()
    for (const [at, target] of slice.entries()) {
      const row = rows[at] ?? null
      items.push(
        row === null ? summary.addUnknown(target) : summary.add(target, row, planned(plans, entry, row, target)),
      )
    }
  }
  return { items, preview: summary.preview(targets.length) }
}

/** Workers often have equal configs, whose plan is made once. */
function planned(
  plans: Map<string, PlannedPatch>,
  entry: CatalogEntry,
  { config: { config } }: WorkerRow,
  { patch }: PatchTarget,
): PlannedPatch {
  const key = `${JSON.stringify(patch)}\n${config}`
  const plan = plans.get(key) ?? planPatch(entry, config, patch)
  if (plans.size < KEPT_PLANS) plans.set(key, plan)
  return plan
}

class PlanSummary {
  readonly #entry: CatalogEntry
  readonly #counts = { change: 0, unchanged: 0, refused: 0, unknown: 0, offline: 0 }
  readonly #generations = new Tally<number>()
  readonly #values = new Tally<JsonObject>()
  readonly #managers = new Tally<string>()
  readonly #reasons = new Tally<string | FieldError[]>()

  constructor(entry: CatalogEntry) {
    this.#entry = entry
  }

  addUnknown({ id }: PatchTarget): NewItem {
    this.#counts.unknown += 1
    return { item: { id, s: 'unknown', g: 0, e: 'has no record' } }
  }

  /** Counts one worker. @returns its item. */
  add(
    { id, patch, gen }: PatchTarget,
    { config: { gen: g }, connected, managedBy }: WorkerRow,
    plan: PlannedPatch,
  ): NewItem {
    if (gen !== undefined && g !== gen) {
      this.#counts.refused += 1
      this.#reasons.add('its config changed since')
      return { item: { id, s: 'conflict', g, e: `its config changed since: it is at generation ${g}, not ${gen}` } }
    }
    if (plan.kind === 'refused') {
      this.#counts.refused += 1
      this.#reasons.add([...plan.faults])
      return { item: { id, s: 'refused', g, e: faultText(plan.faults) } }
    }
    if (plan.changed.length === 0) {
      this.#counts.unchanged += 1
      return { item: { id, s: 'unchanged', g } }
    }
    this.#counts.change += 1
    if (!connected) this.#counts.offline += 1
    this.#generations.add(g)
    this.#values.add(maskSecrets(plan.before, this.#entry.secrets))
    if (managedBy !== null) this.#managers.add(managedBy)
    return {
      item: { id, s: 'pending', g },
      before: plan.before,
      ...(gen !== undefined && { patch }),
    }
  }

  preview(total: number): OperationPreview {
    return {
      kind: 'patch',
      total,
      ...this.#counts,
      generations: this.#generations.top().map(({ value, workers }) => ({ config_gen: value, workers })),
      values: this.#values.top().map(({ value, workers }) => ({ values: value, workers })),
      managed: this.#managers.top().map(({ value, workers }) => ({ managed_by: value, workers })),
      refused_because: this.#reasons.top().map(({ value, workers }) => ({ detail: value, workers })),
    }
  }
}

/** @returns the first fault as one line. */
export function faultText([first, ...more]: readonly FieldError[]): string {
  if (first === undefined) return ''
  const rest = more.length === 0 ? '' : ` (and ${more.length} more)`
  return truncateError(`${first.path} ${first.message}${rest}`.trim(), MAX_MESSAGE_CHARS)
}
