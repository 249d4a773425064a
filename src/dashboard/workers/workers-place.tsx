/** @module dashboard/workers/workers-place  The workers of all types this token covers, and their queues in short. */
import { useId, useState } from 'react'
import type { WorkerBody } from '../../protocol/index.ts'
import { isBatch } from '../api/automations.ts'
import type { Api } from '../api/client.ts'
import { useInstalled } from '../api/installed.ts'
import { usePolled } from '../api/use-polled.ts'
import { Empty } from '../parts/empty.tsx'
import { Freshness } from '../parts/freshness.tsx'
import { countText } from '../parts/numbers.ts'
import { useServerNow } from '../parts/use-now.ts'
import { QueueSummary } from '../tasks/queue-summary.tsx'
import { matchesFilter, verdictText } from './display-state.ts'
import { WorkerTable } from './worker-table.tsx'

const EVERY_MS = 5_000

async function loadWorkers(api: Api, types: readonly string[], signal: AbortSignal): Promise<readonly WorkerBody[]> {
  const lists = await Promise.all(types.map((type) => api.get<readonly WorkerBody[]>(['automations', type, 'workers'], { view: 'summary' }, signal)))
  return lists.flatMap(({ body }) => body)
}

export function WorkersPlace() {
  const { automations } = useInstalled()
  const types = automations.map(({ type }) => type)
  const polled = usePolled(`workers ${types.join(' ')}`, EVERY_MS, (api, signal) => loadWorkers(api, types, signal))
  const now = useServerNow()
  const [filter, setFilter] = useState('')
  const filterId = useId()
  const workers = polled.data ?? []
  const found = workers.filter((worker) => matchesFilter(worker, filter, now))
  return (
    <>
      <h1>Workers</h1>
      {polled.data !== undefined && <p className="verdict">{verdictText(workers, now)}</p>}
      <Freshness polled={polled} every="5 s" />
      <QueueSummary types={automations.filter(isBatch).map(({ type }) => type)} />
      {polled.data !== undefined && workers.length === 0 && (
        <Empty><p>A worker appears here when it registers: <code>SVC_MASTER_URL=… SVC_WORKER_TOKEN=… SVC_AUTOMATION_TYPE={types[0] ?? 'TYPE'} muster worker</code></p></Empty>
      )}
      {workers.length > 0 && (
        <div className="filter">
          <label htmlFor={filterId}>Filter</label>
          <input id={filterId} type="search" value={filter} onChange={(event) => setFilter(event.target.value)} placeholder="id, type, host, state, error" />
          <output className="soft">{countText(found.length)} of {countText(workers.length)}</output>
        </div>
      )}
      {found.length > 0 && <WorkerTable workers={found} stale={polled.problem !== undefined} />}
      {workers.length > 0 && found.length === 0 && <Empty><p>No worker matches the filter. <button type="button" className="link" onClick={() => setFilter('')}>Show all</button></p></Empty>}
    </>
  )
}
