/**
 * @module protocol/features
 * Names the optional parts of the worker protocol. A master lists those it supports in the header `Muster-Features` of
 * its response to the upgrade, separated by commas; a worker uses a part only if it is listed (D125).
 */

/** `stream`: rpc requests that accept lines, and `tasks.reserve` with `stream`. */
export const FEATURES = ['stream'] as const
export type Feature = (typeof FEATURES)[number]

export const FEATURES_HEADER = 'muster-features'

/** @returns the features in a header that this release knows; none without a header. */
export function featuresIn(header: string | readonly string[] | undefined): ReadonlySet<Feature> {
  const names = (typeof header === 'string' ? header : '').split(',').map((name) => name.trim())
  return new Set(FEATURES.filter((feature) => names.includes(feature)))
}
