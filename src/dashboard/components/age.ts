/** @module dashboard/components/age  Formats ages and durations. */
import { agoText, spanText } from '../../diagnosis/texts.ts'

export { agoText, spanText }

/** `for 5 s`; `just now`. */
export function durationText(seconds: number): string {
  const span = spanText(seconds)
  return span === 'now' ? 'just now' : `for ${span}`
}

/** `in 5 s`; `past` once the time has passed. */
export function leftText(seconds: number, past: string): string {
  return seconds <= 0 ? past : `in ${seconds < 1 ? '1 s' : spanText(seconds)}`
}
