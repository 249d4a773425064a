/** @module dashboard/components/moments  Formats points in time in the preferred time zone. */
import { preferences } from '../settings/preferences.ts'

interface Formats {
  readonly clock: Intl.DateTimeFormat
  readonly short: Intl.DateTimeFormat
  readonly moment: Intl.DateTimeFormat
  readonly mark: string
}

/** Formatters are created once: creating one costs about a hundred times as much as using it. */
function formatsFor(zone: { readonly timeZone?: 'UTC' }, mark: string): Formats {
  return {
    clock: new Intl.DateTimeFormat('en-GB', { ...zone, hour: '2-digit', minute: '2-digit', second: '2-digit' }),
    short: new Intl.DateTimeFormat('en-GB', { ...zone, hour: '2-digit', minute: '2-digit' }),
    moment: new Intl.DateTimeFormat('en-GB', { ...zone, dateStyle: 'medium', timeStyle: 'medium' }),
    mark,
  }
}

const LOCAL = formatsFor({}, '')
const UTC = formatsFor({ timeZone: 'UTC' }, ' UTC')

function text(which: 'clock' | 'short' | 'moment', seconds: number): string {
  const formats = preferences().utc ? UTC : LOCAL
  return `${formats[which].format(seconds * 1_000)}${formats.mark}`
}

/** `14:02:07`. @param seconds Unix seconds. */
export const clockText = (seconds: number): string => text('clock', seconds)

/** `14:02`. */
export const shortClockText = (seconds: number): string => text('short', seconds)

/** `22 Nov 2026, 14:02:07`. */
export const momentText = (seconds: number): string => text('moment', seconds)
