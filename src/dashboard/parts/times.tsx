/** @module dashboard/parts/times  Ages that go on by themselves, the exact time in their tooltip. */
import { agoText, lastingText, leftText, spanText } from './age.ts'
import { momentText } from './moments.ts'
import { useServerNow } from './use-now.ts'

const MOST_SECONDS = 8.64e12 // Beyond it, Date knows no time.

function Time({ at, text }: { readonly at: number; readonly text: string }) {
  if (!(Math.abs(at) <= MOST_SECONDS)) return <span>{text}</span>
  return (
    <time dateTime={new Date(at * 1_000).toISOString()} title={momentText(at)}>
      {text}
    </time>
  )
}

/** How long ago, on the master's clock: `5 s ago`. */
export function Age({ at }: { readonly at: number }) {
  return <Time at={at} text={agoText(useServerNow() - at)} />
}

/** The same, where the column says what it is: `5 s`. */
export function Span({ since }: { readonly since: number }) {
  return <Time at={since} text={spanText(useServerNow() - since)} />
}

/** The same, in a sentence: `for 5 s`. */
export function Lasting({ since }: { readonly since: number }) {
  return <Time at={since} text={lastingText(useServerNow() - since)} />
}

/** How long still; `past` once it is over. */
export function Left({ until, past }: { readonly until: number; readonly past: string }) {
  return <Time at={until} text={leftText(until - useServerNow(), past)} />
}

/** The time itself. */
export function Moment({ at }: { readonly at: number }) {
  return <Time at={at} text={momentText(at)} />
}
