/**
 * @module protocol/units
 * Code counts milliseconds; the wire, settings and plugins count seconds.
 */

export const toSeconds = (ms: number): number => ms / 1_000
export const toMs = (seconds: number): number => Math.round(seconds * 1_000)
