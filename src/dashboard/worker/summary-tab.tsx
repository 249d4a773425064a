/** @module dashboard/worker/summary-tab  Shows the record of a worker and its statistics of the last hour. */
import { lazy, Suspense, type ReactNode } from 'react'
import type { HistoryBody, WorkerBody } from '../../protocol/index.ts'
import { useRefresh } from '../api/queries.ts'
import { mayUse, useSession } from '../api/session.ts'
import { cutText } from '../components/json-text.ts'
import { measureText, plural } from '../components/numbers.ts'
import { Age } from '../components/times.tsx'
import { formatRoute } from '../route.ts'
import { configText, isBehind } from '../workers/display-state.ts'
import { SlotStepper } from '../workers/slot-stepper.tsx'
import { DepartureNotice, DrainProgress } from './drain-progress.tsx'

const StatsCharts = lazy(async () => ({ default: (await import('../charts/stats-charts.tsx')).StatsCharts }))

/** Limit for display. The master stores shorter errors, but the page does not rely on it. */
const ERROR_CHARACTERS = 4_096

export function SummaryTab({ worker, history }: { readonly worker: WorkerBody; readonly history: HistoryBody }) {
  return (
    <>
      {worker.last_error !== null && (
        <div className="last-error">
          <h2>Last error</h2>
          <pre>
            <bdi>{cutText(worker.last_error, ERROR_CHARACTERS)}</bdi>
          </pre>
        </div>
      )}
      <DepartureNotice worker={worker} />
      <DrainProgress worker={worker} />
      <Facts worker={worker} />
      <Suspense fallback={<output className="reading">Loading…</output>}>
        <StatsCharts worker={worker} history={history} />
      </Suspense>
    </>
  )
}

function SinceFact({ worker }: { readonly worker: WorkerBody }) {
  const { connected, ended, departure = null, state_since: since } = worker
  const isOrderly = !connected && departure === null && ended === true
  return (
    <Fact name={connected ? 'In this state since' : 'Offline since'}>
      <Age at={connected ? since : (departure?.at ?? since)} />
      {isOrderly && <span className="soft"> (ended in an orderly way)</span>}
    </Fact>
  )
}

function Facts({ worker }: { readonly worker: WorkerBody }) {
  const refresh = useRefresh()
  const { current_stats: stats, connected, config } = worker
  const live = connected ? stats : null
  const wanted = typeof config['slots'] === 'number' ? config['slots'] : null
  return (
    <section aria-label="Details" className="card">
      <dl className="facts">
        <Fact name="Last seen">
          <Age at={worker.last_seen} />
        </Fact>
        <SinceFact worker={worker} />
        <Fact name="Registered">
          <Age at={worker.registered_at} />
        </Fact>
        <Fact name="Enabled">{config['enabled'] === true ? 'yes' : <span className="warn">no</span>}</Fact>
        <Fact name="Slots">
          <SlotStepper
            worker={worker}
            running={live?.slots ?? null}
            isInRow={false}
            onSaved={() => refresh(['worker', worker.automation_type, worker.worker_id])}
          />
          {wanted !== null && wanted !== live?.slots && <span className="soft"> of {wanted} configured</span>}
        </Fact>
        <Fact name="CPU">{live === null ? '–' : `${measureText(live.cpu_pct)} %`}</Fact>
        <Fact name="Memory">{live === null ? '–' : `${measureText(live.rss_mb)} MB`}</Fact>
        <Fact name="Config generation">
          <span className={isBehind(worker) ? 'warn' : undefined}>{configText(worker)}</span>
        </Fact>
        <Fact name="Config changed">
          {worker.config_changed_at === null ? (
            'never'
          ) : (
            <>
              <Age at={worker.config_changed_at} />
              {worker.config_changed_by !== null && (
                <>
                  {' '}
                  by <bdi>{worker.config_changed_by}</bdi>
                </>
              )}
            </>
          )}
        </Fact>
        {worker.managed_by !== null && (
          <Fact name="Managed by">
            <bdi>{worker.managed_by}</bdi>
          </Fact>
        )}
        <ActivityFact worker={worker} />
        <ReportedFacts worker={worker} />
        <RegisteredFacts worker={worker} />
      </dl>
    </section>
  )
}

/** Leads to who changed, drained or claimed the worker, which only an admin may see. */
function ActivityFact({ worker: { automation_type: type, worker_id: object } }: { readonly worker: WorkerBody }) {
  const { me } = useSession()
  if (!mayUse(me)) return null
  return (
    <Fact name="Activity">
      <a href={formatRoute({ page: 'activity', type, object })}>Show activity</a>
    </Fact>
  )
}

/** What the newest statistics say beside the charts (D137). A worker of another SDK may report neither. */
function ReportedFacts({ worker }: { readonly worker: WorkerBody }) {
  const { connected, tasks_held: held = null, refused_config_gen: refused = null } = worker
  return (
    <>
      {connected && held !== null && <Fact name="Tasks held">{held}</Fact>}
      {refused !== null && (
        <Fact name="Refused config">
          <span className="warn">generation {refused}</span>
        </Fact>
      )}
    </>
  )
}

/** What the worker sent when it registered: its labels (D136) and its machine. */
function RegisteredFacts({ worker: { hardware, labels = {} } }: { readonly worker: WorkerBody }) {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return (
    <>
      {pairs.length > 0 && (
        <Fact name="Labels">
          <bdi>{pairs.join(', ')}</bdi>
        </Fact>
      )}
      <Fact name="Host">
        <bdi>{hardware.hostname}</bdi>
      </Fact>
      <Fact name="Hardware">
        {plural(hardware.cores, 'core')}, {measureText(hardware.ram_gb)} GB
      </Fact>
      <Fact name="Kernel">
        <bdi>{hardware.kernel}</bdi>
      </Fact>
    </>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
