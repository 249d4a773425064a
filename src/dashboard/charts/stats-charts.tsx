/** @module dashboard/charts/stats-charts  Shows the statistics of a worker: one chart per panel. */
import { useMemo } from 'react'
import type { HistoryBody, WorkerBody } from '../../protocol/index.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { clockText } from '../components/moments.ts'
import { ReadState } from '../components/read-state.tsx'
import { useServerNow } from '../components/use-now.ts'
import type { Marker } from './chart.tsx'
import { withGapUntil } from './columns.ts'
import { PanelView } from './panel-view.tsx'
import { usePalette } from './palette.ts'
import { useStats } from './use-stats.ts'

/** How often the end of the charts of a silent worker moves. */
const GAP_STEP_SECONDS = 15

export function StatsCharts({ worker, history }: { readonly worker: WorkerBody; readonly history: HistoryBody }) {
  const read = useStats(worker)
  const palette = usePalette()
  const markers = useMemo(() => markersOf(worker, history), [worker, history])
  const { data: stored } = read
  const minute = Math.floor(useServerNow() / GAP_STEP_SECONDS) * GAP_STEP_SECONDS
  const data = useMemo(() => stored && withGapUntil(stored, minute), [stored, minute])
  return (
    <section aria-label="Statistics" className="stats">
      <h2>Statistics {data?.ts[0] !== undefined && <span className="count">from {clockText(data.ts[0])}</span>}</h2>
      <ReadState read={read} />
      {data !== undefined &&
        (data.ts.length === 0 ? (
          <EmptyState kind="nothing" title="No statistics yet">
            <p>A worker sends statistics every 15 seconds; the master keeps the last hour.</p>
          </EmptyState>
        ) : (
          <div className={read.problem === undefined ? 'panels' : 'panels stale'}>
            {data.panels.map((panel) => (
              <PanelView
                key={panel.name}
                ts={data.ts}
                panel={panel}
                markers={markers}
                palette={palette}
                file={worker.worker_id}
              />
            ))}
          </div>
        ))}
    </section>
  )
}

function markersOf({ registered_at }: WorkerBody, history: HistoryBody): readonly Marker[] {
  return [
    { at: registered_at, text: 'registered' },
    ...history.map(({ ts, config_gen }) => ({ at: ts, text: `gen ${config_gen}` })),
  ]
}
