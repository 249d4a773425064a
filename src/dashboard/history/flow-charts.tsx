/** @module dashboard/history/flow-charts  Draws what went into each queue, was done and failed, busiest queue first. */
import type { FleetHistoryBody } from '../../protocol/index.ts'
import { PanelView } from '../charts/panel-view.tsx'
import { usePalette } from '../charts/palette.ts'
import { formatRoute } from '../route.ts'
import { byActivity, flowColumns } from './columns.ts'
import type { Range } from './ranges.ts'

const SHOWN = 4

interface FlowChartsProps {
  readonly history: FleetHistoryBody
  /** The only type to show; null for the busiest ones. */
  readonly only: string | null
  readonly range: Range
}

export function FlowCharts({ history, only, range }: FlowChartsProps) {
  const palette = usePalette()
  const types = only === null ? byActivity(history.automations).slice(0, SHOWN) : [only]
  return (
    <div className="flows">
      {types.map((type) => {
        const { ts, panels } = flowColumns(type, history.automations[type] ?? [], history.step)
        return panels.map((panel) => (
          <PanelView
            key={type}
            ts={ts}
            panel={panel}
            markers={[]}
            palette={palette}
            file={type}
            range={history}
            height={only === null && types.length > 1 ? 92 : 200}
            href={formatRoute({ page: 'tasks', type, range })}
          />
        ))
      })}
    </div>
  )
}
