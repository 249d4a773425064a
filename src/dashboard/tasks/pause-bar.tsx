/** @module dashboard/tasks/pause-bar  Shows on every page which queues are paused, with a button that resumes each. */
import type { QueueTotals } from '../../protocol/index.ts'
import { hasPermission, useSession } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { useRefresh } from '../api/queries.ts'
import { ErrorPanel } from '../components/error-panel.tsx'
import { plural } from '../components/numbers.ts'
import { Age, Moment } from '../components/times.tsx'
import { formatRoute } from '../route.ts'
import { useOverview } from '../workers/use-workers.ts'
import './pause-bar.css'

type Pause = NonNullable<QueueTotals['paused']>

/** Further paused queues are counted. */
const SHOWN = 3

export function PauseBar() {
  const { data } = useOverview()
  const paused = Object.entries(data?.automations ?? {}).flatMap(([type, { queue }]) =>
    queue?.paused === undefined ? [] : [{ type, pause: queue.paused }],
  )
  if (paused.length === 0) return null
  return (
    <section className="pause-bar" aria-label="Paused queues">
      {paused.slice(0, SHOWN).map(({ type, pause }) => (
        <PausedQueue key={type} type={type} pause={pause} />
      ))}
      {paused.length > SHOWN && (
        <p>
          <a href={formatRoute({ page: 'tasks', type: null })}>
            {plural(paused.length - SHOWN, 'further queue')} {paused.length === SHOWN + 1 ? 'is' : 'are'} paused
          </a>
        </p>
      )}
    </section>
  )
}

function PausedQueue({ type, pause: { note, actor, since, until } }: { readonly type: string; readonly pause: Pause }) {
  return (
    <div className="pause-line">
      <p>
        <span aria-hidden="true">‖ </span>
        <a href={formatRoute({ page: 'tasks', type })}>
          <bdi>{type}</bdi>
        </a>{' '}
        is paused.{' '}
        <span>
          Paused by <bdi>{actor}</bdi> <Age at={since} />
          {note !== null && (
            <>
              : <bdi>{note}</bdi>
            </>
          )}
          . No task is leased until {until === null ? 'the queue is resumed' : <Moment at={until} />}.
        </span>
      </p>
      <ResumeButton type={type} />
    </div>
  )
}

function ResumeButton({ type }: { readonly type: string }) {
  const { me } = useSession()
  const refresh = useRefresh()
  const { run, busy, problem } = useAction(async (api) => {
    await api.send('DELETE', ['automations', type, 'queue', 'pause'])
    refresh(['overview'], ['queue', type])
  })
  if (!hasPermission(me, type, 'operate')) return null
  return (
    <>
      {problem !== null && <ErrorPanel problem={problem} />}
      <button type="button" disabled={busy} onClick={() => void run()}>
        {busy ? 'Working…' : 'Resume'}
        <span className="hidden"> the queue of {type}</span>
      </button>
    </>
  )
}
