/**
 * @module storage/redis/keyed-mutex
 * Runs the calls of one key one after the other. A call whose response was lost may be sent a second time, and a later
 * call must not overtake it: an old state would be written again, or a push be taken for a repeat. A call waits only
 * for the calls before it, each of which ends by its own deadline. The number of waiting calls is bounded by the
 * callers: the master has one batch per type in flight.
 */
export class KeyedMutex {
  /** The end of the newest call of each name that is under way. */
  readonly #ends = new Map<string, Promise<void>>()

  /** Runs `call` when every earlier one of `name` has ended, however it ended. */
  run<T>(name: string, call: () => Promise<T>): Promise<T> {
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
