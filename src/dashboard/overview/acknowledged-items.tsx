/**
 * @module dashboard/overview/acknowledged-items
 * Lists what is acknowledged, by whom and until when, with a button that lists it again.
 */
import { hasPermission, useSession } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { useRefresh } from '../api/queries.ts'
import { ErrorPanel } from '../components/error-panel.tsx'
import { Moment } from '../components/times.tsx'
import { keyOf, type Acknowledged } from '../../diagnosis/index.ts'
import { actorText } from '../settings/actor.ts'
import { AttentionText } from './attention-text.tsx'

export function AcknowledgedItems({ acknowledged }: { readonly acknowledged: readonly Acknowledged[] }) {
  return (
    <details className="acknowledged">
      <summary>{acknowledged.length} acknowledged</summary>
      <ul className="attention">
        {acknowledged.map((each) => (
          <AcknowledgedRow key={keyOf(each.acknowledgement)} of={each} />
        ))}
      </ul>
    </details>
  )
}

const KINDS: Readonly<Record<string, string>> = {
  unserved: 'waiting tasks without a worker',
  error: 'workers in ERROR',
  offline: 'offline workers',
  behind: 'workers behind the saved config',
  paused: 'pause',
  old: 'tasks waiting over 5 min',
  dead: 'dead tasks',
  stream: 'output stream',
}

const endText = (untilChange: boolean): string => (untilChange ? 'until it changes' : 'without an end')

function AcknowledgedRow({ of: { acknowledgement, item } }: { readonly of: Acknowledged }) {
  const { me } = useSession()
  const refresh = useRefresh()
  const { type, note, actor, until, until_change: untilChange } = acknowledgement
  const { run, busy, problem } = useAction(async (api) => {
    await api.send('DELETE', ['automations', type, 'acknowledgements', acknowledgement.item])
    refresh(['acknowledgements'])
  })
  const subject = item?.subject ?? type
  return (
    <li>
      <div className="attention-text">
        <p className="attention-what">
          <bdi className="attention-subject">{subject}</bdi>{' '}
          {item === null ? (
            <bdi>{KINDS[acknowledgement.item] ?? acknowledgement.item}: solved</bdi>
          ) : (
            <AttentionText item={item} />
          )}
        </p>
        <p className="soft">
          by <bdi>{actorText(actor)}</bdi>,{' '}
          {until === null ? (
            endText(untilChange)
          ) : (
            <>
              until <Moment at={until} />
            </>
          )}
          {note !== null && (
            <>
              : <bdi>{note}</bdi>
            </>
          )}
        </p>
        {problem !== null && <ErrorPanel problem={problem} />}
      </div>
      {hasPermission(me, type, 'operate') && (
        <button type="button" className="quiet" disabled={busy} onClick={() => void run()}>
          {item === null ? 'Remove' : 'List again'}
          <span className="hidden">
            {' '}
            <bdi>{subject}</bdi> {KINDS[acknowledgement.item] ?? acknowledgement.item}
          </span>
        </button>
      )}
    </li>
  )
}
