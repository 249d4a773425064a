/** @module dashboard/tasks/pause-control  Pauses a queue, with a note and an end, and resumes it (D106). */
import { useId, useState } from 'react'
import type { QueueTotals } from '../../protocol/index.ts'
import { apiBase, hasPermission, useSession } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { useRefresh } from '../api/queries.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyAs } from '../components/copy-as.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'
import { Age, Moment } from '../components/times.tsx'

const ENDS = [
  { text: 'Until it is resumed', seconds: null, option: [] },
  { text: 'For 10 minutes', seconds: 600, option: ['--for', '10m'] },
  { text: 'For 1 hour', seconds: 3_600, option: ['--for', '1h'] },
  { text: 'For 8 hours', seconds: 28_800, option: ['--for', '8h'] },
  { text: 'For 1 day', seconds: 86_400, option: ['--for', '1d'] },
] as const

type Pause = NonNullable<QueueTotals['paused']>

const pathOf = (type: string): readonly string[] => ['automations', type, 'queue', 'pause']

export function PauseControl({ type, paused }: { readonly type: string; readonly paused: boolean }) {
  const { me } = useSession()
  const refresh = useRefresh()
  const [isOpen, setIsOpen] = useState(false)
  const may = hasPermission(me, type, 'operate')
  const why = may ? undefined : 'This token may not operate this type.'
  const resume = useAction(async (api) => {
    await api.send('DELETE', pathOf(type))
    refresh(['overview'], ['queue', type])
  })
  return (
    <div className="buttons">
      {resume.problem !== null && <ErrorPanel problem={resume.problem} />}
      {paused ? (
        <button
          type="button"
          className="primary"
          disabled={!may || resume.busy}
          title={why}
          onClick={() => void resume.run()}
        >
          {resume.busy ? 'Working…' : 'Resume'}
        </button>
      ) : (
        <button type="button" disabled={!may} title={why} onClick={() => setIsOpen(true)}>
          Pause…
        </button>
      )}
      {isOpen && <PauseDialog type={type} onClose={() => setIsOpen(false)} />}
    </div>
  )
}

export function PauseNotice({ paused: { note, actor, since, until } }: { readonly paused: Pause }) {
  return (
    <p className="notice">
      Paused by <bdi>{actor}</bdi> <Age at={since} />
      {note !== null && (
        <>
          : <bdi>{note}</bdi>
        </>
      )}
      . No task is leased until {until === null ? 'the queue is resumed' : <Moment at={until} />}.
    </p>
  )
}

function PauseDialog({ type, onClose }: { readonly type: string; readonly onClose: () => void }) {
  const refresh = useRefresh()
  const [note, setNote] = useState('')
  const [end, setEnd] = useState<(typeof ENDS)[number]>(ENDS[0])
  const id = useId()
  const text = note.trim()
  const body = { ...(text !== '' && { note: text }), ...(end.seconds !== null && { seconds: end.seconds }) }
  const act = useAction(async (api) => {
    await api.send('PUT', pathOf(type), { body })
    refresh(['overview'], ['queue', type])
    onClose()
  })
  return (
    <ConfirmDialog
      title={`Pause the queue of ${type}?`}
      verb="Pause the queue"
      act={act}
      danger={false}
      onClose={onClose}
    >
      <p>Workers take no further task of this queue. Running tasks finish, and new tasks are accepted.</p>
      <div className="columns">
        <div>
          <label htmlFor={`${id}-note`}>Note, shown to everybody</label>
          <input
            id={`${id}-note`}
            type="text"
            maxLength={256}
            value={note}
            placeholder="why"
            onChange={(event) => setNote(event.target.value)}
          />
        </div>
        <div>
          <label htmlFor={`${id}-end`}>End</label>
          <select
            id={`${id}-end`}
            value={end.text}
            onChange={(event) => setEnd(ENDS.find((each) => each.text === event.target.value) ?? ENDS[0])}
          >
            {ENDS.map((each) => (
              <option key={each.text}>{each.text}</option>
            ))}
          </select>
        </div>
      </div>
      <p>
        <CopyAs
          commands={[
            curlCommand(apiBase(), { method: 'PUT', path: pathOf(type), body }),
            musterCommand(apiBase(), 'queue', 'pause', type, ...(text === '' ? [] : ['--note', text]), ...end.option),
          ]}
        />
      </p>
    </ConfirmDialog>
  )
}
