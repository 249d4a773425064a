/** @module automation/testing/link  The way from the worker to its master, which a script may cut for a while. */
import { RpcError, toMs } from '../../protocol/index.ts'
import type { Cancel, Timers } from '../../runtime/index.ts'

export class Link {
  readonly #timers: Timers
  #cancel: Cancel | undefined
  #waiters: (() => void)[] = []

  constructor(timers: Timers) {
    this.#timers = timers
  }

  get isUp(): boolean {
    return this.#cancel === undefined
  }

  /** @throws RpcError `unavailable`, as the worker does while its master is away. */
  assertUp(): void {
    if (!this.isUp)
      throw new RpcError('unavailable', 'the master did not answer: the script has disconnected the worker', {
        outcome: 'not_sent',
      })
  }

  /** A second cut begins anew. */
  cut(seconds: number): void {
    this.#cancel?.()
    this.#cancel = this.#timers.after(toMs(seconds), () => {
      this.#cancel = undefined
      for (const wake of this.#waiters.splice(0)) wake()
    })
  }

  async whenUp(): Promise<void> {
    while (!this.isUp) await new Promise<void>((resolve) => void this.#waiters.push(resolve))
  }
}
