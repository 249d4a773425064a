/**
 * @module dashboard/settings/outage
 * What holds for the whole page: the master does not answer, or the clock of this computer is wrong.
 */
import { useAwaySince, reach } from '../api/reach.ts'
import { serverClock } from '../api/session.ts'
import { spanText } from '../parts/age.ts'
import { clockText } from '../parts/moments.ts'
import { useLocalNow } from '../parts/use-now.ts'

const PATIENCE_MS = 5_000
const SKEW_SECONDS = 30

export function Outage() {
  const since = useAwaySince()
  const now = useLocalNow()
  const skew = serverClock.behindSeconds
  return (
    <output className="outage">
      {since !== undefined && now - since >= PATIENCE_MS && (
        <span className="problem">
          <strong>The master does not answer since {clockText(since / 1_000)}.</strong>{' '}
          {reach.now.answeredAtMs === undefined
            ? 'Nothing was read yet.'
            : `What you see is of ${clockText(reach.now.answeredAtMs / 1_000)}.`}{' '}
          The page goes on by itself when the master is back.
        </span>
      )}
      {Math.abs(skew) > SKEW_SECONDS && (
        <span className="notice">
          The clock of this computer is {spanText(Math.abs(skew))} {skew > 0 ? 'behind' : 'ahead of'} the master&apos;s.
          Ages here follow the master&apos;s clock.
        </span>
      )}
    </output>
  )
}
