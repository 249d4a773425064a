/** @module dashboard/tasks/tier-bars  Shows the queue totals of a type: tiers as bars, other states as numbers. */
import type { QueueTotals } from '../../protocol/index.ts'
import { countText } from '../components/numbers.ts'
import { PlainAge } from '../components/times.tsx'
import { formatRoute } from '../route.ts'
import { TIERS, waitingOf } from './tiers.ts'
import './tiers.css'
import './tasks.css'

export function TierBars({ type, queue }: { readonly type: string; readonly queue: QueueTotals }) {
  const waiting = waitingOf(queue)
  return (
    <div className="totals">
      <dl className="tiers">
        {TIERS.map((tier) => (
          <div key={tier}>
            <dt>{tier}</dt>
            <dd>{countText(queue[tier])}</dd>
            <svg className={`bar wait-${tier}`} aria-hidden="true">
              <rect width={`${waiting === 0 ? 0 : (queue[tier] / waiting) * 100}%`} height="100%" />
            </svg>
          </div>
        ))}
      </dl>
      <dl className="places-of-tasks">
        <div>
          <dt>waiting</dt>
          <dd>{countText(waiting)}</dd>
        </div>
        <div>
          <dt>oldest</dt>
          <dd>
            {queue.oldest_submitted_at === null || waiting === 0 ? '–' : <PlainAge since={queue.oldest_submitted_at} />}
          </dd>
        </div>
        <div>
          <dt>in flight</dt>
          <dd>{countText(queue.in_flight)}</dd>
        </div>
        <div>
          <dt>scheduled</dt>
          <dd>{countText(queue.scheduled)}</dd>
        </div>
        <div>
          <dt>dead</dt>
          <dd>
            {queue.dead === 0 ? (
              '0'
            ) : (
              <a className="bad" href={formatRoute({ page: 'tasks', type, tab: 'dead' })}>
                {countText(queue.dead)}
              </a>
            )}
          </dd>
        </div>
      </dl>
    </div>
  )
}
