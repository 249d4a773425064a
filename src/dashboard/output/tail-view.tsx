/** @module dashboard/output/tail-view  Follows the end of a stream, with pause, filter and download. */
import { useMemo, useState } from 'react'
import { apiBase } from '../api/session.ts'
import { agoText } from '../components/age.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { Download, ndjson } from '../components/download.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'
import { FilterBar } from '../components/filter-bar.tsx'
import { countText } from '../components/numbers.ts'
import { useFollowedEnd } from '../components/use-followed-end.ts'
import { useLocalNow } from '../components/use-now.ts'
import type { RouteTo } from '../route.ts'
import { replaceRoute } from '../use-route.ts'
import { EntryTable } from './entry-table.tsx'
import { filtered, type TailRow } from './tail-buffer.ts'
import { useTail, type TailHandle } from './use-tail.ts'

type TypeRoute = RouteTo<'output'> & { readonly type: string }

export function TailView({ route }: { readonly route: TypeRoute }) {
  const { type, q } = route
  const [wantsPause, setPaused] = useState(false)
  const followed = useTail(type, wantsPause)
  const { rows, dropped } = followed.tail
  const found = useMemo(() => filtered(rows, q), [rows, q])
  const end = useFollowedEnd()
  return (
    <section className="card tail">
      <div className="title">
        <h2>Newest entries</h2>
        <TailState followed={followed} />
        <TailButtons
          type={type}
          rows={found}
          isPaused={wantsPause}
          onPause={() => setPaused(!wantsPause)}
          onClear={rows.length === 0 ? null : followed.clear}
        />
      </div>
      {followed.problem !== undefined && (
        <ErrorPanel problem={followed.problem}>
          <p>{rows.length > 0 ? 'Earlier entries are kept below. ' : ''}Retrying automatically.</p>
        </ErrorPanel>
      )}
      <FilterBar
        label="Filter entries"
        placeholder="payload text, slot:2"
        value={q}
        onChange={(text) => replaceRoute({ ...route, q: text })}
        found={found.length}
        total={rows.length}
      />
      {dropped > 0 && (
        <p className="soft">{countText(dropped)} older entries are hidden; this view keeps the newest 2,000.</p>
      )}
      <div {...end} className={followed.problem === undefined ? undefined : 'stale'}>
        {found.length > 0 && <EntryTable label="Newest entries" type={route.type} rows={found} />}
      </div>
      {found.length === 0 && <NoEntries followed={followed} q={q} hasRows={rows.length > 0} />}
    </section>
  )
}

interface TailButtonsProps {
  readonly type: string
  /** The rows to save. */
  readonly rows: readonly TailRow[]
  readonly isPaused: boolean
  readonly onPause: () => void
  /** Null if the view is already empty. */
  readonly onClear: (() => void) | null
}

function TailButtons({ type, rows, isPaused, onPause, onClear }: TailButtonsProps) {
  return (
    <div className="buttons">
      <button type="button" aria-pressed={isPaused} onClick={onPause}>
        {isPaused ? 'Resume' : 'Pause'}
      </button>
      <button type="button" disabled={onClear === null} onClick={onClear ?? undefined}>
        Clear view
      </button>
      <Download
        name={`${type}-output.ndjson`}
        media="application/x-ndjson"
        disabled={rows.length === 0}
        make={() => ndjson(rows.flatMap((row) => (row.kind === 'entry' ? [row.entry] : [])))}
      >
        Save as NDJSON
      </Download>
      <CopyAs
        commands={[
          curlCommand(apiBase(), { method: 'GET', path: ['automations', type, 'output', 'tail'], query: { n: 100 } }),
          musterCommand(apiBase(), 'output', 'tail', type),
        ]}
      />
    </div>
  )
}

function NoEntries({
  followed: { atMs, problem },
  q,
  hasRows,
}: {
  readonly followed: TailHandle
  readonly q: string
  readonly hasRows: boolean
}) {
  if (hasRows)
    return (
      <EmptyState kind="filtered">
        <p>
          No entry matches <bdi>{q}</bdi>. New matches appear automatically.
        </p>
      </EmptyState>
    )
  if (problem !== undefined) return <EmptyState kind="unavailable" />
  if (atMs === undefined) return <output className="reading">Loading…</output>
  return (
    <EmptyState kind="nothing" title="The stream is empty">
      <p>Entries appear here as slots emit them. They are kept for an hour, at most 50,000.</p>
    </EmptyState>
  )
}

function TailState({ followed: { atMs, isPaused } }: { readonly followed: TailHandle }) {
  const now = useLocalNow()
  if (isPaused) return <p className="warn">paused</p>
  return <p className="soft">{atMs === undefined ? '' : `updated ${agoText(Math.max(0, (now - atMs) / 1_000))}`}</p>
}
