/** @module dashboard/history/flow-card  The card of the overview with the throughput of the queues. */
import { lazy, Suspense } from 'react'
import { isBatch } from '../api/automations.ts'
import { useInstalled } from '../api/installed.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { ReadView } from '../components/read-state.tsx'
import type { RouteTo } from '../route.ts'
import { replaceRoute } from '../use-route.ts'
import { RangePicker } from './range-picker.tsx'
import { useFleetHistory } from './use-history.ts'
import './history.css'

const FlowCharts = lazy(async () => ({ default: (await import('./flow-charts.tsx')).FlowCharts }))

export function FlowCard({ route: { type, range } }: { readonly route: RouteTo<'overview'> }) {
  const types = useInstalled()
    .automations.filter(isBatch)
    .map((each) => each.type)
  const read = useFleetHistory(range)
  if (types.length === 0) return null
  const only = types.includes(type) ? type : null
  return (
    <section className="card flow-card" aria-labelledby="flow-title">
      <div className="title">
        <h2 id="flow-title">Throughput</h2>
        {types.length > 1 && (
          <select
            aria-label="Queue"
            value={only ?? ''}
            onChange={(event) => replaceRoute({ page: 'overview', type: event.target.value, range })}
          >
            <option value="">busiest queues</option>
            {types.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        )}
        <RangePicker open={range} to={(to) => ({ page: 'overview', type, range: to })} />
      </div>
      <ReadView read={read}>
        {(history) =>
          Object.values(history.automations).every((steps) => steps.length === 0) ? (
            <EmptyState kind="nothing" title="No history yet">
              <p>The master counts the queues every 15 seconds and keeps 30 days.</p>
            </EmptyState>
          ) : (
            <Suspense fallback={<p className="reading">Loading…</p>}>
              <FlowCharts history={history} only={only} range={range} />
            </Suspense>
          )
        }
      </ReadView>
    </section>
  )
}
