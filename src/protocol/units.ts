/**
 * @module protocol/units
 * Code counts milliseconds; the wire, settings and plugins count seconds.
 */

/** Converts milliseconds to seconds, with fractions. */
export const toSeconds = (ms: number): number => ms / 1_000
/** Converts seconds to whole milliseconds, rounded. */
export const toMs = (seconds: number): number => Math.round(seconds * 1_000)
