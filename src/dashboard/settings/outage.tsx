/**
 * @module dashboard/settings/outage
 * Shows dashboard-wide warnings: the master is not responding, or this computer's clock is wrong.
 */
import { useUnavailableSince, connectivity } from '../api/connectivity.ts'
import { serverClock } from '../api/session.ts'
import { spanText } from '../components/age.ts'
import { clockText } from '../components/moments.ts'
import { useLocalNow } from '../components/use-now.ts'

const PATIENCE_MS = 5_000
const SKEW_SECONDS = 30

export function Outage() {
  const since = useUnavailableSince()
  const now = useLocalNow()
  const skew = serverClock.behindSeconds
  return (
    <output className="outage">
      {since !== undefined && now - since >= PATIENCE_MS && (
        <span className="problem">
          <strong>The master has not responded since {clockText(since / 1_000)}.</strong>{' '}
          {connectivity.now.lastResponseAtMs === undefined
            ? 'No data has been loaded yet.'
            : `Showing data from ${clockText(connectivity.now.lastResponseAtMs / 1_000)}.`}{' '}
          The page reconnects automatically.
        </span>
      )}
      {Math.abs(skew) > SKEW_SECONDS && (
        <span className="notice">
          This computer&apos;s clock is {spanText(Math.abs(skew))} {skew > 0 ? 'behind' : 'ahead of'} the master&apos;s.
          Ages use the master&apos;s clock.
        </span>
      )}
    </output>
  )
}
