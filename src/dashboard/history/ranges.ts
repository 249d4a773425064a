/** @module dashboard/history/ranges  Defines the time ranges of histories, as the address has them. */

export const RANGES = ['15m', '1h', '6h', '24h', '7d', '30d'] as const
export type Range = (typeof RANGES)[number]
export const DEFAULT_RANGE: Range = '1h'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Length of a range, the length of its steps, and the interval of its reads, in seconds. */
export const RANGE_OF: Readonly<
  Record<Range, { readonly seconds: number; readonly step: number; readonly everySeconds: number }>
> = {
  '15m': { seconds: 15 * MINUTE, step: 15, everySeconds: 15 },
  '1h': { seconds: HOUR, step: 30, everySeconds: 30 },
  '6h': { seconds: 6 * HOUR, step: MINUTE, everySeconds: 30 },
  '24h': { seconds: DAY, step: 5 * MINUTE, everySeconds: 60 },
  '7d': { seconds: 7 * DAY, step: HOUR, everySeconds: 5 * MINUTE },
  '30d': { seconds: 30 * DAY, step: 4 * HOUR, everySeconds: 5 * MINUTE },
}

export const RANGE_NAMES: Readonly<Record<Range, string>> = {
  '15m': 'last 15 minutes',
  '1h': 'last hour',
  '6h': 'last 6 hours',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
  '30d': 'last 30 days',
}
