/** @module dashboard/activity/activity-page  Lists who changed what, newest first (D235). */
import type { AuditBody, AuditEntry } from '../../protocol/index.ts'
import { useInstalled } from '../api/installed.ts'
import { isProblem } from '../api/problem.ts'
import { useRead } from '../api/queries.ts'
import { apiBase, mayUse, useSession } from '../api/session.ts'
import { CardTable, Cell, Row, RowHead } from '../components/card-table.tsx'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { Download, ndjson } from '../components/download.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { countText } from '../components/numbers.ts'
import { ReadView } from '../components/read-state.tsx'
import { SearchForm } from '../components/search-form.tsx'
import { useListSize, type ListSize } from '../components/show-more.tsx'
import { Age } from '../components/times.tsx'
import type { RouteTo } from '../route.ts'
import { replaceRoute } from '../use-route.ts'
import { queryOf, readEntries, type Entries } from './reading.ts'
import { ACTION_KINDS, actionText, detailText, hashOf, outcomeOf } from './texts.ts'

const EVERY_MS = 10_000
const STEPS = [100, 500, 2_000] as const
const COLUMNS = ['When', 'Who', 'Action', 'Object', 'Outcome', 'Details'] as const

type Route = RouteTo<'activity'>

export function ActivityPage({ route }: { readonly route: Route }) {
  const { me } = useSession()
  return (
    <>
      <h1>Activity</h1>
      {mayUse(me) ? (
        <Activity key={JSON.stringify(queryOf(route))} route={route} />
      ) : (
        <EmptyState kind="forbidden" title="Activity needs an admin token">
          <p>It shows what was changed in all automation types. Sign in with an admin token.</p>
        </EmptyState>
      )}
    </>
  )
}

function Activity({ route }: { readonly route: Route }) {
  const query = queryOf(route)
  const size = useListSize(STEPS)
  const read = useRead(
    ['activity', JSON.stringify(query), size.n],
    EVERY_MS,
    (api, signal) =>
      readEntries(size.n, async (page) => (await api.get<AuditBody>(['audit'], { ...query, ...page }, signal)).body),
    { keepsShown: true },
  )
  if (isProblem(read.problem, 404))
    return (
      <EmptyState kind="unavailable" title="This master keeps no audit log">
        <p>The master is of an earlier release. Upgrade it to see who changed what.</p>
      </EmptyState>
    )
  return (
    <section className="card">
      <div className="title">
        <h2>Changes</h2>
        <div className="buttons">
          {read.data !== undefined && read.data.entries.length > 0 && <Save entries={read.data.entries} />}
          <CopyAs commands={commandsOf(query)} />
        </div>
      </div>
      <Filter route={route} />
      <ReadView read={read}>
        {(rows) => (
          <ActivityTable rows={rows} size={size} isStale={read.problem !== undefined} isFiltered={hasFilter(query)} />
        )}
      </ReadView>
    </section>
  )
}

const hasFilter = (query: Readonly<Record<string, string>>): boolean => Object.keys(query).length > 0

function commandsOf(query: Readonly<Record<string, string>>) {
  const base = apiBase()
  const options = Object.entries(query).flatMap(([name, value]) => [`--${name}`, value])
  return [curlCommand(base, { method: 'GET', path: ['audit'], query }), musterCommand(base, 'audit', 'ls', ...options)]
}

function Save({ entries }: { readonly entries: readonly AuditEntry[] }) {
  return (
    <Download
      name="activity.ndjson"
      media="application/x-ndjson"
      make={() => ndjson(entries)}
    >{`Save ${countText(entries.length)} as NDJSON`}</Download>
  )
}

function Filter({ route }: { readonly route: Route }) {
  const { automations } = useInstalled()
  const { action, actor, object, type } = route
  const types = automations.map((each) => [each.type, each.type] as const)
  return (
    <SearchForm
      choices={[
        { name: 'action', label: 'Action', all: 'All actions', value: action, options: Object.entries(ACTION_KINDS) },
        { name: 'type', label: 'Type', all: 'All types', value: type, options: types },
      ]}
      texts={[
        { name: 'object', label: 'Object', placeholder: 'Worker, task or other', value: object, maxLength: 256 },
        { name: 'actor', label: 'Token or person', placeholder: 'Token or person', value: actor, maxLength: 128 },
      ]}
      onSearch={(fields) => replaceRoute({ ...route, ...fields })}
    />
  )
}

interface ActivityTableProps {
  readonly rows: Entries
  readonly size: ListSize
  readonly isStale: boolean
  readonly isFiltered: boolean
}

function ActivityTable({ rows: { entries, hasMore }, size, isStale, isFiltered }: ActivityTableProps) {
  if (entries.length === 0) return <NoActivity isFiltered={isFiltered} />
  return (
    <>
      <CardTable label="Activity" columns={COLUMNS} stale={isStale}>
        {entries.map((entry) => (
          <EntryRow key={entry.n} entry={entry} />
        ))}
      </CardTable>
      {hasMore && size.more !== undefined && (
        <button type="button" onClick={() => size.setN(size.more ?? size.n)}>
          Show {countText(size.more)}
        </button>
      )}
      {hasMore && size.more === undefined && (
        <p className="soft">
          There are older entries. <code>muster audit ls -n 10000</code> lists them all.
        </p>
      )}
    </>
  )
}

function NoActivity({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered)
    return (
      <EmptyState kind="filtered">
        <p>
          <a href="#/activity">Show all activity</a>
        </p>
      </EmptyState>
    )
  return (
    <EmptyState kind="nothing" title="No activity">
      <p>
        Changes of workers, configs, queues and outputs are listed here with who made them, the newest 10,000. Masters
        with <code>SVC_AUDIT=none</code> record nothing.
      </p>
    </EmptyState>
  )
}

function EntryRow({ entry }: { readonly entry: AuditEntry }) {
  const { ts, type } = entry
  const { tone, mark, word } = outcomeOf(entry)
  return (
    <Row>
      <RowHead of="When">
        <Age at={ts} />
      </RowHead>
      <Cell of="Who" className="wraps">
        <Who entry={entry} />
      </Cell>
      <Cell of="Action">{actionText(entry)}</Cell>
      <Cell of="Object" className="wraps">
        <ObjectLink entry={entry} />
        {type !== null && entry.object !== null && <bdi className="under soft">{type}</bdi>}
      </Cell>
      <Cell of="Outcome">
        <span className={`badge ${tone}`}>
          <span aria-hidden="true">{mark}</span> {word}
        </span>
        {entry.outcome !== 'done' && <span className="under soft">HTTP {entry.status}</span>}
      </Cell>
      <Cell of="Details" className="wraps">
        <bdi title={`Request ${entry.request_id}`}>{detailText(entry)}</bdi>
      </Cell>
    </Row>
  )
}

/** The person that the caller named, which nothing checks, else the token; below it the token and the address. */
function Who({ entry: { actor, claimed_actor: claimed, peer } }: { readonly entry: AuditEntry }) {
  const token = actor === null ? 'no token' : `${actor.roles.join(', ')} token ${actor.name}`
  return (
    <>
      <bdi>{claimed ?? token}</bdi>
      <span className="under soft">
        {claimed !== null && (
          <>
            so says the caller, <bdi>{token}</bdi>
            {peer !== null && ', '}
          </>
        )}
        {peer !== null && (
          <>
            from <bdi>{peer}</bdi>
          </>
        )}
      </span>
    </>
  )
}

function ObjectLink({ entry }: { readonly entry: AuditEntry }) {
  const text = <bdi className="code">{entry.object ?? entry.type ?? 'all'}</bdi>
  const hash = hashOf(entry)
  return hash === null ? text : <a href={hash}>{text}</a>
}
