/** @module dashboard/history/queue-charts  Draws the history of a queue: rates, waiting tasks, wait and run times. */
import type { QueueHistoryBody } from '../../protocol/index.ts'
import { PanelView } from '../charts/panel-view.tsx'
import { usePalette } from '../charts/palette.ts'
import { queueColumns } from './columns.ts'

export function QueueCharts({ type, history }: { readonly type: string; readonly history: QueueHistoryBody }) {
  const palette = usePalette()
  const { ts, panels } = queueColumns(history.steps, history.step)
  return (
    <div className="panels">
      {panels.map((panel) => (
        <PanelView key={panel.name} ts={ts} panel={panel} markers={[]} palette={palette} file={type} range={history} />
      ))}
    </div>
  )
}
