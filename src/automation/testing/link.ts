/** @module automation/testing/link  Simulates the connection to the master, which a script can interrupt. */
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

  /** @throws {RpcError} `unavailable` while the link is interrupted, like the worker without a master. */
  assertUp(): void {
    if (!this.isUp)
      throw new RpcError('unavailable', 'the master did not respond: the script has disconnected the worker', {
        outcome: 'not_sent',
      })
  }

  /** Interrupts the link. A second call restarts the time. */
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
