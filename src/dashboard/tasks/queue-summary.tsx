/** @module dashboard/tasks/queue-summary  Shows one table row per queue: tiers, oldest task, workers and dead tasks. */
import type { OverviewBody, QueueTotals } from '../../protocol/index.ts'
import type { Read } from '../api/queries.ts'
import { CardTable, Cell, Row, RowHead } from '../components/card-table.tsx'
import { countText } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { PlainAge } from '../components/times.tsx'
import { formatRoute } from '../route.ts'
import { CauseList, useQueueCauses } from '../diagnosis/causes.tsx'

const COLUMNS = [
  'Queue',
  'High',
  'Normal',
  'Low',
  'Oldest',
  'In flight',
  'Scheduled',
  'Dead',
  'Workers',
  'Slots',
  'Why',
] as const

export function QueueSummary({
  types,
  read,
}: {
  readonly types: readonly string[]
  readonly read: Read<OverviewBody>
}) {
  return (
    <ReadView read={read}>
      {({ automations }) => (
        <div className="queues">
          <CardTable label="Queues" columns={COLUMNS} numbers={COLUMNS.slice(1, -1)} stale={read.problem !== undefined}>
            {types.map((type) => {
              const of = automations[type]
              return of === undefined ? null : <QueueRow key={type} type={type} of={of} />
            })}
          </CardTable>
        </div>
      )}
    </ReadView>
  )
}

function QueueRow({
  type,
  of: { queue, workers, slots },
}: {
  readonly type: string
  readonly of: OverviewBody['automations'][string]
}) {
  if (queue === null) return null
  const { high, normal, low, in_flight: inFlight, scheduled, dead, oldest_submitted_at: oldest } = queue
  return (
    <Row>
      <RowHead of="Queue">
        <a href={formatRoute({ page: 'tasks', type })}>
          <bdi>{type}</bdi>
        </a>
      </RowHead>
      <Cell of="High" className="number">
        {countText(high)}
      </Cell>
      <Cell of="Normal" className="number">
        {countText(normal)}
      </Cell>
      <Cell of="Low" className="number">
        {countText(low)}
      </Cell>
      <Cell of="Oldest" className="number">
        {oldest === null || high + normal + low === 0 ? '–' : <PlainAge since={oldest} />}
      </Cell>
      <Cell of="In flight" className="number">
        {countText(inFlight)}
      </Cell>
      <Cell of="Scheduled" className="number">
        {countText(scheduled)}
      </Cell>
      <Cell of="Dead" className="number">
        {dead === 0 ? (
          '0'
        ) : (
          <a className="bad" href={formatRoute({ page: 'tasks', type, tab: 'dead' })}>
            {countText(dead)}
          </a>
        )}
      </Cell>
      <Cell of="Workers" className="number">
        <a href={formatRoute({ page: 'workers', q: `type:${type}` })}>
          {countText(workers.connected)} of {countText(workers.total)}
        </a>
      </Cell>
      <Cell of="Slots" className="number">
        {countText(slots)}
      </Cell>
      <Cell of="Why" className="why-short">
        <MainCause type={type} queue={queue} />
      </Cell>
    </Row>
  )
}

/** Longer than on the page of a queue, because there may be many types. */
const RUNS_EVERY_MS = 15_000

function MainCause({ type, queue }: { readonly type: string; readonly queue: QueueTotals }) {
  const causes = useQueueCauses({ type, queue }, RUNS_EVERY_MS)
  if (causes === undefined) return <span className="soft">…</span>
  return <CauseList causes={causes.slice(0, 1)} />
}
