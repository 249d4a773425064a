/**
 * @module storage/redis/turns
 * Calls of one name run one after the other. Where a call may be sent a second time (its answer never came), a later one
 * must not overtake it: an old state would come back, a push would be taken for a repeat. Nothing waits here longer than
 * the calls before it, each of which ends by its own deadline; how many wait is bounded by who calls, as the master has
 * one batch a type under way.
 */
export class Turns {
  /** The end of the newest call of each name that is under way. */
  readonly #ends = new Map<string, Promise<void>>()

  /** Runs `call` when every earlier one of `name` has ended, however it ended. */
  take<T>(name: string, call: () => Promise<T>): Promise<T> {
    const before = this.#ends.get(name)
    const result = before === undefined ? call() : before.then(call)
    const end = result
      .then(
        () => undefined,
        () => undefined,
      )
      .then(() => {
        if (this.#ends.get(name) === end) this.#ends.delete(name)
      })
    this.#ends.set(name, end)
    return result
  }
}
