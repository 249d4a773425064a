/**
 * @module dashboard/config/saving
 * Defines the config version a draft is based on, and describes whether a saved version was applied.
 */
import type { ConfigBody, JsonObject } from '../../protocol/index.ts'

/** A config at one generation; epoch and generation form the If-Match of a PATCH (D15). */
export interface Base {
  readonly config: JsonObject
  readonly gen: number
  readonly epoch: string | null
}

/** @returns the If-Match header; null without an epoch, in which case the PATCH is unconditional. */
export const ifMatchOf = ({ epoch, gen }: Base): string | null => (epoch === null ? null : `"${epoch}.${gen}"`)

/** Prefers the saved config over a worker record that was read before the save. */
export function newestOf(read: Base, saved: Base | null): Base {
  return saved !== null && saved.epoch === read.epoch && saved.gen > read.gen ? saved : read
}

export const sameBase = (a: Base, b: Base): boolean => a.gen === b.gen && a.epoch === b.epoch

export const baseOf = ({ config, config_gen: gen }: ConfigBody, epoch: string | null): Base => ({
  config: config as JsonObject,
  gen,
  epoch,
})

/** Describes whether the worker applied a saved generation, and after how long. */
export function appliedText(
  gen: number,
  worker: { readonly applied_config_gen: number | null; readonly connected: boolean },
  appliedMs: number | null = null,
): string {
  if (worker.applied_config_gen !== null && worker.applied_config_gen >= gen)
    return `The worker applied it${appliedMs === null ? '' : ` after ${(appliedMs / 1_000).toFixed(1)} s`}.`
  return worker.connected
    ? 'The worker has not applied it yet.'
    : 'The worker is offline and applies the config when it reconnects.'
}
