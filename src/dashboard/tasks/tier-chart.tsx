/**
 * @module dashboard/tasks/tier-chart
 * Draws the waiting tasks of the last hour as stacked areas by tier (D48). Gaps stay gaps.
 */
/* oxlint-disable jsx-a11y/prefer-tag-over-role -- an inline SVG cannot be an <img> */
import type { QueueSample } from '../../protocol/index.ts'
import { useRead, type Read } from '../api/queries.ts'
import { shortClockText } from '../components/moments.ts'
import { countText } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { useServerNow } from '../components/use-now.ts'
import { areaPoints, mostWaiting, runsOf, TIERS, type PlotArea } from './tier-history.ts'
import './tier-chart.css'

/** The sampling interval of the master. Reading more often returns the same samples. */
const EVERY_MS = 15_000
const HOUR_SECONDS = 3_600
const SIZE = { width: 600, height: 96 }

export const useQueueSamples = (type: string): Read<readonly QueueSample[]> =>
  useRead(
    ['queue-samples', type],
    EVERY_MS,
    async (api, signal) =>
      (await api.get<readonly QueueSample[]>(['automations', type, 'queue', 'stats'], {}, signal)).body,
  )

export function TierChart({ type }: { readonly type: string }) {
  return <ReadView read={useQueueSamples(type)}>{(samples) => <TierAreas samples={samples} />}</ReadView>
}

function TierAreas({ samples }: { readonly samples: readonly QueueSample[] }) {
  const now = Math.floor(useServerNow() / 15) * 15
  const [first] = samples
  const most = mostWaiting(samples)
  const box: PlotArea = { ...SIZE, fromTs: now - HOUR_SECONDS, toTs: now, most }
  const isYoung = first === undefined || first.ts > now - HOUR_SECONDS + 60
  return (
    <figure className="history">
      <p className="legend">
        {TIERS.map((tier) => (
          <span key={tier} className={`wait-${tier}`}>
            <svg className="swatch" aria-hidden="true">
              <rect width="100%" height="100%" />
            </svg>{' '}
            {tier}
          </span>
        ))}
      </p>
      <span className="most soft">{countText(most)}</span>
      <svg
        viewBox={`0 0 ${SIZE.width} ${SIZE.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Tasks waiting in the last hour: peak ${countText(most)}`}
      >
        {runsOf(samples).flatMap((run) =>
          TIERS.map((tier) => (
            <polygon key={`${run[0]?.ts} ${tier}`} className={`wait-${tier}`} points={areaPoints(run, tier, box)} />
          )),
        )}
      </svg>
      <figcaption className="soft">
        <span>{shortClockText(box.fromTs)}</span>
        <span>{isYoung && (first === undefined ? 'no data yet' : `data from ${shortClockText(first.ts)}`)}</span>
        <span>{shortClockText(now)}</span>
      </figcaption>
    </figure>
  )
}
