/**
 * @module dashboard/dead/whole-queue-actions
 * The two actions whose tasks the master chooses: replay the oldest, and remove all.
 */
import { useState } from 'react'
import { useAction } from '../api/use-action.ts'
import { readN } from '../components/item-count.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CountInput } from '../components/count-input.tsx'
import { ndjson, saveFile } from '../components/download.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'
import { countText, plural } from '../components/numbers.ts'
import { newestTasks } from './groups.ts'

interface WholeQueueProps {
  readonly type: string
  readonly length: number
  readonly onDone: (text: string) => void
}

const SUGGESTED = 50

export function ReplayOldest({ type, length, onDone }: WholeQueueProps) {
  const [text, setText] = useState('')
  const suggested = Math.min(length, SUGGESTED)
  const n = text.trim() === '' ? suggested : readN(text)
  const replay = useAction(async (api, count: number) => {
    const { body } = await api.send<{ replayed: number }>('POST', ['automations', type, 'dead', 'replay'], {
      body: { n: count },
    })
    onDone(`${plural(body.replayed, 'task')} requeued.`)
  })
  return (
    <>
      <CountInput
        label="Number to replay"
        value={text}
        placeholder={String(suggested)}
        isInvalid={n === null}
        onChange={setText}
      />
      <button type="button" disabled={n === null || replay.busy} onClick={() => n !== null && void replay.run(n)}>
        {n === null ? 'Enter 1 to 10,000' : `Replay the oldest ${countText(Math.min(n, length))}`}
      </button>
      {replay.problem !== null && <ErrorPanel problem={replay.problem} />}
    </>
  )
}

interface RemoveAllProps extends WholeQueueProps {
  readonly onClose: () => void
}

/** The most tasks that a copy has: they are in memory while it is made. */
const MAX_SAVED = 10_000

export function RemoveAllDialog({ type, length, onDone, onClose }: RemoveAllProps) {
  const remove = useAction(async (api) => {
    const { body } = await api.send<{ cleared: number }>('DELETE', ['automations', type, 'dead'])
    onClose()
    onDone(`${plural(body.cleared, 'task')} removed.`)
  })
  const save = useAction(async (api) => {
    const items = await newestTasks(api, type, { n: MAX_SAVED })
    saveFile(`${type}-dead.ndjson`, 'application/x-ndjson', ndjson(items))
  })
  return (
    <ConfirmDialog
      title={`Remove all dead tasks of ${type}?`}
      verb={`Remove ${plural(length, 'dead task')}`}
      act={remove}
      typed={type}
      onClose={onClose}
    >
      <p>
        All dead tasks and their payloads are deleted, including tasks that die before the master handles this request.
        This cannot be undone; to run tasks again, replay them instead.
      </p>
      <p>
        <button type="button" disabled={save.busy} onClick={() => void save.run()}>
          {length > MAX_SAVED ? `Save a copy of the newest ${countText(MAX_SAVED)}` : 'Save a copy first'}
        </button>
      </p>
      {save.problem !== null && <ErrorPanel problem={save.problem} />}
    </ConfirmDialog>
  )
}
