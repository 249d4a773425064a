/**
 * @module protocol/units
 * Converts between milliseconds, which code uses, and seconds, which the wire, settings and plugins use.
 */

/**
 * Converts milliseconds to seconds.
 * @param ms Milliseconds, any number.
 * @returns seconds, with fractions.
 */
export const toSeconds = (ms: number): number => ms / 1_000
/**
 * Converts seconds to milliseconds.
 * @param seconds Seconds, any number.
 * @returns whole milliseconds, rounded.
 */
export const toMs = (seconds: number): number => Math.round(seconds * 1_000)
