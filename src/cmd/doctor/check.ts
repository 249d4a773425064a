/**
 * @module cmd/doctor/check
 * Defines a check and its finding. A check that needs another one is skipped when that one failed, because its own
 * finding would only repeat the cause.
 */
import type { Session } from './session.ts'

export type Finding =
  | { readonly status: 'ok'; readonly text: string }
  | { readonly status: 'warn' | 'fail'; readonly text: string; readonly cause: string; readonly next: string }
  /** `text` is the reason. */
  | { readonly status: 'skip'; readonly text: string }

export const ok = (text: string): Finding => ({ status: 'ok', text })
export const skip = (text: string): Finding => ({ status: 'skip', text })
/** @param text What was seen. */
export const warn = (text: string, cause: string, next: string): Finding => ({ status: 'warn', text, cause, next })
/** @param text What was seen. */
export const fail = (text: string, cause: string, next: string): Finding => ({ status: 'fail', text, cause, next })

export interface Check {
  readonly name: string
  /** What it checks, for the documentation. */
  readonly what: string
  /** Checks before it in the list. If one of them failed or was skipped, this one is skipped. */
  readonly needs: readonly string[]
  /** Checks before it in the list whose end it waits for, whatever they found. */
  readonly after?: readonly string[]
  readonly run: (session: Session) => Promise<Finding> | Finding
}

export interface Result {
  readonly name: string
  readonly finding: Finding
}
