/** @module dashboard/parts/times  Ages that go on by themselves, the exact time in their tooltip. */
import { agoText, leftText } from './age.ts'
import { useServerNow } from './use-now.ts'

const exact = (seconds: number): string => new Date(seconds * 1_000).toLocaleString()

function Time({ at, text }: { readonly at: number; readonly text: string }) {
  return <time dateTime={new Date(at * 1_000).toISOString()} title={exact(at)}>{text}</time>
}

/** How long ago, on the master's clock. */
export function Age({ at }: { readonly at: number }) {
  return <Time at={at} text={agoText(useServerNow() - at)} />
}

/** How long still; `past` once it is over. */
export function Left({ until, past }: { readonly until: number; readonly past: string }) {
  return <Time at={until} text={leftText(until - useServerNow(), past)} />
}
