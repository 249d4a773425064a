/** @module storage/store-info  Defines what `muster store info` reads of a store, without opening it. */

export interface StoredMaster {
  readonly id: string
  /** Seconds since its last heartbeat, by the clock of the store. */
  readonly beatAgeSeconds: number
  /** What the master declared (D120); null: nothing. */
  readonly release: string | null
}

export interface StoreInfo {
  /** The recorded schema, of which the needs are a part; null: no master has used this store. */
  readonly schema: number | null
  readonly epoch: string | null
  /** What the data needs beside the layout (D121), in the order in which it was recorded. */
  readonly needs: readonly string[]
  /** The masters that use the store; null: it does not record them. */
  readonly masters: readonly StoredMaster[] | null
}

/** @returns the names of the recorded needs. @param recorded Separated by spaces. */
export const needsIn = (recorded: unknown): readonly string[] =>
  typeof recorded === 'string' ? recorded.split(' ').filter((need) => need !== '') : []
