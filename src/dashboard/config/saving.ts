/**
 * @module dashboard/config/saving
 * Which config a form stands on, what became of its PATCH, and the words for both.
 */
import type { ConfigBody, JsonObject } from '../../protocol/index.ts'

/** A config at one generation; the mark that a PATCH names in If-Match (D15). */
export interface Base {
  readonly config: JsonObject
  readonly gen: number
  readonly epoch: string | null
}

/** null: without an epoch nothing can be named, and the PATCH is sent unconditionally. */
export const ifMatchOf = ({ epoch, gen }: Base): string | null => (epoch === null ? null : `"${epoch}.${gen}"`)

/** A saved config is newer than the record that was read before it. */
export function newestOf(read: Base, saved: Base | null): Base {
  return saved !== null && saved.epoch === read.epoch && saved.gen > read.gen ? saved : read
}

export const sameBase = (a: Base, b: Base): boolean => a.gen === b.gen && a.epoch === b.epoch

export const baseOf = ({ config, config_gen: gen }: ConfigBody, epoch: string | null): Base => ({
  config: config as JsonObject,
  gen,
  epoch,
})

/** Whether a saved generation has reached the worker, and how long that took. */
export function appliedText(
  gen: number,
  worker: { readonly applied_config_gen: number | null; readonly connected: boolean },
  appliedMs: number | null = null,
): string {
  if (worker.applied_config_gen !== null && worker.applied_config_gen >= gen)
    return `The worker applied it${appliedMs === null ? '' : ` after ${(appliedMs / 1_000).toFixed(1)} s`}.`
  return worker.connected
    ? 'The worker has not applied it yet.'
    : 'The worker is offline; it takes the config when it is back.'
}
