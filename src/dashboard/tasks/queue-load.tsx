/**
 * @module dashboard/tasks/queue-load
 * Shows the load of a queue, as an autoscaler reads it (D139): the backlog, the slots that run, and the slots that are
 * needed so that tasks wait no longer than the master's target. Nothing is shown until the master has sampled.
 */
import type { LoadBody } from '../../protocol/index.ts'
import { useRead } from '../api/queries.ts'
import { countText, measureText } from '../components/numbers.ts'
import { neededOf } from './needed-slots.ts'

/** The sampling interval of the master. */
const EVERY_MS = 15_000

export function QueueLoad({ type }: { readonly type: string }) {
  const { data, problem } = useRead(
    ['load', type],
    EVERY_MS,
    async (api, signal) => (await api.get<LoadBody>(['automations', type, 'load'], {}, signal)).body,
  )
  if (data === undefined) return null
  return (
    <section className={problem === undefined ? 'card' : 'card stale'} aria-label="Load">
      <h2>
        Load <span className="count">slots, and how many the backlog needs</span>
      </h2>
      <div className="totals">
        <SlotBars load={data} />
        <LoadNumbers load={data} />
      </div>
    </section>
  )
}

function SlotBars({ load }: { readonly load: LoadBody }) {
  const needed = neededOf(load)
  const neededSlots = needed.kind === 'known' ? needed.slots : null
  const most = Math.max(load.slots, neededSlots ?? 0, 1)
  const bars = [
    ['slots', load.slots, 'wait-normal'],
    ['needed', neededSlots, 'wait-high'],
  ] as const
  return (
    <div>
      <dl className="tiers">
        {bars.map(([name, count, className]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{count === null ? 'unknown' : countText(count)}</dd>
            <svg className={`bar ${className}`} aria-hidden="true">
              <rect width={`${((count ?? 0) / most) * 100}%`} height="100%" />
            </svg>
          </div>
        ))}
      </dl>
      {needed.kind === 'unknown' && <p className="soft">{needed.why}</p>}
    </div>
  )
}

function LoadNumbers({ load }: { readonly load: LoadBody }) {
  const { backlog, arrivals_per_second: arrivals, completions_per_second: completions, mean_run_seconds: run } = load
  const numbers: readonly (readonly [string, number | null, string])[] = [
    ['arrivals / s', arrivals, ''],
    ['done / s', completions, ''],
    ['mean run', run, ' s'],
  ]
  return (
    <dl className="places-of-tasks">
      <div>
        <dt>backlog</dt>
        <dd>{countText(backlog)}</dd>
      </div>
      {numbers.map(([name, value, unit]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === null ? '–' : `${measureText(value)}${unit}`}</dd>
        </div>
      ))}
    </dl>
  )
}
