/**
 * @module automation/testing/awaitable
 * A promise that knows whether anybody ever asked for its outcome. `await` looks at `then` only where a promise is of
 * a class of its own, hence the class. A failure that nobody asked for does not end the process.
 */
export class Awaitable<T> extends Promise<T> {
  wasAwaited = false

  /** What `then` answers is an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  static of<T>(promise: Promise<T>): Awaitable<T> {
    const awaitable = new Awaitable<T>((resolve, reject) => void promise.then(resolve, reject))
    void Promise.prototype.then.call(awaitable, undefined, () => {})
    return awaitable
  }

  // oxlint-disable-next-line unicorn/no-thenable -- to be told is the point
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.wasAwaited = true
    return super.then(onFulfilled, onRejected)
  }
}
