/** @module dashboard/history/queue-history  Shows the history of a queue in the time range of the address. */
import { lazy, Suspense } from 'react'
import { EmptyState } from '../components/empty-state.tsx'
import { ReadView } from '../components/read-state.tsx'
import { RangePicker } from './range-picker.tsx'
import { RANGE_NAMES, type Range } from './ranges.ts'
import { useQueueHistory } from './use-history.ts'
import './history.css'

const QueueCharts = lazy(async () => ({ default: (await import('./queue-charts.tsx')).QueueCharts }))

export function QueueHistory({ type, range }: { readonly type: string; readonly range: Range }) {
  const read = useQueueHistory(type, range)
  return (
    <section className="queue-history" aria-label="History">
      <div className="title">
        <h2>
          History <span className="count">{RANGE_NAMES[range]}</span>
        </h2>
        <RangePicker open={range} to={(to) => ({ page: 'tasks', type, range: to })} />
      </div>
      <ReadView read={read}>
        {(history) =>
          history.steps.length === 0 ? (
            <EmptyState kind="nothing" title="No history yet">
              <p>The master counts the queue every 15 seconds and keeps 30 days.</p>
            </EmptyState>
          ) : (
            <Suspense fallback={<p className="reading">Loading…</p>}>
              <QueueCharts type={type} history={history} />
            </Suspense>
          )
        }
      </ReadView>
    </section>
  )
}
