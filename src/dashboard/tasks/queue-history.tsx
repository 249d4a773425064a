/** @module dashboard/tasks/queue-history  Shows the last hour of a queue: the chart, its rates and a CSV download. */
import type { QueueSample } from '../../protocol/index.ts'
import { Download } from '../components/download.tsx'
import { countText, measureText } from '../components/numbers.ts'
import { TierChart, useQueueSamples } from './tier-chart.tsx'
import { mostWaiting, ratesOf, toCsv } from './tier-history.ts'

export function QueueHistory({ type }: { readonly type: string }) {
  const { data } = useQueueSamples(type)
  return (
    <section className="card" aria-label="Last hour">
      <h2>Waiting by tier, last hour</h2>
      <TierChart type={type} />
      {data !== undefined && <QueueRates type={type} samples={data} />}
    </section>
  )
}

function QueueRates({ type, samples }: { readonly type: string; readonly samples: readonly QueueSample[] }) {
  const rates = ratesOf(samples)
  const perMinute = (rate: number | undefined): string => (rate === undefined ? '–' : measureText(rate))
  return (
    <div className="rates">
      <dl>
        <div>
          <dt>submitted / min</dt>
          <dd>{perMinute(rates?.submitted)}</dd>
        </div>
        <div>
          <dt>done / min</dt>
          <dd>{perMinute(rates?.acked)}</dd>
        </div>
        <div>
          <dt>failed / min</dt>
          <dd>{perMinute(rates?.nacked)}</dd>
        </div>
        <div>
          <dt>died / min</dt>
          <dd>{perMinute(rates?.died)}</dd>
        </div>
        <div>
          <dt>peak waiting</dt>
          <dd>{samples.length === 0 ? '–' : countText(mostWaiting(samples))}</dd>
        </div>
      </dl>
      <Download name={`${type}-queue.csv`} media="text/csv" make={() => toCsv(samples)} disabled={samples.length === 0}>
        Save as CSV
      </Download>
    </div>
  )
}
