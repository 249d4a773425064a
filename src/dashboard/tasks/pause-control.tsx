/** @module dashboard/tasks/pause-control  Pauses a queue, with a note and an end (D106). */
import { useId, useState } from 'react'
import type { QueueTotals } from '../../protocol/index.ts'
import { apiBase, hasPermission, serverClock, useSession } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { useRefresh } from '../api/queries.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyAs } from '../components/copy-as.tsx'
import { NoteAndEnd } from '../components/note-and-end.tsx'
import { MomentInput } from '../components/moment-input.tsx'
import { inputOfSeconds, secondsOfInput } from '../components/moment-value.ts'
import { preferences } from '../settings/preferences.ts'

const ENDS = [
  { text: 'Until it is resumed', seconds: null, option: [] },
  { text: 'For 10 minutes', seconds: 600, option: ['--for', '10m'] },
  { text: 'For 1 hour', seconds: 3_600, option: ['--for', '1h'] },
  { text: 'For 8 hours', seconds: 28_800, option: ['--for', '8h'] },
  { text: 'For 1 day', seconds: 86_400, option: ['--for', '1d'] },
  { text: 'Until a time…', seconds: 'moment', option: [] },
] as const

type Pause = NonNullable<QueueTotals['paused']>

const pathOf = (type: string): readonly string[] => ['automations', type, 'queue', 'pause']

/** The bar of paused queues resumes the queue; here, a pause can be started and replaced. */
export function PauseControl({ type, paused }: { readonly type: string; readonly paused: Pause | undefined }) {
  const { me } = useSession()
  const [isOpen, setIsOpen] = useState(false)
  const may = hasPermission(me, type, 'operate')
  const why = may ? undefined : 'This token may not operate this type.'
  return (
    <div className="buttons">
      <button type="button" disabled={!may} title={why} onClick={() => setIsOpen(true)}>
        {paused === undefined ? 'Pause…' : 'Change pause…'}
      </button>
      {isOpen && <PauseDialog type={type} paused={paused} onClose={() => setIsOpen(false)} />}
    </div>
  )
}

interface PauseDialogProps {
  readonly type: string
  readonly paused: Pause | undefined
  readonly onClose: () => void
}

function PauseDialog({ type, paused, onClose }: PauseDialogProps) {
  const refresh = useRefresh()
  const [note, setNote] = useState(paused?.note ?? '')
  const [end, setEnd] = useState<(typeof ENDS)[number]>(ENDS[0])
  const [moment, setMoment] = useState('')
  const { body, option, isReady } = pauseOf(note, end, moment)
  const act = useAction(async (api) => {
    await api.send('PUT', pathOf(type), { body })
    refresh(['overview'], ['queue', type])
    onClose()
  })
  return (
    <ConfirmDialog
      title={paused === undefined ? `Pause the queue of ${type}?` : `Change the pause of ${type}?`}
      verb="Pause the queue"
      act={act}
      danger={false}
      isReady={isReady}
      onClose={onClose}
    >
      <p>Workers take no further task of this queue. Running tasks finish, and new tasks are accepted.</p>
      <NoteAndEnd note={note} onNote={setNote} ends={ENDS} end={end} onEnd={setEnd} />
      {end.seconds === 'moment' && <EndMoment value={moment} onChange={setMoment} isInvalid={!isReady} />}
      <p>
        <CopyAs
          commands={[
            curlCommand(apiBase(), { method: 'PUT', path: pathOf(type), body }),
            musterCommand(apiBase(), 'queue', 'pause', type, ...option),
          ]}
        />
      </p>
    </ConfirmDialog>
  )
}

interface PauseRequest {
  readonly body: { readonly note?: string; readonly seconds?: number; readonly until?: number }
  readonly option: readonly string[]
  readonly isReady: boolean
}

function pauseOf(note: string, end: (typeof ENDS)[number], moment: string): PauseRequest {
  const text = note.trim()
  const until = end.seconds === 'moment' ? secondsOfInput(moment, preferences().utc) : null
  const isReady = end.seconds !== 'moment' || (until !== null && until > serverClock.nowSeconds())
  return {
    body: {
      ...(text !== '' && { note: text }),
      ...(typeof end.seconds === 'number' && { seconds: end.seconds }),
      ...(until !== null && { until }),
    },
    option: [
      ...(text === '' ? [] : ['--note', text]),
      ...(until === null ? end.option : ['--until', new Date(until * 1_000).toISOString()]),
    ],
    isReady,
  }
}

interface EndMomentProps {
  readonly value: string
  readonly isInvalid: boolean
  readonly onChange: (value: string) => void
}

function EndMoment({ value, isInvalid, onChange }: EndMomentProps) {
  const id = useId()
  return (
    <p>
      <label htmlFor={id}>Paused until</label>{' '}
      <MomentInput
        id={id}
        value={value}
        min={inputOfSeconds(serverClock.nowSeconds(), preferences().utc)}
        isInvalid={value !== '' && isInvalid}
        onChange={onChange}
      />
    </p>
  )
}
