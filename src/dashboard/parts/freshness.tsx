/**
 * @module dashboard/parts/freshness
 * How old what you see is. When the newest try failed, the data stay, and this says of when they are and why.
 */
import type { PolledNow } from '../api/use-polled.ts'
import { agoText } from './age.ts'
import { ProblemBox } from './problem-box.tsx'
import { useLocalNow } from './use-now.ts'

export function Freshness({ polled, every }: { readonly polled: PolledNow<unknown>; readonly every: string }) {
  const now = useLocalNow()
  const { atMs, problem, refresh } = polled
  if (problem === undefined) {
    return <p className="freshness">{atMs === undefined ? 'Reading…' : `Read ${readText(now - atMs)}, and every ${every}.`}</p>
  }
  const old = atMs === undefined ? 'Nothing could be read yet.' : `Below are the last good data, of ${new Date(atMs).toLocaleTimeString()} (${agoText((now - atMs) / 1_000)}).`
  return (
    <ProblemBox problem={problem}>
      <p>{old} It is tried again every {every}. <button type="button" className="link" onClick={refresh}>Try now</button></p>
    </ProblemBox>
  )
}

const readText = (ageMs: number): string => (ageMs < 1_000 ? 'just now' : agoText(ageMs / 1_000))
