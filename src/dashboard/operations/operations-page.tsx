/** @module dashboard/operations/operations-page  Lists the operations of all types, newest first (D189). */
import type { OperationShown } from '../../protocol/index.ts'
import { isProblem } from '../api/problem.ts'
import { CardTable, Cell, Row, RowHead } from '../components/card-table.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { Age } from '../components/times.tsx'
import { formatRoute } from '../route.ts'
import { useOperations } from './reading.ts'
import { OperationState } from './state.tsx'
import { kindText, outcomesOf, settledOf, whatText } from './texts.ts'

const COLUMNS = ['Operation', 'Type', 'What', 'State', 'Progress', 'By', 'Created'] as const

export function OperationsPage() {
  const read = useOperations()
  return (
    <>
      <h1>Operations</h1>
      {isProblem(read.problem, 404) ? (
        <NeedsUpgrade />
      ) : (
        <ReadView read={read}>
          {(operations) =>
            operations.length === 0 ? (
              <NoOperations />
            ) : (
              <CardTable label="Operations" columns={COLUMNS} stale={read.problem !== undefined}>
                {operations.map((operation) => (
                  <OperationRow key={`${operation.type}/${operation.operation}`} operation={operation} />
                ))}
              </CardTable>
            )
          }
        </ReadView>
      )}
    </>
  )
}

function NeedsUpgrade() {
  return (
    <EmptyState kind="unavailable" title="This master has no operations">
      <p>The master is of an earlier release. Upgrade it to change many workers with an operation.</p>
    </EmptyState>
  )
}

function NoOperations() {
  return (
    <EmptyState kind="nothing" title="No operations">
      <p>
        An operation changes many workers, or replays many dead tasks, at a limited rate. The master carries it out,
        also after you close this page.
      </p>
      <p>
        Select workers in <a href="#/workers">the list of workers</a>, then press Config… or Drain… to create one. A
        replay of more than 500 dead tasks is an operation too.
      </p>
    </EmptyState>
  )
}

function OperationRow({ operation }: { readonly operation: OperationShown }) {
  const { type, operation: id, note, total, created_at: at, created_by: by } = operation
  return (
    <Row>
      <RowHead of="Operation">
        <a href={formatRoute({ page: 'operation', type, id })}>
          {kindText(operation)} <bdi className="code">{id}</bdi>
        </a>
      </RowHead>
      <Cell of="Type">
        <bdi>{type}</bdi>
      </Cell>
      <Cell of="What" className="wraps">
        <bdi>{whatText(operation)}</bdi>
        {note !== null && <bdi className="under">{note}</bdi>}
      </Cell>
      <Cell of="State">
        <OperationState operation={operation} />
      </Cell>
      <Cell of="Progress">
        {countText(settledOf(operation))} of {countText(total)}
        <Failed operation={operation} />
      </Cell>
      <Cell of="By" className="wraps">
        <bdi>{by}</bdi>
      </Cell>
      <Cell of="Created">
        <Age at={at} />
      </Cell>
    </Row>
  )
}

function Failed({ operation }: { readonly operation: OperationShown }) {
  const failed = outcomesOf(operation).filter(({ tone }) => tone === 'bad')
  if (failed.length === 0) return null
  return <span className="under error">{failed.map(({ count, result }) => `${count} ${result}`).join(', ')}</span>
}
