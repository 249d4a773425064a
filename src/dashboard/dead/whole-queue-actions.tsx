/**
 * @module dashboard/dead/whole-queue-actions
 * The two actions whose tasks the master chooses: replay the oldest, and clear all.
 */
import { useState } from 'react'
import { useAction } from '../api/use-action.ts'
import { readN } from '../components/item-count.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CountInput } from '../components/count-input.tsx'
import { Download, ndjson } from '../components/download.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'
import { countText, plural } from '../components/numbers.ts'

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

interface ClearProps extends WholeQueueProps {
  readonly items: readonly unknown[]
  readonly onClose: () => void
}

export function ClearDialog({ type, length, items, onDone, onClose }: ClearProps) {
  const clear = useAction(async (api) => {
    const { body } = await api.send<{ cleared: number }>('DELETE', ['automations', type, 'dead'])
    onClose()
    onDone(`${plural(body.cleared, 'dead letter')} cleared.`)
  })
  return (
    <ConfirmDialog
      title={`Clear all dead letters of ${type}?`}
      verb={`Clear ${plural(length, 'dead letter')}`}
      act={clear}
      typed={type}
      onClose={onClose}
    >
      <p>
        All dead letters and their payloads are deleted, including tasks that die before the master handles this
        request. This cannot be undone; to run tasks again, replay them instead.
      </p>
      <p>
        <Download name={`${type}-dead.ndjson`} media="application/x-ndjson" make={() => ndjson(items)}>
          {items.length < length ? `Save a copy of the first ${countText(items.length)}` : 'Save a copy first'}
        </Download>
      </p>
    </ConfirmDialog>
  )
}
