/** @module dashboard/worker/worker-page  The worker page: state, slots, log, config, config history and actions. */
import './worker.css'
import { lazy, Suspense, type ReactNode } from 'react'
import type { HistoryBody, WorkerBody } from '../../protocol/index.ts'
import { useAutomation } from '../api/installed.ts'
import { isProblem } from '../api/problem.ts'
import { useFleetSize } from '../api/fleet-size.ts'
import { useRead, type Read } from '../api/queries.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { cutText } from '../components/json-text.ts'
import { useKeys } from '../components/keys.ts'
import { ReadState } from '../components/read-state.tsx'
import { StateBadge } from '../components/state-badge.tsx'
import { Tabs } from '../components/tabs.tsx'
import { Duration } from '../components/times.tsx'
import type { RouteTo } from '../route.ts'
import { goTo } from '../use-route.ts'
import { WhyNotApplied, WhyWorker } from '../diagnosis/diagnosis.tsx'
import { SummaryTab } from './summary-tab.tsx'
import { wayBack } from '../workers/last-list.ts'
import { managerText } from '../workers/managed.ts'
import { TasksInFlight } from './tasks-in-flight.tsx'
import { WorkerActions } from './worker-actions.tsx'

const ConfigTab = lazy(async () => ({ default: (await import('../config/config-tab.tsx')).ConfigTab }))
const LogsTab = lazy(async () => ({ default: (await import('./logs-tab.tsx')).LogsTab }))
const HistoryTab = lazy(async () => ({ default: (await import('../config/history-tab.tsx')).HistoryTab }))
const SlotLanes = lazy(async () => ({ default: (await import('../charts/slot-lanes.tsx')).SlotLanes }))

const EVERY_MS = 15_000
/** In a large fleet, changes of the worker cause no event. */
const LARGE_EVERY_MS = 8_000
const HISTORY_EVERY_MS = 60_000
/** The master keeps at most this many generations (D39). */
const HISTORY_ROWS = 50

interface WorkerRead {
  readonly worker: WorkerBody
  readonly epoch: string | null
}
type Route = RouteTo<'worker'>

export function WorkerPage({ route }: { readonly route: Route }) {
  const { type, id } = route
  const everyMs = useFleetSize() === 'large' ? LARGE_EVERY_MS : EVERY_MS
  const read = useRead<WorkerRead>(['worker', type, id], everyMs, async (api, signal) => {
    const { body: worker, epoch } = await api.get<WorkerBody>(['automations', type, 'workers', id], {}, signal)
    return { worker, epoch }
  })
  useKeys({ e: () => goTo({ page: 'worker', type, id, tab: 'config' }) })
  const { data, problem } = read
  if (isProblem(problem, 404)) return <UnavailableWorker route={route} reason={<WorkerNotFound route={route} />} />
  if (isProblem(problem, 403))
    return (
      <UnavailableWorker
        route={route}
        reason={
          <EmptyState kind="forbidden">
            <p>
              Use an admin token or one scoped to <bdi>{type}</bdi>.
            </p>
          </EmptyState>
        }
      />
    )
  if (data === undefined) return <UnavailableWorker route={route} reason={<ReadState read={read} />} />
  return <LoadedWorker route={route} read={read} data={data} />
}

const WorkerHeading = ({ route: { type, id } }: { readonly route: Route }) => (
  <h1>
    <bdi>{id}</bdi>{' '}
    <a className="soft of-type" href={`#/workers?q=${encodeURIComponent(`type:${type}`)}`}>
      <bdi>{type}</bdi>
    </a>
  </h1>
)

/** The page without a worker: the reason, or that it is being loaded. */
function UnavailableWorker({ route, reason }: { readonly route: Route; readonly reason: ReactNode }) {
  return (
    <>
      <BackLink />
      <div className="title">
        <WorkerHeading route={route} />
      </div>
      {reason}
    </>
  )
}

function BackLink() {
  const { href, q } = wayBack()
  return (
    <p className="back">
      <a href={href}>
        {q === '' ? (
          'All workers'
        ) : (
          <>
            Workers matching <bdi>{cutText(q, 60)}</bdi>
          </>
        )}
      </a>
    </p>
  )
}

function WorkerNotFound({ route: { type, id } }: { readonly route: Route }) {
  return (
    <EmptyState kind="gone" title="Worker not found">
      <p>
        <bdi>{id}</bdi> of type <bdi>{type}</bdi> was forgotten or has never registered.
      </p>
      <p>
        <a href="#/workers">Show all workers</a>
      </p>
    </EmptyState>
  )
}

interface LoadedWorkerProps {
  readonly route: Route
  readonly read: Read<WorkerRead>
  readonly data: WorkerRead
}

function LoadedWorker({ route, read, data }: LoadedWorkerProps) {
  const { type, id, tab } = route
  const history = useConfigHistory(type, id)
  const tabTo = (to: Route['tab'], text: string) => ({
    text,
    to: { page: 'worker' as const, type, id, tab: to },
    open: tab === to,
  })
  return (
    <>
      <BackLink />
      <WorkerTitle route={route} worker={data.worker} refresh={read.refresh} />
      <ReadState read={read} />
      <Tabs
        label="Worker views"
        tabs={[
          tabTo('summary', 'Summary'),
          tabTo('slots', 'Slots'),
          tabTo('logs', 'Logs'),
          tabTo('config', 'Config'),
          tabTo('history', 'History'),
        ]}
      />
      <Suspense fallback={<output className="reading">Loading…</output>}>
        <div className={read.problem === undefined || tab === 'config' ? undefined : 'stale'}>
          <OpenTab route={route} read={read} data={data} history={history} />
        </div>
      </Suspense>
    </>
  )
}

function useConfigHistory(type: string, id: string): Read<HistoryBody> {
  const path = ['automations', type, 'workers', id, 'config', 'history']
  return useRead(
    ['history', type, id],
    HISTORY_EVERY_MS,
    async (api, signal) => (await api.get<HistoryBody>(path, { limit: HISTORY_ROWS }, signal)).body,
  )
}

interface WorkerTitleProps {
  readonly route: Route
  readonly worker: WorkerBody
  readonly refresh: () => void
}

function WorkerTitle({ route, worker, refresh }: WorkerTitleProps) {
  return (
    <div className="title worker-title">
      <WorkerHeading route={route} />
      <StateBadge worker={worker} />
      <span className="soft">
        <Duration since={worker.state_since} />
      </span>
      {worker.managed_by !== null && (
        <span className="managed-badge" title={worker.managed_by}>
          <span aria-hidden="true">⎈ </span>
          <bdi>{managerText(worker.managed_by)}</bdi>
        </span>
      )}
      <WhyWorker worker={worker} />
      <WorkerActions route={route} worker={worker} refresh={refresh} />
    </div>
  )
}

interface OpenTabProps extends LoadedWorkerProps {
  readonly history: Read<HistoryBody>
}

function OpenTab({ route, read, data: { worker, epoch }, history }: OpenTabProps) {
  switch (route.tab) {
    case 'summary':
      return <SummaryTab worker={worker} history={history.data ?? []} />
    case 'slots':
      return (
        <>
          <TasksInFlight worker={worker} />
          <SlotLanes worker={worker} />
        </>
      )
    case 'logs':
      return <LogsTab key={`${route.type}/${route.id}`} route={route} worker={worker} />
    case 'config':
      return (
        <WithSchema type={route.type}>
          {(schema) => (
            <ConfigTab
              route={route}
              worker={worker}
              epoch={epoch}
              schema={schema}
              readAtMs={read.atMs ?? 0}
              refresh={read.refresh}
              why={<WhyNotApplied worker={worker} />}
            />
          )}
        </WithSchema>
      )
    case 'history':
      return (
        <WithSchema type={route.type}>
          {(schema) => <HistoryTab route={route} worker={worker} epoch={epoch} schema={schema} read={history} />}
        </WithSchema>
      )
  }
}

function WithSchema({
  type,
  children,
}: {
  readonly type: string
  readonly children: (schema: Parameters<typeof ConfigTab>[0]['schema']) => ReactNode
}) {
  const automation = useAutomation(type)
  return automation === undefined ? (
    <EmptyState kind="gone" title="This type is not installed">
      <p>
        The master has no automation <bdi>{type}</bdi>, so the config schema is unknown. Install its package on the
        master.
      </p>
    </EmptyState>
  ) : (
    children(automation.configSchema)
  )
}
