/**
 * @module dashboard/worker/drain-progress
 * Shows what a draining worker still runs, since when and by whom it drains, and afterwards how it departed (D195).
 */
import type { QueueHistoryBody, WorkerBody } from '../../protocol/index.ts'
import { departureText } from '../../diagnosis/index.ts'
import { useAutomation } from '../api/installed.ts'
import { useRead } from '../api/queries.ts'
import { CardTable, Cell, Row, RowHead } from '../components/card-table.tsx'
import { plural } from '../components/numbers.ts'
import { Age, Duration } from '../components/times.tsx'
import { spanText } from '../components/age.ts'
import { useServerNow } from '../components/use-now.ts'
import { formatRoute } from '../route.ts'
import { estimateText, runningSlots, type RunningSlot } from './drain-left.ts'

interface Props {
  readonly worker: WorkerBody
}

/** What the estimate is based on. */
const HISTORY = { seconds: 3_600, step: 900 }
const HISTORY_EVERY_MS = 60_000
const COLUMNS = ['Slot', 'Task', 'Running for'] as const

/** How a worker that is offline departed. */
export function DepartureNotice({ worker: { connected, departure = null } }: Props) {
  const now = useServerNow()
  if (connected || departure === null) return null
  const isBad = departure.kind === 'lost' || departure.kind === 'evicted'
  return (
    <p className={isBad ? 'notice bad' : 'notice'}>
      <bdi>{departureText(departure, now)}</bdi>
    </p>
  )
}

export function DrainProgress({ worker }: Props) {
  const { connected, draining, departure = null } = worker
  if (!draining || (!connected && departure?.kind === 'drained')) return null
  return (
    <section className="card drain" aria-labelledby="drain-title">
      <h2 id="drain-title">
        Draining <Duration since={worker.drain_requested_at ?? worker.state_since} />
      </h2>
      <RequestedBy worker={worker} />
      {connected ? <LeftToDo worker={worker} /> : <p>It is offline. The next process that registers gets the drain.</p>}
      <p className="soft">
        A drain cannot be cancelled, because the worker has stopped reserving and exits when it is done. Start its
        process again to have it back: a new process registers without the drain.
      </p>
    </section>
  )
}

function RequestedBy({ worker: { drain_requested_at: at = null, drain_requested_by: by = null } }: Props) {
  if (by === null || at === null) return null
  return (
    <p>
      Requested by <bdi>{by}</bdi> <Age at={at} />.
    </p>
  )
}

function LeftToDo({ worker }: Props) {
  const { current_stats: stats, automation_type: type, tasks_held: held = null } = worker
  const slots = runningSlots(stats, useServerNow())
  const isBatch = useAutomation(type)?.kind === 'BatchAutomation'
  const waiting = Math.max(0, (held ?? 0) - slots.length)
  return (
    <>
      <p>
        <strong>
          {slots.length === 0 ? 'No slot runs any more' : `${plural(slots.length, 'slot')} still running`}
        </strong>
        {waiting > 0 && `, and ${plural(waiting, 'task')} that it returns to the queue or delivers`}
        {stats !== null && (
          <>
            , as reported <Age at={stats.ts} />
          </>
        )}
        . {isBatch ? 'Running tasks finish; there is no time limit.' : 'Each slot has the drain timeout to end.'}{' '}
        {isBatch && <Estimate type={type} slots={slots} />}
      </p>
      {slots.length > 0 && <SlotTable type={type} slots={slots} />}
    </>
  )
}

function Estimate({ type, slots }: { readonly type: string; readonly slots: readonly RunningSlot[] }) {
  const { data } = useRead(['history', type, 'drain'], HISTORY_EVERY_MS, async (api, signal) => {
    const { body } = await api.get<QueueHistoryBody>(['automations', type, 'history'], HISTORY, signal)
    return body.steps.findLast(({ run }) => run !== null)?.run ?? null
  })
  return data === undefined ? null : estimateText(slots, data)
}

function SlotTable({ type, slots }: { readonly type: string; readonly slots: readonly RunningSlot[] }) {
  return (
    <CardTable label="Running slots" columns={COLUMNS} numbers={['Running for']} stale={false}>
      {slots.map(({ slot, task, seconds }) => (
        <Row key={slot}>
          <RowHead of="Slot">{slot}</RowHead>
          <Cell of="Task">
            {task === null ? (
              <span className="soft">–</span>
            ) : (
              <a href={formatRoute({ page: 'task', type, id: task })}>
                <bdi>{task}</bdi>
              </a>
            )}
          </Cell>
          <Cell of="Running for" className="number">
            {spanText(seconds)}
          </Cell>
        </Row>
      ))}
    </CardTable>
  )
}
