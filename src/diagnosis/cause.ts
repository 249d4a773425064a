/** @module diagnosis/cause  Defines the causes that an explanation returns, and what fixes each. */

/** The decisive cause comes first. */
export interface Cause {
  readonly tone: 'bad' | 'warn' | 'calm' | 'good'
  /** One or more sentences. Contains text of workers, such as errors. */
  readonly text: string
  /** What to do, the most likely first; empty if nothing is to be done, or only outside of Muster. */
  readonly fixes: readonly Fix[]
}

/** Which workers of a type: those in this state, or `failing`: with an error. */
export type WorkersFilter = 'all' | 'offline' | 'not_enabled' | 'no_slots' | 'draining' | 'failing'

interface OfWorker {
  readonly type: string
  readonly worker: string
}

/** A place where a cause can be fixed, or examined. */
export type Fix =
  | ({ readonly kind: 'open_worker' | 'edit_config' | 'drain_worker' | 'show_log' } & OfWorker)
  /** `generation`: the change that is suspected, 2 or more; compare it with the generation before. */
  | ({ readonly kind: 'show_config_change'; readonly generation: number } & OfWorker)
  | { readonly kind: 'list_workers'; readonly type: string; readonly filter: WorkersFilter }
  | { readonly kind: 'replay_dead' | 'list_dead'; readonly type: string }
