/** @module diagnosis/texts  Formats counts and durations. */

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

export const countText = (n: number): string => grouped.format(n)

/** `1 worker`, `2 workers`. */
export const plural = (n: number, one: string, many = `${one}s`): string => `${countText(n)} ${n === 1 ? one : many}`

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

/** `5 s ago`; `just now`. */
export function agoText(seconds: number): string {
  const span = spanText(seconds)
  return span === 'now' ? 'just now' : `${span} ago`
}
