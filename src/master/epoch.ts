/**
 * @module master/epoch
 * The epoch of the store, as this master saw it last. A Redis may begin another one while the master runs (D46): the
 * heartbeat looks every 5 s, and what needs it exactly reads it anew.
 */
import type { Backend } from '../storage/index.ts'

export class StoreEpoch {
  readonly #backend: Pick<Backend, 'meta'>
  #current = ''

  constructor(backend: Pick<Backend, 'meta'>) {
    this.#backend = backend
  }

  /** As of the last read. */
  get current(): string {
    return this.#current
  }

  /** Asks the store. */
  async read(): Promise<string> {
    const { epoch } = await this.#backend.meta.info()
    this.#current = epoch
    return epoch
  }
}
