/** @module dashboard/overview/automations-table  Shows workers, queue and output of each automation in a table row. */
import type { ReactNode } from 'react'
import type { OverviewBody } from '../../protocol/index.ts'
import { CardTable, Cell, Row, RowHead } from '../components/card-table.tsx'
import { countText } from '../components/numbers.ts'
import { PlainAge } from '../components/times.tsx'
import { formatRoute } from '../route.ts'
import { waitingOf } from './numbers.ts'

const COLUMNS = [
  'Automation',
  'Workers',
  'Slots',
  'Waiting',
  'Oldest',
  'In flight',
  'Scheduled',
  'Dead',
  'Output',
] as const

export function AutomationsTable({ overview, stale }: { readonly overview: OverviewBody; readonly stale: boolean }) {
  return (
    <section aria-labelledby="automations-title">
      <h2 id="automations-title">Automations</h2>
      <CardTable label="Automations" columns={COLUMNS} numbers={COLUMNS.slice(2)} stale={stale}>
        {Object.entries(overview.automations).map(([type, each]) => (
          <AutomationRow key={type} type={type} of={each} />
        ))}
      </CardTable>
    </section>
  )
}

type Automation = OverviewBody['automations'][string]

function AutomationRow({ type, of }: { readonly type: string; readonly of: Automation }) {
  const { workers, slots, queue, stream } = of
  const offline = workers.total - workers.connected
  const inError = workers.connected_in_error ?? workers.ERROR
  return (
    <Row>
      <RowHead of="Automation">
        <a href={formatRoute({ page: 'automations', type })}>
          <bdi>{type}</bdi>
        </a>
      </RowHead>
      <Cell of="Workers">
        <a href={formatRoute({ page: 'workers', q: `type:${type}` })}>{countText(workers.connected)}</a>
        {offline > 0 && <span className="offline"> + {countText(offline)} offline</span>}
        {inError > 0 && <span className="bad"> · {countText(inError)} in ERROR</span>}
      </Cell>
      <Cell of="Slots" className="number">
        {countText(slots)}
      </Cell>
      {queue === null ? (
        <Cell of="Waiting" className="number">
          <span className="soft">continuous</span>
        </Cell>
      ) : (
        <Cell of="Waiting" className="number">
          <a href={formatRoute({ page: 'tasks', type })}>{countText(waitingOf(of))}</a>
        </Cell>
      )}
      <Cell of="Oldest" className="number">
        {oldestOf(queue)}
      </Cell>
      <Cell of="In flight" className="number">
        {queue === null ? '' : countText(queue.in_flight)}
      </Cell>
      <Cell of="Scheduled" className="number">
        {queue === null ? '' : countText(queue.scheduled)}
      </Cell>
      <Cell of="Dead" className="number">
        {deadOf(type, queue)}
      </Cell>
      <Cell of="Output" className="number">
        <a href={formatRoute({ page: 'output', type })}>{countText(stream.length)}</a>
      </Cell>
    </Row>
  )
}

function oldestOf(queue: Automation['queue']): ReactNode {
  if (queue === null) return ''
  if (queue.oldest_submitted_at === null) return '–'
  return <PlainAge since={queue.oldest_submitted_at} />
}

function deadOf(type: string, queue: Automation['queue']): ReactNode {
  if (queue === null) return ''
  if (queue.dead === 0) return '0'
  return (
    <a className="bad" href={formatRoute({ page: 'tasks', type, tab: 'dead' })}>
      {countText(queue.dead)}
    </a>
  )
}
