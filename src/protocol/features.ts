/**
 * @module protocol/features
 * Names the optional parts of the worker protocol. A master lists those it supports in the header `Muster-Features` of
 * its response to the upgrade, separated by commas; a worker uses a part only if it is listed (D125).
 */

/** `stream`: rpc requests that accept lines, and `tasks.reserve` with `stream`. */
export const FEATURES = ['stream'] as const
/** The name of an optional part. */
export type Feature = (typeof FEATURES)[number]

/** The media type of rpc responses in lines. */
export const LINES_TYPE = 'application/x-ndjson'

/** The header of the response to an upgrade, in lower case. */
export const FEATURES_HEADER = 'muster-features'

/**
 * Reads the header.
 * @param header Its value; undefined or a list means no feature.
 * @returns the features that this release knows.
 */
export function featuresIn(header: string | readonly string[] | undefined): ReadonlySet<Feature> {
  const names = (typeof header === 'string' ? header : '').split(',').map((name) => name.trim())
  return new Set(FEATURES.filter((feature) => names.includes(feature)))
}
