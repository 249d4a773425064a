/** @module dashboard/charts/ticks  Formats the labels of a time axis. */
const SECONDS_A_DAY = 86_400

/** Formatters are created once: creating one costs about a hundred times as much as using it. */
function formatsFor(zone: { readonly timeZone?: 'UTC' }) {
  return {
    clock: new Intl.DateTimeFormat('en-GB', { ...zone, hour: '2-digit', minute: '2-digit', second: '2-digit' }),
    short: new Intl.DateTimeFormat('en-GB', { ...zone, hour: '2-digit', minute: '2-digit' }),
    day: new Intl.DateTimeFormat('en-GB', { ...zone, day: 'numeric', month: 'short' }),
  }
}

const LOCAL = formatsFor({})
const UTC = formatsFor({ timeZone: 'UTC' })

/**
 * `14:02`, `14:02:07` if steps are shorter than a minute, and `22 Nov` where a day begins.
 *
 * @param seconds Unix seconds.
 * @param stepSeconds The distance between two labels.
 */
export function tickText(seconds: number, stepSeconds: number, isUtc: boolean): string {
  const { clock, short, day } = isUtc ? UTC : LOCAL
  const time = clock.format(seconds * 1_000)
  if (stepSeconds >= SECONDS_A_DAY || time === '00:00:00') return day.format(seconds * 1_000)
  return stepSeconds < 60 ? time : short.format(seconds * 1_000)
}
