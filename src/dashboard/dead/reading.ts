/**
 * @module dashboard/dead/reading
 * Decides when dead letters are read: when their number changes, which an event reports, and otherwise rarely.
 */

/** How often dead letters are read without an event: 5 s while no events arrive. */
export const pollEveryMs = (isLive: boolean): number => (isLive ? 60_000 : 5_000)

const MIN_REREAD_MS = 2_000
/** Limits what a long list costs while tasks keep dying. */
const CHARACTERS_PER_SECOND = 50_000

/** How long to wait between two reads of dead letters whose number changes. @param characters Of the last response. */
export const rereadAfterMs = (characters: number): number =>
  Math.max(MIN_REREAD_MS, (characters / CHARACTERS_PER_SECOND) * 1_000)
