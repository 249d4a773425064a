/**
 * @module dashboard/worker/logs-tab
 * The log of a worker: the newest entries that the worker keeps in its memory, requested through the master while this
 * tab is shown (D181).
 */
import { useMemo, useState } from 'react'
import type { WorkerBody } from '../../protocol/index.ts'
import { isProblem } from '../api/problem.ts'
import { apiBase } from '../api/session.ts'
import { agoText } from '../components/age.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { Download, ndjson } from '../components/download.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'
import { FilterBar } from '../components/filter-bar.tsx'
import { Age, Moment } from '../components/times.tsx'
import { useFollowedEnd } from '../components/use-followed-end.ts'
import { useLocalNow } from '../components/use-now.ts'
import type { RouteTo } from '../route.ts'
import { replaceRoute } from '../use-route.ts'
import { entriesOf, logText, selected, type LogRow } from './log-buffer.ts'
import { LogTable } from './log-table.tsx'
import { useWorkerLog, type LogHandle } from './use-worker-log.ts'

const EVERY_MS = 2_000
const LEVELS = [
  ['', 'all levels'],
  ['info', 'info and above'],
  ['warn', 'warn and above'],
  ['error', 'error'],
] as const

export interface LogsTabProps {
  readonly route: RouteTo<'worker'>
  readonly worker: Pick<WorkerBody, 'connected' | 'state_since'>
}

export function LogsTab({ route, worker }: LogsTabProps) {
  const { type, id, level, q } = route
  const [isPaused, setPaused] = useState(false)
  const followed = useWorkerLog({ type, id, everyMs: EVERY_MS, isRead: worker.connected && !isPaused })
  const { rows, startedAt } = followed.log
  const found = useMemo(() => selected(rows, level, q), [rows, level, q])
  const end = useFollowedEnd()
  const isUnreadable = !worker.connected || followed.problem !== undefined
  return (
    <section className="card logs">
      <div className="title">
        <h2>Log</h2>
        <LogState followed={followed} isPaused={isPaused} />
        <LogButtons route={route} rows={found} isPaused={isPaused} onPause={() => setPaused(!isPaused)} />
      </div>
      <FilterBar
        label="Filter the log"
        placeholder="message text, task ID, slot:2"
        value={q}
        onChange={(text) => replaceRoute({ ...route, q: text })}
        found={found.length}
        total={rows.length}
      >
        <select
          aria-label="Level"
          value={level}
          onChange={(event) => replaceRoute({ ...route, level: event.target.value as typeof level })}
        >
          {LEVELS.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </FilterBar>
      {rows.length > 0 && <WhyUnreadable worker={worker} followed={followed} />}
      <div {...end} className={isUnreadable ? 'stale' : undefined}>
        {found.length > 0 && <LogTable label="Log entries" type={type} rows={found} hasTasks />}
      </div>
      {found.length === 0 && <NoEntries route={route} worker={worker} followed={followed} />}
      {startedAt !== null && (
        <p className="soft">
          The worker keeps its newest 5,000 entries, at most 1 MiB, since its start on <Moment at={startedAt} />.{' '}
          <button type="button" className="link" disabled={isUnreadable} onClick={followed.readAll}>
            Read all of them
          </button>
        </p>
      )}
    </section>
  )
}

interface LogButtonsProps {
  readonly route: RouteTo<'worker'>
  /** The rows to save. */
  readonly rows: readonly LogRow[]
  readonly isPaused: boolean
  readonly onPause: () => void
}

function LogButtons({ route: { type, id }, rows, isPaused, onPause }: LogButtonsProps) {
  const isEmpty = rows.length === 0
  return (
    <div className="buttons">
      <button type="button" aria-pressed={isPaused} onClick={onPause}>
        {isPaused ? 'Resume' : 'Pause'}
      </button>
      <Download
        name={`${type}-${id}-log.ndjson`}
        media="application/x-ndjson"
        disabled={isEmpty}
        make={() => ndjson(entriesOf(rows))}
      >
        Save as NDJSON
      </Download>
      <Download name={`${type}-${id}.log`} media="text/plain" disabled={isEmpty} make={() => logText(rows)}>
        Save as text
      </Download>
      <CopyAs
        commands={[
          curlCommand(apiBase(), { method: 'GET', path: ['automations', type, 'workers', id, 'logs'] }),
          musterCommand(apiBase(), 'workers', 'logs', `${type}/${id}`, '--follow'),
        ]}
      />
    </div>
  )
}

function LogState({ followed, isPaused }: { readonly followed: LogHandle; readonly isPaused: boolean }) {
  const now = useLocalNow()
  if (isPaused || followed.isPagePaused) return <p className="warn">paused</p>
  const { atMs } = followed
  return <p className="soft">{atMs === undefined ? '' : `updated ${agoText(Math.max(0, (now - atMs) / 1_000))}`}</p>
}

interface UnreadableProps {
  readonly worker: LogsTabProps['worker']
  readonly followed: LogHandle
}

/** Why the log cannot be read now; nothing if it can. */
function WhyUnreadable({ worker, followed: { problem } }: UnreadableProps) {
  if (!worker.connected)
    return (
      <EmptyState kind="unavailable" title="The worker is offline">
        <p>
          It went offline <Age at={worker.state_since} />. Its log is in the memory of its process and can only be read
          while the worker is connected. For earlier entries, read the stdout of its process.
        </p>
      </EmptyState>
    )
  if (problem === undefined) return null
  if (isProblem(problem, 404))
    return (
      <EmptyState kind="unavailable" title="The log cannot be read">
        <p>
          <bdi>{problem.message}</bdi>.
        </p>
      </EmptyState>
    )
  return (
    <ErrorPanel problem={problem}>
      <p>Retrying automatically.</p>
    </ErrorPanel>
  )
}

function NoEntries({ route: { q }, worker, followed }: UnreadableProps & { readonly route: RouteTo<'worker'> }) {
  const { log, atMs, problem } = followed
  if (log.rows.length > 0)
    return (
      <EmptyState kind="filtered">
        <p>
          No entry of this level{q === '' ? '' : ' matches '}
          {q !== '' && <bdi>{q}</bdi>}. New matches appear automatically.
        </p>
      </EmptyState>
    )
  if (!worker.connected || problem !== undefined) return <WhyUnreadable worker={worker} followed={followed} />
  if (atMs === undefined) return <output className="reading">Loading…</output>
  return (
    <EmptyState kind="nothing" title="This worker has logged nothing since it started">
      <p>Entries appear here as it logs them. Its log level decides which ones it writes.</p>
    </EmptyState>
  )
}
