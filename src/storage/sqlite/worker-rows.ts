/**
 * @module storage/sqlite/worker-rows
 * WorkerRows finds the records of workers for the parts of the registry.
 *
 * `drain` says which process a drain applies to: null none; '' the process that registers next; `i<instance>` the
 * process of that instance; `c<conn>` the process on that connection, if it sent no instance (D6). `state` is the one
 * last reported; a record with a drain reads DRAINING.
 */
import type { ReportedState } from '../../protocol/index.ts'
import type { Ref } from '../index.ts'
import type { Statement } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import { KIND, type Names } from './names.ts'

export interface WorkerRecord {
  readonly instance: string
  readonly conn: string | null
  readonly state: ReportedState
  readonly lastError: string | null
  readonly appliedGen: number | null
  readonly since: number
  readonly seen: number
  readonly drain: string | null
  /** Of the drain (departures.ts). */
  readonly drained: string | null
  readonly frames: number
  readonly gen: number
  /** Of the last bulk change (label-columns.ts). */
  readonly revision: string | null
  readonly variantGen: number | null
}

export interface FoundWorker {
  readonly type: number
  readonly worker: WorkerRecord
}

/** The drain of a worker that is not connected. */
export const NEXT_PROCESS = ''

/** The drain of the process that registered with this instance and connection. */
export function drainOf({ instance, conn }: { readonly instance: string; readonly conn: string }): string {
  return instance === '' ? `c${conn}` : `i${instance}`
}

export class WorkerRows {
  readonly #names: Names
  readonly #find: Statement<[number, string], WorkerRecord>

  constructor({ db, names }: EngineDeps) {
    this.#names = names
    this.#find = db.prepare(
      `SELECT instance, conn, state, error AS lastError, applied_gen AS appliedGen, since, seen, drain, drained, frames,
        gen, revision, variant_gen AS variantGen FROM worker JOIN cfg USING(type, id) WHERE type = ? AND id = ?`,
    )
  }

  /** @returns `undefined` if the worker has no record. */
  find(ref: Ref): FoundWorker | undefined {
    const type = this.#names.find(KIND.type, ref.type)
    const worker = type === undefined ? undefined : this.#find.get(type, ref.id)
    return type === undefined || worker === undefined ? undefined : { type, worker }
  }
}
