/** @module dashboard/components/age  Formats ages and durations. */

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A duration: `now`, `5 s`, `3 min`, `2 h 5 min`, `4 d`. Negative durations, caused by clock skew, are `now`. */
export function spanText(seconds: number): string {
  const whole = Math.floor(seconds)
  if (whole < 1) return 'now'
  if (whole < MINUTE) return `${whole} s`
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} min`
  if (whole >= 2 * DAY) return `${Math.floor(whole / DAY)} d`
  const minutes = Math.floor((whole % HOUR) / MINUTE)
  return minutes === 0 ? `${Math.floor(whole / HOUR)} h` : `${Math.floor(whole / HOUR)} h ${minutes} min`
}

/** `5 s ago`; `now`. */
export function agoText(seconds: number): string {
  const span = spanText(seconds)
  return span === 'now' ? span : `${span} ago`
}

/** `for 5 s`; `just now`. */
export function durationText(seconds: number): string {
  const span = spanText(seconds)
  return span === 'now' ? 'just now' : `for ${span}`
}

/** `in 5 s`; `past` once the time has passed. */
export function leftText(seconds: number, past: string): string {
  return seconds <= 0 ? past : `in ${seconds < 1 ? '1 s' : spanText(seconds)}`
}
