/** @module dashboard/dead/dead-dialog  Shows one dead task: attempts, error and payload, which can be edited (D159). */
import { useId, useState } from 'react'
import type { ReplayedEditedBody } from '../../protocol/index.ts'
import { useAction } from '../api/use-action.ts'
import { ErrorPanel } from '../components/error-panel.tsx'
import { prettyJson } from '../components/json-text.ts'
import { countText } from '../components/numbers.ts'
import { Age } from '../components/times.tsx'
import { formatRoute } from '../route.ts'
import { JsonDialog } from '../tasks/json-dialog.tsx'
import type { DeadItem } from './groups.ts'

export interface DeadDialogProps {
  readonly type: string
  readonly item: DeadItem
  /** @param text The result; null if the task was not replayed. */
  readonly onClose: (text: string | null) => void
}

export function DeadDialog({ type, item, onClose }: DeadDialogProps) {
  const [draft, setDraft] = useState<string | null>(null)
  return (
    <JsonDialog title={item.id} value={item.payload} onClose={() => onClose(null)}>
      <p className="soft">
        {countText(item.attempt)} of {countText(item.max_attempts)} attempts failed. Submitted{' '}
        <Age at={item.submitted_at} />, died <Age at={item.died_at} />
        <LastWorker item={item} />. <a href={formatRoute({ page: 'task', type, id: item.id })}>Open the task</a>
      </p>
      <pre className="dead-error">
        <bdi>{item.last_error ?? 'no error recorded'}</bdi>
      </pre>
      {draft === null ? (
        <div className="buttons start">
          <button type="button" onClick={() => setDraft(prettyJson(item.payload))}>
            Edit and replay…
          </button>
        </div>
      ) : (
        <EditedReplay type={type} item={item} draft={draft} onDraft={setDraft} onDone={onClose} />
      )}
    </JsonDialog>
  )
}

function LastWorker({ item: { attempts = [] } }: { readonly item: DeadItem }) {
  const worker = attempts.at(-1)?.worker_id
  return worker === undefined ? null : (
    <>
      {' '}
      on <bdi>{worker}</bdi>
    </>
  )
}

interface EditedReplayProps {
  readonly type: string
  readonly item: DeadItem
  readonly draft: string
  readonly onDraft: (draft: string | null) => void
  readonly onDone: (text: string) => void
}

function EditedReplay({ type, item, draft, onDraft, onDone }: EditedReplayProps) {
  const id = useId()
  const payload = parsed(draft)
  const replay = useAction(async (api) => {
    const path = ['automations', type, 'dead', 'tasks', item.id, 'replay']
    const body = { died_at: item.died_at, payload }
    const { body: answer } = await api.send<ReplayedEditedBody>('POST', path, { body })
    onDone(
      answer.outcome === 'replayed'
        ? '1 task requeued with the edited payload.'
        : `${item.id} was no longer dead, or died again; nothing was changed.`,
    )
  })
  return (
    <>
      <p className="edited">
        <label htmlFor={id}>Payload</label>
        <textarea
          id={id}
          className="code"
          rows={8}
          value={draft}
          aria-invalid={payload === null}
          onChange={(event) => onDraft(event.target.value)}
        />
      </p>
      {payload === null && <p className="fault">The payload must be a JSON object.</p>}
      {replay.problem !== null && <ErrorPanel problem={replay.problem} />}
      <div className="buttons start">
        <button
          type="button"
          className="primary"
          disabled={payload === null || replay.busy}
          onClick={() => void replay.run()}
        >
          Replay with this payload
        </button>
        <button type="button" onClick={() => onDraft(null)}>
          Discard the edit
        </button>
      </div>
    </>
  )
}

/** @returns null unless the text is a JSON object. */
function parsed(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null
  } catch {
    return null
  }
}
