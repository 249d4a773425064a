/**
 * @module storage/redis/caller
 * Defines the interface between the groups of the backend (tasks, streams, workers …) and the connection: it runs one
 * script on keys of one hash tag. connection.ts implements it, with sockets, NOSCRIPT, waiting and error mapping.
 *
 * A script rejects a call as a whole, before its first write, with `return redis.error_reply('FULL …')` (a bound is
 * reached:
 * STORAGE_FULL with that sentence) or `'CORRUPT …'` (STORAGE_CORRUPT). Any other error of a script is a bug.
 */
import type { Script } from './script.ts'

/** What a script returns: integers, bulk strings (as UTF-8 text), nil as null, nested arrays. */
export type Reply = number | string | null | readonly Reply[]

export interface Caller {
  /**
   * Runs `script`; `ARGV[1]` is added here.
   * @param keys all of one hash tag, made by keys.ts.
   * @throws {FleetError} STORAGE_UNAVAILABLE with `outcome`, STORAGE_FULL, STORAGE_OVERLOADED, STORAGE_NOT_OPEN.
   */
  run(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    options?: CallOptions,
  ): Promise<Reply>
  /**
   * The run of the store; another one after each restart of a server. Scripts that issue tokens compare it with
   * `m.run`.
   */
  readonly runId: () => string
  /**
   * The full name of a channel of this store (`wake`, `event:<topic>`), for a script that publishes: it goes in as an
   * argument.
   */
  readonly channel: (name: string) => string
  /** Identifies this backend among all publishers of the store, so that it can ignore its own messages. */
  readonly publisher: string
}

export interface CallOptions {
  /**
   * May be sent a second time after an unknown outcome, inside the call's deadline: the operation repeats harmlessly.
   */
  readonly repeatable?: boolean
}
