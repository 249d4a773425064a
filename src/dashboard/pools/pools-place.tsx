/** @module dashboard/pools/pools-place  The items of a pool, claims and expiry counting down on the master's clock. */
import type { PoolBody } from '../../protocol/index.ts'
import { useInstalled } from '../api/installed.ts'
import { isProblem } from '../api/problem.ts'
import { useSession } from '../api/session.ts'
import { usePolled } from '../api/use-polled.ts'
import { CardTable, Cell, Row, RowHead } from '../parts/card-table.tsx'
import { Choices } from '../parts/choices.tsx'
import { Empty } from '../parts/empty.tsx'
import { Freshness } from '../parts/freshness.tsx'
import { JsonView } from '../parts/json-view.tsx'
import { countText, plural } from '../parts/numbers.ts'
import { Left } from '../parts/times.tsx'

const EVERY_MS = 5_000
const SHOWN = 20

export function PoolsPlace({ name }: { readonly name: string | null }) {
  const { me } = useSession()
  const names = [...new Set(useInstalled().automations.flatMap(({ pools }) => pools.map((pool) => pool.name)))].toSorted()
  if (me.role !== 'admin') return <><h1>Pools</h1><Empty><p>Pools belong to no single automation, so seeing them needs an admin token.</p></Empty></>
  return (
    <>
      <h1>Pools</h1>
      <Choices label="Pools" place="pools" names={names} open={name} />
      {name === null && (names.length === 0 ? <Empty><p>No installed automation declares a pool.</p></Empty> : <p className="soft">Choose a pool to see its items.</p>)}
      {name !== null && <Pool key={name} name={name} />}
    </>
  )
}

function Pool({ name }: { readonly name: string }) {
  const polled = usePolled(`pool ${name}`, EVERY_MS, async (api, signal) => (await api.get<PoolBody>(['pools', name], { n: SHOWN }, signal)).body)
  const { data, problem } = polled
  if (isProblem(problem, 404)) return <Empty><p>There is no pool <bdi>{name}</bdi>. A pool exists when an automation declares it.</p></Empty>
  return (
    <section className="card">
      <h2><bdi>{name}</bdi> {data !== undefined && <span className="count">{plural(data.size, 'item')}</span>}</h2>
      <Freshness polled={polled} every="5 s" />
      {data !== undefined && data.items.length === 0 && <p className="soft">The pool is empty.</p>}
      {data !== undefined && data.items.length > 0 && <Items items={data.items} stale={problem !== undefined} />}
      {data !== undefined && data.size > data.items.length && <p className="soft">{countText(data.items.length)} of {countText(data.size)}.</p>}
    </section>
  )
}

function Items({ items, stale }: { readonly items: PoolBody['items']; readonly stale: boolean }) {
  return (
    <CardTable label="Pool items" columns={['Item', 'In use', 'Expires', 'Tags', 'Payload']} stale={stale}>
      {items.map(({ id, in_use_until: inUse, expires_at: expires, tags, payload }) => (
        <Row key={id}>
          <RowHead of="Item"><code><bdi>{id}</bdi></code></RowHead>
          <Cell of="In use">{inUse === null ? 'free' : <>claimed, ends <Left until={inUse} past="now" /></>}</Cell>
          <Cell of="Expires">{expires === null ? 'never' : <Left until={expires} past="now" />}</Cell>
          <Cell of="Tags"><bdi>{JSON.stringify(tags)}</bdi></Cell>
          <Cell of="Payload"><details><summary>Show</summary><JsonView value={payload} label={`Payload of ${id}`} /></details></Cell>
        </Row>
      ))}
    </CardTable>
  )
}
