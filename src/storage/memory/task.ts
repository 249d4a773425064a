/**
 * @module storage/memory/task
 * One task, in whatever place it is.
 */
import { RECORD } from './ledger.ts'
import type { Entry } from './agenda.ts'
import type { Place, Tier } from '../index.ts'

export interface Task {
  readonly id: string
  readonly tier: Tier
  readonly ttlMs: number | null
  readonly ownMax: number | null
  readonly submitted: number
  readonly body: string
  place: Place
  /** When its ttl ends; Infinity without one. */
  expiresAt: number
  attempt: number
  lost: number
  /** Of the newest lease; 0 before the first. */
  token: number
  max: number
  until: number
  deadline: Entry<Task> | null
  lastError: string | null
  diedAt: number
}

export const sizeOf = (task: { readonly id: string; readonly body: string }): number =>
  RECORD + task.id.length + task.body.length
