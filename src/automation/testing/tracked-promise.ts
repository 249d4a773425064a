/**
 * @module automation/testing/tracked-promise
 * Defines a promise that records whether its result was awaited. `await` calls `then` only for promises of another
 * class, hence the subclass. Its rejections count as handled.
 */
export class TrackedPromise<T> extends Promise<T> {
  wasAwaited = false

  /** `then` returns an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  static of<T>(promise: Promise<T>): TrackedPromise<T> {
    const tracked = new TrackedPromise<T>((resolve, reject) => void promise.then(resolve, reject))
    void Promise.prototype.then.call(tracked, undefined, () => {})
    return tracked
  }

  // oxlint-disable-next-line unicorn/no-thenable -- recording the call is the purpose
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.wasAwaited = true
    return super.then(onFulfilled, onRejected)
  }
}
