/** @module dashboard/tasks/task-table  Tasks as rows, waiting ones and dead ones. */
import type { DeadBody, QueueBody } from '../../protocol/index.ts'
import { CardTable, Cell, Row, RowHead } from '../parts/card-table.tsx'
import { JsonView } from '../parts/json-view.tsx'
import { Age } from '../parts/times.tsx'

type Waiting = QueueBody['items'][number]
type Dead = DeadBody['items'][number]

const COLUMNS = ['Task', 'Attempts', 'Priority', 'Submitted', 'Payload'] as const

export interface TaskTableProps {
  readonly label: string
  readonly items: readonly (Waiting | Dead)[]
  readonly stale: boolean
}

export function TaskTable({ label, items, stale }: TaskTableProps) {
  return <CardTable label={label} columns={COLUMNS} stale={stale}>{items.map((item) => <TaskRow key={item.id} item={item} />)}</CardTable>
}

function TaskRow({ item }: { readonly item: Waiting | Dead }) {
  const died = 'died_at' in item ? item : null
  return (
    <Row>
      <RowHead of="Task">
        <code><bdi>{item.id}</bdi></code>
        {died !== null && <span className="under"><span className="error"><bdi>{died.last_error ?? 'no error was kept'}</bdi></span> · dead <Age at={died.died_at} /></span>}
      </RowHead>
      <Cell of="Attempts" className="number">{died === null ? item.attempt : `${item.attempt} of ${died.max_attempts}`}</Cell>
      <Cell of="Priority" className="number">{item.priority}</Cell>
      <Cell of="Submitted" className="number"><Age at={item.submitted_at} /></Cell>
      <Cell of="Payload"><details><summary>Show</summary><JsonView value={item.payload} label={`Payload of ${item.id}`} /></details></Cell>
    </Row>
  )
}
