/** @module dashboard/workers/worker-facts  What the master knows of a worker. */
import type { ReactNode } from 'react'
import type { JsonObject, WorkerBody } from '../../protocol/index.ts'
import { measureText } from '../parts/numbers.ts'
import { Age } from '../parts/times.tsx'
import { configText, isBehind } from './display-state.ts'

export function WorkerFacts({ worker, stale }: { readonly worker: WorkerBody; readonly stale: boolean }) {
  const { hardware, current_stats: stats, connected } = worker
  const live = connected ? stats : null
  return (
    <section aria-label="Facts" className={stale ? 'stale' : ''}>
      {worker.last_error !== null && <div className="last-error"><h2>Last error</h2><pre><bdi>{worker.last_error}</bdi></pre></div>}
      <dl className="facts">
        <Fact name="Seen"><Age at={worker.last_seen} /></Fact>
        <Fact name={connected ? 'In this state' : 'Offline since'}><Age at={worker.state_since} /></Fact>
        <Fact name="Registered"><Age at={worker.registered_at} /></Fact>
        <Fact name="Slots">{live?.slots ?? '–'}</Fact>
        <Fact name="CPU">{live === null ? '–' : `${measureText(live.cpu_pct)} %`}</Fact>
        <Fact name="Memory">{live === null ? '–' : `${measureText(live.rss_mb)} MB`}</Fact>
        <Fact name="Config generation"><span className={isBehind(worker) ? 'warn' : ''}>{configText(worker)}</span></Fact>
        <Fact name="Config changed">{worker.config_changed_at === null ? 'never' : <><Age at={worker.config_changed_at} />{worker.config_changed_by !== null && <> by <bdi>{worker.config_changed_by}</bdi></>}</>}</Fact>
        {worker.managed_by !== null && <Fact name="Managed by"><bdi>{worker.managed_by}</bdi></Fact>}
        <Fact name="Host"><bdi>{hardware.hostname}</bdi></Fact>
        <Fact name="Hardware">{hardware.cores} cores, {measureText(hardware.ram_gb)} GB</Fact>
        <Fact name="Kernel"><bdi>{hardware.kernel}</bdi></Fact>
      </dl>
    </section>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>
}

export function WorkerMetrics({ metrics }: { readonly metrics: JsonObject }) {
  const names = Object.keys(metrics).toSorted()
  if (names.length === 0) return null
  return (
    <section>
      <h2>Metrics</h2>
      <dl className="metrics">
        {names.map((name) => <div key={name}><dt><bdi>{name}</bdi></dt><dd>{typeof metrics[name] === 'number' ? measureText(metrics[name]) : JSON.stringify(metrics[name])}</dd></div>)}
      </dl>
    </section>
  )
}
