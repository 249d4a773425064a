/** @module dashboard/pools/pools-page  The pools page: all pools, or the items of one with their claims and expiry. */
import { useMemo, useState } from 'react'
import type { PoolBody } from '../../protocol/index.ts'
import { useInstalled } from '../api/installed.ts'
import { isProblem } from '../api/problem.ts'
import { useRead } from '../api/queries.ts'
import { apiBase, mayUse, useSession } from '../api/session.ts'
import { Choices } from '../components/choices.tsx'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText, plural } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { ShowMore, useListSize, type ListSize } from '../components/show-more.tsx'
import { TimeLeft } from '../components/times.tsx'
import { useServerNow } from '../components/use-now.ts'
import type { Column } from '../components/virtual-table.tsx'
import { formatRoute, type RouteTo } from '../route.ts'
import { ItemTable, jsonColumn, openColumn } from '../tasks/item-table.tsx'
import { JsonDialog } from '../tasks/json-dialog.tsx'
import { PoolClaims } from './claims.tsx'
import { countsOf, leaseOf, type PoolItem } from './lease.ts'
import { PoolTable } from './pool-table.tsx'

const EVERY_MS = 5_000
const STEPS = [100, 1_000, 10_000] as const

export function PoolsPage({ route: { name } }: { readonly route: RouteTo<'pools'> }) {
  const { me } = useSession()
  const { automations } = useInstalled()
  const names = [...new Set(automations.flatMap(({ pools }) => pools.map((pool) => pool.name)))].toSorted()
  return (
    <>
      <h1>Pools</h1>
      {!mayUse(me) && (
        <EmptyState kind="forbidden" title="Pools need an admin token">
          <p>Automations share pools, so a token scoped to types cannot see them. Sign in with an admin token.</p>
        </EmptyState>
      )}
      {mayUse(me) && names.length > 0 && (
        <Choices label="Pools" names={names} open={name} to={(pool) => ({ page: 'pools', name: pool })} />
      )}
      {mayUse(me) && name === null && <PoolTable />}
      {mayUse(me) && name !== null && (
        <PoolCard
          key={name}
          name={name}
          users={automations.filter(({ pools }) => pools.some((pool) => pool.name === name)).map(({ type }) => type)}
        />
      )}
    </>
  )
}

interface PoolCardProps {
  readonly name: string
  /** The automation types that use the pool. */
  readonly users: readonly string[]
}

function PoolCard({ name, users }: PoolCardProps) {
  const size = useListSize(STEPS)
  const [shown, setShown] = useState<PoolItem | null>(null)
  const read = useRead(
    ['pool', name, size.n],
    EVERY_MS,
    async (api, signal) => (await api.get<PoolBody>(['pools', name], { n: size.n }, signal)).body,
    { keepsShown: true },
  )
  if (isProblem(read.problem, 404))
    return (
      <EmptyState kind="gone" title="Pool not found">
        <p>
          No automation declares <bdi>{name}</bdi>.
        </p>
      </EmptyState>
    )
  return (
    <>
      <PoolClaims name={name} isProblemShown={read.problem !== undefined} />
      <section className="card">
        <PoolTitle name={name} users={users} length={read.data?.size} n={size.n} />
        <ReadView read={read}>
          {(pool) => <PoolItems pool={pool} size={size} isStale={read.problem !== undefined} onOpen={setShown} />}
        </ReadView>
        {shown !== null && <PoolItemDialog item={shown} onClose={() => setShown(null)} />}
      </section>
    </>
  )
}

interface PoolTitleProps extends PoolCardProps {
  /** The number of items in the pool; undefined until it is read. */
  readonly length: number | undefined
  /** The number of items that the copied commands list. */
  readonly n: number
}

function PoolTitle({ name, users, length, n }: PoolTitleProps) {
  return (
    <div className="title">
      <h2>
        <bdi>{name}</bdi> {length !== undefined && <span className="count">{plural(length, 'item')}</span>}
      </h2>
      <p className="soft">
        used by{' '}
        {users.map((type, at) => (
          <span key={type}>
            {at > 0 && ', '}
            <a href={formatRoute({ page: 'automations', type })}>
              <bdi>{type}</bdi>
            </a>
          </span>
        ))}
      </p>
      <div className="buttons">
        <CopyAs
          commands={[
            curlCommand(apiBase(), { method: 'GET', path: ['pools', name], query: { n } }),
            musterCommand(apiBase(), 'pools', 'ls', name, '-n', String(n)),
          ]}
        />
      </div>
    </div>
  )
}

interface PoolItemsProps {
  readonly pool: PoolBody
  readonly size: ListSize
  readonly isStale: boolean
  readonly onOpen: (item: PoolItem) => void
}

function PoolItems({ pool, size, isStale, onOpen }: PoolItemsProps) {
  const columns = useMemo(() => columnsOf(onOpen), [onOpen])
  if (pool.items.length === 0)
    return (
      <EmptyState kind="nothing" title="The pool is empty">
        <p>Slots add items. Expired items are removed automatically.</p>
      </EmptyState>
    )
  return (
    <>
      <ClaimCounts pool={pool} />
      <ItemTable label="Pool items" columns={columns} items={pool.items} isStale={isStale} onOpen={onOpen} />
      <ShowMore size={size} shown={pool.items.length} total={pool.size} />
    </>
  )
}

function ClaimCounts({ pool: { items, size } }: { readonly pool: PoolBody }) {
  const { free, claimed } = countsOf(items, useServerNow())
  return (
    <p className="soft">
      {size > items.length && `Of the first ${countText(items.length)}: `}
      <strong>{countText(free)} free</strong>, <strong>{countText(claimed)} claimed</strong>. A claim returns the least
      recently used free item.
    </p>
  )
}

const columnsOf = (open: (item: PoolItem) => void): readonly Column<PoolItem>[] => [
  openColumn('Item', open),
  { name: 'Lease', className: 'lease', cell: (item) => <LeaseText item={item} /> },
  {
    name: 'Expires',
    className: 'number short',
    cell: ({ expires_at: at }) => (at === null ? 'never' : <TimeLeft until={at} past="expired" />),
  },
  jsonColumn('Tags', ({ tags }) => tags),
  jsonColumn('Payload', ({ payload }) => payload),
]

function PoolItemDialog({ item, onClose }: { readonly item: PoolItem; readonly onClose: () => void }) {
  return (
    <JsonDialog title={item.id} value={{ tags: item.tags, payload: item.payload }} onClose={onClose}>
      <p>
        <LeaseText item={item} />
      </p>
    </JsonDialog>
  )
}

function LeaseText({ item }: { readonly item: PoolItem }) {
  const lease = leaseOf(item, useServerNow())
  switch (lease.kind) {
    case 'free':
      return <span className="good">○ free</span>
    case 'claimed':
      return (
        <span>
          ● claimed, expires <TimeLeft until={lease.until} past="now" />
        </span>
      )
    case 'ran_out':
      return <span className="warn">◌ claim expired</span>
  }
}
