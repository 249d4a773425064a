/** @module dashboard/workers/worker-table  Workers as rows. */
import type { WorkerBody } from '../../protocol/index.ts'
import { CardTable, Cell, Row, RowHead } from '../parts/card-table.tsx'
import { cutText } from '../parts/json-text.ts'
import { measureText } from '../parts/numbers.ts'
import { StateBadge } from '../parts/state-badge.tsx'
import { Age } from '../parts/times.tsx'
import { formatRoute } from '../route.ts'
import { configText, isBehind } from './display-state.ts'

const COLUMNS = ['Worker', 'State', 'Slots', 'CPU', 'Memory', 'Config', 'Seen', 'Last error'] as const
const ERROR_CHARACTERS = 160

export function WorkerTable({ workers, stale }: { readonly workers: readonly WorkerBody[]; readonly stale: boolean }) {
  return (
    <CardTable label="Workers" columns={COLUMNS} stale={stale}>
      {workers.map((worker) => <WorkerRow key={`${worker.automation_type}/${worker.worker_id}`} worker={worker} />)}
    </CardTable>
  )
}

function WorkerRow({ worker }: { readonly worker: WorkerBody }) {
  const { worker_id: id, automation_type: type, current_stats: stats, connected, last_error: error } = worker
  const live = connected ? stats : null // Of a worker that is away, these numbers are history.
  return (
    <Row>
      <RowHead of="Worker">
        <a href={formatRoute({ place: 'worker', type, id })}><bdi>{id}</bdi></a>
        <span className="under"><bdi>{type}</bdi>{worker.managed_by !== null && <> · managed by <bdi>{worker.managed_by}</bdi></>}</span>
      </RowHead>
      <Cell of="State"><StateBadge worker={worker} /></Cell>
      <Cell of="Slots" className="number">{live === null ? '–' : live.slots}</Cell>
      <Cell of="CPU" className="number">{live === null ? '–' : `${measureText(live.cpu_pct)} %`}</Cell>
      <Cell of="Memory" className="number">{live === null ? '–' : `${measureText(live.rss_mb)} MB`}</Cell>
      <Cell of="Config" className={isBehind(worker) ? 'warn' : ''}>{configText(worker)}</Cell>
      <Cell of="Seen" className="number"><Age at={worker.last_seen} /></Cell>
      <Cell of="Last error" className="error"><bdi>{error === null ? '' : cutText(error, ERROR_CHARACTERS)}</bdi></Cell>
    </Row>
  )
}
