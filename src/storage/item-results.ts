/**
 * @module storage/item-results
 * Defines the results of single items that have no data of their own. Backends return these objects, so a call does not
 * allocate one per item.
 */
import type { SubmitItemResult } from './backend.ts'

export const QUEUED = Object.freeze({ kind: 'queued' } as const) satisfies SubmitItemResult
export const QUEUE_FULL = Object.freeze({ kind: 'queue_full' } as const) satisfies SubmitItemResult
