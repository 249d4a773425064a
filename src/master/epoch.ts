/**
 * @module master/epoch
 * Caches the epoch of the store. Redis may begin a new epoch while the master runs (D46). The heartbeat of this master
 * reads the epoch every 5 s; code that needs the exact value calls {@link StoreEpoch.read}.
 */
import type { Backend } from '../storage/index.ts'

export class StoreEpoch {
  readonly #backend: Pick<Backend, 'meta'>
  #current = ''

  constructor(backend: Pick<Backend, 'meta'>) {
    this.#backend = backend
  }

  /** The epoch at the last read. */
  get current(): string {
    return this.#current
  }

  /** Reads the epoch from the store. */
  async read(): Promise<string> {
    const { epoch } = await this.#backend.meta.info()
    this.#current = epoch
    return epoch
  }
}
