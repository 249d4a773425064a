/** @module storage/sqlite/prune-cost  Bounds a step of the idle work in bytes as well as in rows. */
const BYTES_PER_ROW = 8_192

/** As how many rows a removed row counts: a step of 1,000 rows frees about 8 MiB (D84). */
export const pruneCost = (bytes: number): number => Math.max(1, Math.ceil(bytes / BYTES_PER_ROW))
