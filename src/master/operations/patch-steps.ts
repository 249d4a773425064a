/**
 * @module master/operations/patch-steps
 * PatchSteps writes the config of a worker, and waits until the worker has applied it.
 *
 *   pending ──write──▶ active ──applied, and no ERROR for the bake time──▶ done
 *                        └── refuses the config, ERROR, or no confirmation in time ──▶ failed
 *
 * A config is written only over the generation that the operation was planned with. A write whose result was not
 * recorded is recognised by its author, which names the operation, so no worker is changed twice.
 */
import type { Catalog } from '../../automation/index.ts'
import { FleetError, RESERVED_METRICS, toSeconds, type JsonObject } from '../../protocol/index.ts'
import { truncateError } from '../../runtime/index.ts'
import type { WorkerRow } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { planPatch, reservedValue, type Registry } from '../registry/index.ts'
import type { Operation } from './operation-store.ts'
import { faultText, MAX_MESSAGE_CHARS } from './patch-plan.ts'
import type { Item } from './stored.ts'
import { authorOf, type WorkerSteps, type WorkItem } from './worker-steps.ts'

export interface PatchStepDeps extends Pick<MasterDeps, 'backend' | 'clock' | 'epoch'> {
  readonly catalog: Catalog
  readonly registry: Pick<Registry, 'signal' | 'announce'>
  /** Called with an error of the store; the worker is tried again. */
  readonly onFailed: (error: unknown) => void
}

export class PatchSteps implements WorkerSteps {
  readonly #deps: PatchStepDeps

  constructor(deps: PatchStepDeps) {
    this.#deps = deps
  }

  async begin(operation: Operation, work: readonly WorkItem[]): Promise<readonly Item[]> {
    const { backend, epoch } = this.#deps
    const refs = work.map(({ item }) => ({ type: operation.type, id: item.id }))
    const [current, rows] = await Promise.all([epoch.read(), backend.workers.get(refs)])
    if (current !== operation.head.epoch)
      return work.map(({ item }) => ({ ...item, s: 'conflict', e: 'the store has lost changes since' }))
    return Promise.all(
      work.map(async ({ item, patch }, at) => {
        try {
          return await this.#write(operation, item, rows[at] ?? null, patch ?? operation.head.patch ?? {})
        } catch (error) {
          if (!(error instanceof FleetError)) throw error
          this.#deps.onFailed(error)
          return item
        }
      }),
    )
  }

  async judge({ type, head }: Operation, work: readonly WorkItem[]): Promise<readonly Item[]> {
    const rows = await this.#deps.backend.workers.get(work.map(({ item }) => ({ type, id: item.id })))
    const nowMs = this.#deps.clock.wallMs()
    return work.map(({ item }, at) => judged(item, rows[at] ?? null, head, nowMs))
  }

  async #write(operation: Operation, item: Item, row: WorkerRow | null, patch: JsonObject): Promise<Item> {
    if (row === null) return { ...item, s: 'unknown', e: 'has no record' }
    const { config, connected } = row
    const author = authorOf(operation)
    const written = (gen: number): Item => {
      const base: Item = { ...item, n: gen, t: this.#deps.clock.wallMs() }
      return { ...base, s: connected ? 'active' : 'offline', ...(row.state === 'ERROR' && { r: 1 as const }) }
    }
    if (config.gen === item.g + 1 && config.actor === author) return written(config.gen)
    if (config.gen !== item.g) return conflict(item, config.gen)
    const entry = this.#deps.catalog.get(operation.type)
    if (entry === undefined) return { ...item, s: 'refused', e: 'its automation is not installed' }
    const plan = planPatch(entry, config.config, patch)
    if (plan.kind === 'refused') return { ...item, s: 'refused', e: faultText(plan.faults) }
    if (plan.changed.length === 0) return { ...item, s: 'unchanged' }
    const put = { expectGen: config.gen, expectConfig: config.config, config: plan.text, changed: plan.changed }
    const ref = { type: operation.type, id: item.id }
    const result = await this.#deps.backend.configs.put({ ...ref, ...put, actor: author })
    if (result.kind === 'not_found') return { ...item, s: 'unknown', e: 'has no record' }
    if (result.kind === 'conflict') {
      const { gen, actor } = result.current
      return gen === item.g + 1 && actor === author ? written(gen) : conflict(item, gen)
    }
    if (result.conn !== null)
      this.#deps.registry.signal({ kind: 'config_changed', ref, conn: result.conn, gen: result.gen })
    this.#deps.registry.announce('worker.config_changed', ref, {
      config_gen: result.gen,
      changed: [...plan.changed],
      config_changed_at: toSeconds(this.#deps.clock.wallMs()),
      config_changed_by: author,
    })
    return written(result.gen)
  }
}

const conflict = (item: Item, gen: number): Item => ({
  ...item,
  s: 'conflict',
  e: `its config changed since the operation was created: it is at generation ${gen}, not ${item.g}`,
})

type Timing = Pick<Operation['head'], 'waitMs' | 'bakeMs'>

/** @returns the item after a look at its worker. */
function judged(item: Item, row: WorkerRow | null, timing: Timing, nowMs: number): Item {
  if (row === null) return { ...item, s: 'unknown', e: 'was deleted' }
  const { n = 0, t = nowMs } = item
  const isLate = nowMs - t >= timing.waitMs + (item.a === undefined ? 0 : timing.bakeMs)
  if (row.config.gen > n) return { ...item, s: 'done', e: `its config changed again, to generation ${row.config.gen}` }
  if (row.connected && reservedValue(row.stats, RESERVED_METRICS.refusedConfigGen) === n)
    return failed(item, `refuses generation ${n}: ${row.lastError ?? 'no reason was reported'}`)
  const isApplied = row.connected && row.appliedGen !== null && row.appliedGen >= n
  if (!isApplied) return isLate ? failed(item, unconfirmed(row, n, timing.waitMs)) : item
  return row.state === 'ERROR' ? inError(item, row, isLate, nowMs) : baked(item, timing, nowMs)
}

/** A worker that was in ERROR before has the time to recover. */
function inError(item: Item, { lastError }: WorkerRow, isLate: boolean, nowMs: number): Item {
  if (item.r === 1 && !isLate) return { ...item, a: nowMs }
  return failed(item, lastError ?? 'is in ERROR, without a reason')
}

function baked(item: Item, { bakeMs }: Timing, nowMs: number): Item {
  const { a = nowMs } = item
  return nowMs - a >= bakeMs ? { ...item, s: 'done' } : { ...item, a }
}

const failed = (item: Item, message: string): Item => ({
  ...item,
  s: 'failed',
  e: truncateError(message, MAX_MESSAGE_CHARS),
})

const unconfirmed = ({ connected }: WorkerRow, gen: number, waitMs: number): string =>
  connected
    ? `has not applied generation ${gen} within ${waitMs / 1_000} s`
    : `disconnected, and has not applied generation ${gen} within ${waitMs / 1_000} s`
