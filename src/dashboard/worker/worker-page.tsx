/** @module dashboard/worker/worker-page  The worker page: state, slots, config, config history and actions. */
import './worker.css'
import { lazy, Suspense, type ReactNode } from 'react'
import type { HistoryBody, WorkerBody } from '../../protocol/index.ts'
import { useAutomation } from '../api/installed.ts'
import { isProblem } from '../api/problem.ts'
import { useRead, type Read } from '../api/queries.ts'
import { managerText } from '../config/managed-notice.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { useKeys } from '../components/keys.ts'
import { ReadState } from '../components/read-state.tsx'
import { StateBadge } from '../components/state-badge.tsx'
import { Tabs } from '../components/tabs.tsx'
import { Lasting } from '../components/times.tsx'
import type { RouteTo } from '../route.ts'
import { goTo } from '../use-route.ts'
import { WhyWorker } from '../diagnosis/diagnosis.tsx'
import { SummaryTab } from './summary-tab.tsx'
import { WorkerActs } from './worker-acts.tsx'

const ConfigTab = lazy(async () => ({ default: (await import('../config/config-tab.tsx')).ConfigTab }))
const HistoryTab = lazy(async () => ({ default: (await import('../config/history-tab.tsx')).HistoryTab }))
const SlotLanes = lazy(async () => ({ default: (await import('../charts/slot-lanes.tsx')).SlotLanes }))

const EVERY_MS = 15_000
const HISTORY_EVERY_MS = 60_000
/** The master keeps at most this many generations (D39). */
const HISTORY_ROWS = 50

interface Record {
  readonly worker: WorkerBody
  readonly epoch: string | null
}
type Route = RouteTo<'worker'>

export function WorkerPage({ route }: { readonly route: Route }) {
  const { type, id } = route
  const read = useRead<Record>(['worker', type, id], EVERY_MS, async (api, signal) => {
    const { body: worker, epoch } = await api.get<WorkerBody>(['automations', type, 'workers', id], {}, signal)
    return { worker, epoch }
  })
  useKeys({ e: () => goTo({ place: 'worker', type, id, tab: 'config' }) })
  const { data, problem } = read
  if (isProblem(problem, 404)) return <Unread route={route} problem={<Gone route={route} />} />
  if (isProblem(problem, 403))
    return (
      <Unread
        route={route}
        problem={
          <EmptyState kind="forbidden">
            <p>
              Use an admin token or one scoped to <bdi>{type}</bdi>.
            </p>
          </EmptyState>
        }
      />
    )
  if (data === undefined) return <Unread route={route} problem={<ReadState read={read} />} />
  return <Known route={route} read={read} known={data} />
}

const Heading = ({ route: { type, id } }: { readonly route: Route }) => (
  <h1>
    <bdi>{id}</bdi>{' '}
    <a className="soft of-type" href={`#/workers?q=${encodeURIComponent(`type:${type}`)}`}>
      <bdi>{type}</bdi>
    </a>
  </h1>
)

function Unread({ route, problem }: { readonly route: Route; readonly problem: ReactNode }) {
  return (
    <>
      <Back />
      <div className="title">
        <Heading route={route} />
      </div>
      {problem}
    </>
  )
}

const Back = () => (
  <p className="back">
    <a href="#/workers">All workers</a>
  </p>
)

function Gone({ route: { type, id } }: { readonly route: Route }) {
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

interface KnownProps {
  readonly route: Route
  readonly read: Read<Record>
  readonly known: Record
}

function Known({ route, read, known: { worker, epoch } }: KnownProps) {
  const { type, id, tab } = route
  const history = useRead(
    ['history', type, id],
    HISTORY_EVERY_MS,
    async (api, signal) =>
      (
        await api.get<HistoryBody>(
          ['automations', type, 'workers', id, 'config', 'history'],
          { limit: HISTORY_ROWS },
          signal,
        )
      ).body,
  )
  const open = (to: Route['tab'], text: string) => ({
    text,
    to: { place: 'worker' as const, type, id, tab: to },
    open: tab === to,
  })
  return (
    <>
      <Back />
      <div className="title worker-title">
        <Heading route={route} />
        <StateBadge worker={worker} />
        <span className="soft">
          <Lasting since={worker.state_since} />
        </span>
        {worker.managed_by !== null && (
          <span className="managed-badge" title={worker.managed_by}>
            <span aria-hidden="true">⎈ </span>
            <bdi>{managerText(worker.managed_by)}</bdi>
          </span>
        )}
        <WhyWorker worker={worker} />
        <WorkerActs worker={worker} refresh={read.refresh} />
      </div>
      <ReadState read={read} />
      <Tabs
        label="Worker views"
        tabs={[
          open('summary', 'Summary'),
          open('slots', 'Slots'),
          open('config', 'Config'),
          open('history', 'History'),
        ]}
      />
      <Suspense fallback={<output className="reading">Loading…</output>}>
        <div className={read.problem === undefined || tab === 'config' ? undefined : 'stale'}>
          {tab === 'summary' && <SummaryTab worker={worker} history={history.data ?? []} />}
          {tab === 'slots' && <SlotLanes worker={worker} />}
          {tab === 'config' && (
            <WithSchema type={type}>
              {(schema) => (
                <ConfigTab
                  route={route}
                  worker={worker}
                  epoch={epoch}
                  schema={schema}
                  readAtMs={read.atMs ?? 0}
                  refresh={read.refresh}
                  why={<WhyWorker worker={worker} />}
                />
              )}
            </WithSchema>
          )}
          {tab === 'history' && (
            <WithSchema type={type}>
              {(schema) => <HistoryTab route={route} worker={worker} epoch={epoch} schema={schema} read={history} />}
            </WithSchema>
          )}
        </div>
      </Suspense>
    </>
  )
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
