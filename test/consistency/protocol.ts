/** Defines the messages between a test and its client processes: one JSON text a line. */
import type { Tally } from './calls.ts'
import type { Defect } from './defects.ts'

export interface ClientOptions {
  /** The name of the process in the history. */
  readonly name: string
  readonly url: string
  /** Clients that call simultaneously. */
  readonly clients: number
  readonly seed: number
  readonly roundMs: number
  /** False: no value, lock or lease ends by time. */
  readonly hasDeadlines: boolean
  /** The file that the history is appended to. */
  readonly history: string
  /** A deliberate defect that the test has to find. */
  readonly defect?: Defect
}

export type RecoveredKeys = Readonly<
  Record<'kv' | 'lock' | 'counter' | 'config' | 'task' | 'unique', readonly string[]>
>

/**
 * `hold` lets no call begin, and replies when none is under way; processes start held. `probe` replies when the store
 * takes a change. `recover` reads keys, also while calls are held.
 */
export type ClientCommand =
  | { readonly kind: 'hold' | 'resume' | 'probe' | 'store' | 'end' }
  | { readonly kind: 'recover'; readonly keys: RecoveredKeys }

export type ClientReply =
  | { readonly kind: 'ready' | 'held' | 'resumed' | 'served' | 'recovered' }
  | ({ readonly kind: 'tally' } & Tally)
  | { readonly kind: 'store'; readonly epoch: string; readonly nowMs: number }
  | ({
      readonly kind: 'ended'
      /** How often the store was found to have gone back. */
      readonly regressions: number
      /** Errors that no outage explains. */
      readonly unexpected: readonly string[]
    } & Tally)
