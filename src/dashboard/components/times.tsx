/** @module dashboard/components/times  Renders ages that update themselves, with the exact time as a tooltip. */
import { agoText, durationText, leftText, spanText } from './age.ts'
import { momentText } from './moments.ts'
import { useServerNow } from './use-now.ts'

const MOST_SECONDS = 8.64e12 // The largest time that Date supports.

function Time({ at, text }: { readonly at: number; readonly text: string }) {
  if (!(Math.abs(at) <= MOST_SECONDS)) return <span>{text}</span>
  return (
    <time dateTime={new Date(at * 1_000).toISOString()} title={momentText(at)}>
      {text}
    </time>
  )
}

/** The age on the master's clock: `5 s ago`. */
export function Age({ at }: { readonly at: number }) {
  return <Time at={at} text={agoText(useServerNow() - at)} />
}

/** The age as a plain duration: `5 s`. */
export function PlainAge({ since }: { readonly since: number }) {
  return <Time at={since} text={spanText(useServerNow() - since)} />
}

/** The age in a sentence: `for 5 s`. */
export function Duration({ since }: { readonly since: number }) {
  return <Time at={since} text={durationText(useServerNow() - since)} />
}

/** The time remaining; `past` once it has passed. */
export function TimeLeft({ until, past }: { readonly until: number; readonly past: string }) {
  return <Time at={until} text={leftText(until - useServerNow(), past)} />
}

/** Date and time. */
export function Moment({ at }: { readonly at: number }) {
  return <Time at={at} text={momentText(at)} />
}
