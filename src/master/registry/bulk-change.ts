/**
 * @module master/registry/bulk-change
 * Runs a bulk change: reads the configs of a slice of workers, decides about each of them (bulk-plan.ts), and stores
 * the slice in one step of the store. A worker that changed in between is read and decided again, for up to 5 s.
 *
 *   200 workers ──read──▶ plan each ──▶ one step of the store ──▶ notify workers, publish events ──▶ the next 200
 *                  ▲                          │ conflict
 *                  └──────────────────────────┘ those workers alone
 *
 * One worker that fails affects no other. If the store fails, the workers of that slice get its error as their result.
 * After the time in `muster-not-after` nothing more is stored, and the other workers get 412 (D150).
 */
import {
  BULK_STEP_WORKERS,
  ERRORS,
  detailForClient,
  FleetError,
  type BulkResult,
  type JsonObject,
} from '../../protocol/index.ts'
import type { BulkChange, BulkPut, ManagedConfigRow } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { textOrFaults } from './config-faults.ts'
import { planStep, type BulkPlan, type PlannedItem, type Step } from './bulk-plan.ts'
import { unknownWorker } from './unknown-worker.ts'

/** How long a worker is decided again after conflicts. */
const CONFLICT_RETRY_MS = 5_000
/** About how many bytes of configs one slice reads. */
const SLICE_BYTES = 4 * 1_048_576

/** A worker that was written. */
export interface Stored {
  readonly id: string
  readonly gen: number
  /** The connection to notify; null if the worker has none. */
  readonly conn: string | null
  readonly changed: readonly string[]
  readonly isClaimed: boolean
}

export interface BulkRequest extends Omit<BulkPlan, 'epoch' | 'validText'> {
  readonly actor: string
  readonly isDryRun: boolean
  readonly items: readonly PlannedItem[]
  readonly onStored: (stored: Stored) => void
  /** Called before each step of the store. @throws {FleetError} after the time of the request (D150). */
  readonly checkNotAfter: () => void
}

type Outcome = BulkResult | Error

/** A worker that has to be written. */
interface PlannedPut {
  readonly item: PlannedItem
  readonly changed: readonly string[]
  readonly put: BulkPut
}

/** @throws {FleetError} the error of the store if it failed for all workers. */
export async function runBulkChange(request: BulkRequest, deps: MasterDeps): Promise<readonly BulkResult[]> {
  const run = new BulkRun(request, deps)
  const outcomes: Outcome[] = []
  const baseBytes = JSON.stringify(request.base).length
  const size = Math.max(1, Math.min(BULK_STEP_WORKERS, Math.floor(SLICE_BYTES / baseBytes)))
  for (let from = 0; from < request.items.length; from += size) {
    outcomes.push(...(await run.slice(request.items.slice(from, from + size))))
  }
  const [first] = outcomes
  if (isStoreFault(first) && outcomes.every(isStoreFault)) throw first
  return outcomes.map((outcome, at) =>
    outcome instanceof Error ? failure(request.items[at]?.worker_id ?? '', outcome) : outcome,
  )
}

class BulkRun {
  readonly #request: BulkRequest
  readonly #deps: MasterDeps
  readonly #change: BulkChange
  /** Each distinct config of a slice is validated once: its text, or the error. */
  readonly #checked = new Map<string, string | FleetError>()

  constructor(request: BulkRequest, deps: MasterDeps) {
    const { revision, managedBy, actor } = request
    this.#request = request
    this.#deps = deps
    this.#change = { revision, managedBy, actor }
  }

  /** @returns one outcome per worker, in order. */
  async slice(items: readonly PlannedItem[]): Promise<readonly Outcome[]> {
    this.#checked.clear()
    const outcomes = new Map<PlannedItem, Outcome>()
    const giveUpAt = this.#deps.clock.monotonicMs() + CONFLICT_RETRY_MS
    let open = items
    try {
      do {
        for (const [item, outcome] of await this.#attempt(open)) outcomes.set(item, outcome)
        open = items.filter((item) => !outcomes.has(item))
      } while (open.length > 0 && this.#deps.clock.monotonicMs() < giveUpAt)
    } catch (error) {
      if (!(error instanceof FleetError)) throw error
      return items.map((item) => outcomes.get(item) ?? error)
    }
    return items.map((item) => outcomes.get(item) ?? changedTooOften(item))
  }

  /** @returns the outcomes of workers that did not conflict. */
  async #attempt(items: readonly PlannedItem[]): Promise<ReadonlyMap<PlannedItem, Outcome>> {
    const { entry, isDryRun } = this.#request
    const refs = items.map(({ worker_id: id }) => ({ type: entry.type, id }))
    const [epoch, rows] = await Promise.all([this.#deps.epoch.read(), this.#deps.backend.configs.get(refs)])
    const plan: BulkPlan = { ...this.#request, epoch, validText: (config) => this.#validText(config) }
    const outcomes = new Map<PlannedItem, Outcome>()
    const puts: PlannedPut[] = []
    for (const [at, item] of items.entries()) {
      const planned = decided(plan, item, rows[at] ?? null)
      if (planned instanceof Error) outcomes.set(item, planned)
      else if (planned.put === null || isDryRun) outcomes.set(item, success(item, planned.gen, planned.changed))
      else puts.push({ item, changed: planned.changed, put: planned.put })
    }
    if (puts.length > 0) await this.#store(puts, outcomes)
    return outcomes
  }

  /** Stores the puts in one step, and adds their outcomes. */
  async #store(puts: readonly PlannedPut[], outcomes: Map<PlannedItem, Outcome>): Promise<void> {
    const { entry, onStored } = this.#request
    const { managedBy } = this.#change
    const only = puts.map(({ put }) => put)
    this.#request.checkNotAfter()
    const results = await this.#deps.backend.configs.putMany(entry.type, this.#change, only)
    for (const [at, { item, changed, put }] of puts.entries()) {
      const result = results[at]
      if (result === undefined || result.kind === 'conflict') continue
      if (result.kind === 'not_found') outcomes.set(item, unknownWorker({ type: entry.type, id: put.id }))
      else if (result.kind === 'unknown_revision') outcomes.set(item, unknownRevision(this.#request))
      else {
        outcomes.set(item, success(item, result.gen, changed))
        const isClaimed = managedBy !== null && managedBy !== put.expectManagedBy
        onStored({ id: put.id, gen: result.gen, conn: result.conn, changed, isClaimed })
      }
    }
  }

  #validText(config: JsonObject): string {
    const key = JSON.stringify(config)
    const known = this.#checked.get(key) ?? this.#check(config)
    this.#checked.set(key, known)
    if (known instanceof FleetError) throw known
    return known
  }

  #check(config: JsonObject): string | FleetError {
    const checked = textOrFaults(config, this.#request.entry)
    return typeof checked === 'string' ? checked : new FleetError('INVALID', checked)
  }
}

/** The decision about one worker, or the error that is its result. */
function decided(
  plan: BulkPlan,
  item: PlannedItem,
  row: ManagedConfigRow | null,
): (Step & { readonly gen: number }) | FleetError {
  if (row === null) return unknownWorker({ type: plan.entry.type, id: item.worker_id })
  try {
    return { ...planStep(plan, item, row), gen: row.gen }
  } catch (error) {
    if (error instanceof FleetError) return error
    throw error
  }
}

function success({ worker_id }: PlannedItem, config_gen: number, changed: readonly string[]): BulkResult {
  return { worker_id, config_gen, changed: [...changed] }
}

/** @throws {TypeError} and other programming errors, which never mean a worker that failed. */
function failure(worker_id: string, error: Error): BulkResult {
  if (!(error instanceof FleetError)) throw error
  const detail = detailForClient(error)
  return {
    worker_id,
    error: { status: ERRORS[error.code].status, detail: typeof detail === 'string' ? detail : [...detail] },
  }
}

const isStoreFault = (outcome: Outcome | undefined): outcome is FleetError =>
  outcome instanceof FleetError && outcome.code.startsWith('STORAGE_')

const changedTooOften = ({ worker_id: id }: PlannedItem): FleetError =>
  new FleetError(
    'OVERLOADED',
    `the config of worker ${JSON.stringify(id)} changed several times during this request; try again`,
  )

/** The 404 of a revision that is not stored. */
export function unknownRevision({ revision, entry }: Pick<BulkPlan, 'revision' | 'entry'>): FleetError {
  return new FleetError(
    'NOT_FOUND',
    `revision ${JSON.stringify(revision)} of type ${entry.type} is not stored; store it: PUT …/revisions/${revision}`,
  )
}
