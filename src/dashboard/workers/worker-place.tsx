/** @module dashboard/workers/worker-place  One worker: what it is and does, its config, and the acts upon it. */
import type { JsonObject, WorkerBody } from '../../protocol/index.ts'
import { useAutomation } from '../api/installed.ts'
import { isProblem } from '../api/problem.ts'
import { usePolled } from '../api/use-polled.ts'
import { ConfigForm } from '../config/config-form.tsx'
import { Empty } from '../parts/empty.tsx'
import { Freshness } from '../parts/freshness.tsx'
import { StateBadge } from '../parts/state-badge.tsx'
import { WorkerActs } from './worker-acts.tsx'
import { WorkerFacts, WorkerMetrics } from './worker-facts.tsx'

const EVERY_MS = 3_000

interface Read { readonly worker: WorkerBody; readonly epoch: string | null }

export function WorkerPlace({ type, id }: { readonly type: string; readonly id: string }) {
  const automation = useAutomation(type)
  const polled = usePolled<Read>(`worker ${type}/${id}`, EVERY_MS, async (api, signal) => {
    const { body: worker, epoch } = await api.get<WorkerBody>(['automations', type, 'workers', id], {}, signal)
    return { worker, epoch }
  })
  const { data, problem, refresh } = polled
  const gone = isProblem(problem, 404)
  return (
    <>
      <p className="back"><a href="#/">All workers</a></p>
      <div className="title">
        <h1><bdi>{id}</bdi> <span className="soft"><bdi>{type}</bdi></span></h1>
        {data !== undefined && !gone && <StateBadge worker={data.worker} />}
        {data !== undefined && !gone && <WorkerActs worker={data.worker} refresh={refresh} />}
      </div>
      {gone
        ? <Empty><p>The master knows no worker <bdi>{id}</bdi> of type <bdi>{type}</bdi>. It was forgotten, or never registered; it appears again when it registers.</p></Empty>
        : <Freshness polled={polled} every="3 s" />}
      {data !== undefined && (
        <div hidden={gone}>
          <WorkerFacts worker={data.worker} stale={problem !== undefined} />
          {automation === undefined
            ? <p className="notice">This type is not installed, so there is no form for its config.</p>
            : <ConfigForm worker={data.worker} epoch={data.epoch} schema={automation.configSchema} refresh={refresh} />}
          <WorkerMetrics metrics={(data.worker.current_stats?.metrics ?? {}) as JsonObject} />
        </div>
      )}
    </>
  )
}
