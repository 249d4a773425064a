/**
 * @module dashboard/workers/bulk-operation
 * The dialog of a change of many workers. It has two steps: what to change at which pace, then the master's preview
 * with the number of workers that would change. Confirming it creates an operation, which the master carries out
 * (D189), and opens its page. The request is refused if another number of workers would change than the preview showed.
 */
import { useState, type ReactNode } from 'react'
import type { OperationBody, OperationPreview, OperationShown } from '../../protocol/index.ts'
import { useRefresh } from '../api/queries.ts'
import { useAction, type Action } from '../api/use-action.ts'
import { ActButton } from '../components/act-button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'
import { NoteField } from '../components/note-field.tsx'
import { countText, plural } from '../components/numbers.ts'
import { TypedConfirmation } from '../components/typed-confirmation.tsx'
import { PaceFields } from '../operations/pace-fields.tsx'
import { operationPath } from '../operations/path.ts'
import { PreviewView } from '../operations/preview-view.tsx'
import { FIRST_PACE, paceFaults, paceOf } from '../operations/settings.ts'
import { goTo } from '../use-route.ts'
import type { WorkerRow } from './row.ts'
import { WorkerNames } from './worker-names.tsx'

export interface BulkOperationProps {
  /** For example `Drain`. */
  readonly verb: string
  readonly type: string
  /** Workers of this type. */
  readonly rows: readonly WorkerRow[]
  readonly change: Pick<OperationBody, 'kind' | 'patch'>
  readonly isIrreversible?: boolean
  /** Why the change cannot be previewed yet; null if it can. */
  readonly missing: string | null
  readonly onClose: () => void
  readonly children: ReactNode
}

/** To change more workers than this, the user has to type their number. */
const FEW = 10

/** What was previewed: the request that a confirmation sends is exactly this one. */
interface Previewed {
  readonly body: OperationBody
  readonly preview: OperationPreview
}

export function BulkOperation({ verb, type, rows, change, isIrreversible = false, ...props }: BulkOperationProps) {
  const { missing, onClose, children } = props
  const [pace, setPace] = useState(FIRST_PACE)
  const [note, setNote] = useState('')
  const [previewed, setPreviewed] = useState<Previewed | null>(null)
  const faults = paceFaults(pace)
  const preview = useAction(async (api) => {
    const workers = rows.map(({ worker_id: id }) => id)
    const { body } = await api.send<OperationPreview>('POST', operationPath(type, 'preview'), {
      body: { ...change, workers },
    })
    const why = note.trim() === '' ? {} : { note: note.trim() }
    setPreviewed({ body: { ...change, ...paceOf(pace), ...why, workers, expected: body.change }, preview: body })
  })
  const create = useCreate(type, previewed, onClose)
  const count = previewed?.preview.change ?? rows.length
  return (
    <Dialog title={`${verb} ${plural(count, 'worker')}?`} onClose={onClose} busy={create.busy} wide>
      {previewed === null ? (
        <>
          {children}
          <PaceFields pace={pace} faults={faults} onPace={setPace} />
          <NoteField note={note} onNote={setNote} />
          <WorkerNames rows={rows} />
          {missing !== null && <p className="soft">{missing}</p>}
          {preview.problem !== null && <ErrorPanel problem={preview.problem} />}
          <div className="buttons">
            <button type="button" onClick={onClose}>
              Cancel
            </button>
            <button
              type="button"
              className="primary"
              disabled={missing !== null || faults.size > 0 || preview.busy}
              onClick={() => void preview.run()}
            >
              {preview.busy ? 'Working…' : 'Preview'}
            </button>
          </div>
        </>
      ) : (
        <Confirmation
          verb={verb}
          previewed={previewed}
          isIrreversible={isIrreversible}
          create={create}
          onBack={() => {
            create.clear()
            setPreviewed(null)
          }}
        />
      )}
    </Dialog>
  )
}

/** Creates the operation that was previewed, and opens its page. */
function useCreate(type: string, previewed: Previewed | null, onClose: () => void): Action<readonly []> {
  const refresh = useRefresh()
  return useAction(async (api) => {
    const { body } = await api.send<OperationShown>('POST', operationPath(type), { body: previewed?.body })
    refresh(['operations'])
    onClose()
    goTo({ page: 'operation', type, id: body.operation })
  })
}

interface ConfirmationProps {
  readonly verb: string
  readonly previewed: Previewed
  readonly isIrreversible: boolean
  readonly create: Action<readonly []>
  readonly onBack: () => void
}

function Confirmation({ verb, previewed: { body, preview }, isIrreversible, create, onBack }: ConfirmationProps) {
  const [typed, setTyped] = useState('')
  const { change } = preview
  const mustType = change > FEW
  const isReady = change > 0 && (!mustType || typed.trim() === String(change))
  return (
    <>
      <PreviewView preview={preview} body={body} />
      {mustType && <TypedConfirmation expected={String(change)} value={typed} onChange={setTyped} />}
      {create.problem !== null && (
        <ErrorPanel problem={create.problem}>
          {create.problem.status === null && (
            <p>
              Look for it in <a href="#/operations">the list of operations</a> before you try again.
            </p>
          )}
        </ErrorPanel>
      )}
      <div className="buttons">
        <button type="button" onClick={onBack} disabled={create.busy}>
          Back
        </button>
        <ActButton danger={isIrreversible} disabled={!isReady || create.busy} onClick={() => void create.run()}>
          {create.busy ? 'Working…' : `${verb} ${countText(change)}`}
        </ActButton>
      </div>
    </>
  )
}
