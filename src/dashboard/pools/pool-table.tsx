/** @module dashboard/pools/pool-table  Lists all pools with their items, claims and the runs that wait for an item. */
import type { PoolsBody } from '../../protocol/index.ts'
import { useRead } from '../api/queries.ts'
import { CardTable, Cell, Row, RowHead } from '../components/card-table.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { formatRoute } from '../route.ts'

const EVERY_MS = 10_000
const NUMBERS = ['Items', 'In use', 'Waiting'] as const
const COLUMNS = ['Pool', ...NUMBERS, 'Used by'] as const

export function PoolTable() {
  const read = useRead(
    ['pools'],
    EVERY_MS,
    async (api, signal) => (await api.get<PoolsBody>(['pools'], {}, signal)).body,
  )
  return (
    <ReadView read={read}>
      {({ pools }) =>
        pools.length === 0 ? (
          <EmptyState kind="nothing" title="No pools">
            <p>No installed automation declares a pool. Pools share items between slots.</p>
          </EmptyState>
        ) : (
          <CardTable label="Pools" columns={COLUMNS} numbers={NUMBERS} stale={read.problem !== undefined}>
            {pools.map((pool) => (
              <PoolRow key={pool.name} pool={pool} />
            ))}
          </CardTable>
        )
      }
    </ReadView>
  )
}

function PoolRow({ pool }: { readonly pool: PoolsBody['pools'][number] }) {
  const { name, size, in_use: inUse, waiting, automation_types: types } = pool
  const isEmpty = size > 0 && inUse >= size
  return (
    <Row>
      <RowHead of="Pool">
        <a href={formatRoute({ page: 'pools', name })}>
          <bdi>{name}</bdi>
        </a>
      </RowHead>
      <Cell of="Items" className="number">
        {countText(size)}
      </Cell>
      <Cell of="In use" className="number">
        {countText(inUse)}
        {isEmpty && <span className="warn"> · all</span>}
      </Cell>
      <Cell of="Waiting" className={waiting > 0 ? 'number warn' : 'number'}>
        {countText(waiting)}
      </Cell>
      <Cell of="Used by">
        <bdi>{types.join(', ')}</bdi>
      </Cell>
    </Row>
  )
}
