/** @module dashboard/pools/pools-page  The pools page: the items of a pool with their claims and expiry. */
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
import { countText } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { Left } from '../components/times.tsx'
import { useServerNow } from '../components/use-now.ts'
import { VirtualTable, type Column } from '../components/virtual-table.tsx'
import { formatRoute, type RouteTo } from '../route.ts'
import { JsonDialog } from '../tasks/json-dialog.tsx'
import { payloadText } from '../tasks/task-text.ts'
import { countsOf, leaseOf, type PoolItem } from './lease.ts'
import '../tasks/list.css'

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
        <Choices label="Pools" names={names} open={name} to={(pool) => ({ place: 'pools', name: pool })} />
      )}
      {mayUse(me) &&
        name === null &&
        (names.length === 0 ? (
          <EmptyState kind="nothing" title="No pools">
            <p>No installed automation declares a pool. Pools share items between slots.</p>
          </EmptyState>
        ) : (
          <p className="soft">Choose a pool to see its items and claims.</p>
        ))}
      {mayUse(me) && name !== null && (
        <Pool
          key={name}
          name={name}
          users={automations.filter(({ pools }) => pools.some((pool) => pool.name === name)).map(({ type }) => type)}
        />
      )}
    </>
  )
}

function Pool({ name, users }: { readonly name: string; readonly users: readonly string[] }) {
  const [n, setN] = useState<number>(STEPS[0])
  const [shown, setShown] = useState<PoolItem | null>(null)
  const read = useRead(
    ['pool', name, n],
    EVERY_MS,
    async (api, signal) => (await api.get<PoolBody>(['pools', name], { n }, signal)).body,
    { keepsShown: true },
  )
  const more = STEPS.find((step) => step > n)
  if (isProblem(read.problem, 404))
    return (
      <EmptyState kind="gone" title="Pool not found">
        <p>
          No automation declares <bdi>{name}</bdi>.
        </p>
      </EmptyState>
    )
  return (
    <section className="card">
      <div className="title">
        <h2>
          <bdi>{name}</bdi>{' '}
          {read.data !== undefined && <span className="count">{countText(read.data.size)} items</span>}
        </h2>
        <p className="soft">
          used by{' '}
          {users.map((type, at) => (
            <span key={type}>
              {at > 0 && ', '}
              <a href={formatRoute({ place: 'automations', type })}>
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
      <ReadView read={read}>
        {({ items, size }) =>
          items.length === 0 ? (
            <EmptyState kind="nothing" title="The pool is empty">
              <p>Slots add items. Expired items are removed automatically.</p>
            </EmptyState>
          ) : (
            <>
              <Counts items={items} size={size} />
              <Items items={items} stale={read.problem !== undefined} onOpen={setShown} />
              {size > items.length && more !== undefined && (
                <button type="button" onClick={() => setN(more)}>
                  Show {countText(Math.min(more, size))}
                </button>
              )}
            </>
          )
        }
      </ReadView>
      {shown !== null && (
        <JsonDialog
          title={shown.id}
          value={{ tags: shown.tags, payload: shown.payload }}
          onClose={() => setShown(null)}
        >
          <p>
            <LeaseText item={shown} />
          </p>
        </JsonDialog>
      )}
    </section>
  )
}

function Counts({ items, size }: { readonly items: readonly PoolItem[]; readonly size: number }) {
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
  {
    name: 'Item',
    className: 'row-head',
    cell: (item) => (
      <button type="button" className="link code" onClick={() => open(item)}>
        <bdi>{item.id}</bdi>
      </button>
    ),
  },
  { name: 'Lease', className: 'lease', cell: (item) => <LeaseText item={item} /> },
  {
    name: 'Expires',
    className: 'number short',
    cell: ({ expires_at: at }) => (at === null ? 'never' : <Left until={at} past="expired" />),
  },
  { name: 'Tags', className: 'preview', cell: ({ tags }) => <bdi className="code">{payloadText(tags)}</bdi> },
  { name: 'Payload', className: 'preview', cell: ({ payload }) => <bdi className="code">{payloadText(payload)}</bdi> },
]

function Items({
  items,
  stale,
  onOpen,
}: {
  readonly items: readonly PoolItem[]
  readonly stale: boolean
  readonly onOpen: (item: PoolItem) => void
}) {
  const columns = useMemo(() => columnsOf(onOpen), [onOpen])
  return (
    <div className="list">
      <VirtualTable
        label="Pool items"
        columns={columns}
        rows={items}
        keyOf={keyOf}
        rowHeight={36}
        cardHeight={136}
        stale={stale}
        onOpen={onOpen}
      />
    </div>
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
          ● claimed, expires <Left until={lease.until} past="now" />
        </span>
      )
    case 'ran_out':
      return <span className="warn">◌ claim expired</span>
  }
}

const keyOf = ({ id }: PoolItem): string => id
