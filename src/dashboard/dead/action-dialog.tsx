/**
 * @module dashboard/dead/action-dialog
 * Confirms and runs a bulk action on selected dead tasks, with progress and a stop button.
 */
import { useEffect, useRef, useState } from 'react'
import type { SelectedBody } from '../../protocol/index.ts'
import { asProblem } from '../api/problem.ts'
import { apiBase, useSession } from '../api/session.ts'
import { curlCommand, musterCommand, type Command } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import { Dialog } from '../components/dialog.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'
import { countText, plural } from '../components/numbers.ts'
import { TypedConfirmation } from '../components/typed-confirmation.tsx'
import { actOnDead, tallyText, type DeadAction, type Tally } from './actions.ts'

export interface DeadActionDialogProps {
  readonly type: string
  readonly action: DeadAction
  readonly ids: readonly string[]
  /** @param text The result; null if the dialog was cancelled. */
  readonly onClose: (text: string | null) => void
}

const VERBS: Readonly<Record<DeadAction, string>> = { replay: 'Replay', remove: 'Remove' }
/** Removing more tasks requires typing their number. */
const MANY = 10
const NAMED = 8

export function DeadActionDialog({ type, action, ids, onClose }: DeadActionDialogProps) {
  const { tally, isBusy, run, stop } = useDeadAction(type, action, ids)
  const [typed, setTyped] = useState('')
  const count = String(ids.length)
  const mustType = action === 'remove' && ids.length > MANY
  const close = (): void => onClose(tally === null ? null : tallyText(tally))
  const isOver = tally !== null && !isBusy
  return (
    <Dialog title={`${VERBS[action]} ${plural(ids.length, 'dead task')} of ${type}?`} busy={isBusy} onClose={close}>
      {tally === null && <Question action={action} ids={ids} />}
      {tally === null && mustType && <TypedConfirmation expected={count} value={typed} onChange={setTyped} />}
      {isBusy && tally !== null && (
        <output>
          <progress max={ids.length} value={tally.done + tally.notDead} aria-label="Progress" />{' '}
          {countText(tally.done + tally.notDead)} of {countText(ids.length)}
        </output>
      )}
      {isOver && <output>{tallyText(tally)}</output>}
      {isOver && tally.failure !== null && <ErrorPanel problem={asProblem(tally.failure)} />}
      <Buttons
        type={type}
        action={action}
        ids={ids}
        isAsking={tally === null}
        isReady={!mustType || typed.trim() === count}
        isBusy={isBusy}
        isOver={isOver}
        onRun={run}
        onStop={stop}
        onClose={close}
      />
    </Dialog>
  )
}

interface DeadActionRun {
  /** The progress, then the result; null before the start. */
  readonly tally: Tally | null
  readonly isBusy: boolean
  readonly run: () => void
  readonly stop: () => void
}

function useDeadAction(type: string, action: DeadAction, ids: readonly string[]): DeadActionRun {
  const { api } = useSession()
  const [tally, setTally] = useState<Tally | null>(null)
  const [isBusy, setBusy] = useState(false)
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const run = async (): Promise<void> => {
    setBusy(true)
    stop.current = new AbortController()
    const select = async (body: object): Promise<SelectedBody> =>
      (await api.send<SelectedBody>('POST', ['automations', type, 'dead', 'select'], { body })).body
    setTally(await actOnDead({ action, ids, select, report: setTally, signal: stop.current.signal }))
    setBusy(false)
  }
  return { tally, isBusy, run: () => void run(), stop: () => stop.current.abort() }
}

interface ButtonsProps {
  readonly type: string
  readonly action: DeadAction
  readonly ids: readonly string[]
  /** Whether the action was not started yet. */
  readonly isAsking: boolean
  readonly isReady: boolean
  readonly isBusy: boolean
  readonly isOver: boolean
  readonly onRun: () => void
  readonly onStop: () => void
  readonly onClose: () => void
}

function Buttons({ type, action, ids, isAsking, isReady, isBusy, isOver, onRun, onStop, onClose }: ButtonsProps) {
  return (
    <div className="buttons">
      {isAsking && <CopyAs commands={commandsOf(type, action, ids)} />}
      {isAsking && (
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      )}
      {isAsking && (
        <button
          type="button"
          className={action === 'remove' ? 'danger' : 'primary'}
          disabled={!isReady}
          onClick={onRun}
        >
          {VERBS[action]} {countText(ids.length)}
        </button>
      )}
      {isBusy && (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      )}
      {isOver && (
        <button type="button" className="primary" onClick={onClose}>
          Close
        </button>
      )}
    </div>
  )
}

function Question({ action, ids }: { readonly action: DeadAction; readonly ids: readonly string[] }) {
  return (
    <>
      {action === 'replay' ? (
        <p>
          The tasks move to the end of the normal tier with their attempt count reset. Tasks that die in the meantime
          are not affected.
        </p>
      ) : (
        <p>
          The tasks and their payloads are deleted. This cannot be undone; to run them again, replay them instead. Tasks
          that die in the meantime are not affected.
        </p>
      )}
      <ul className="named" aria-label="Tasks">
        {ids.slice(0, NAMED).map((id) => (
          <li key={id}>
            <code>
              <bdi>{id}</bdi>
            </code>
          </li>
        ))}
        {ids.length > NAMED && <li className="soft">and {countText(ids.length - NAMED)} more</li>}
      </ul>
    </>
  )
}

/** Limits the length of a copied command. */
const IDS_PER_LINE = 100

function commandsOf(type: string, action: DeadAction, ids: readonly string[]): readonly Command[] {
  const some = ids.slice(0, IDS_PER_LINE)
  const curl = curlCommand(apiBase(), {
    method: 'POST',
    path: ['automations', type, 'dead', 'select'],
    body: { action, task_ids: some },
  })
  return action === 'remove'
    ? [curl]
    : [curl, musterCommand(apiBase(), 'dead', 'replay', type, ...some.flatMap((id) => ['--task-id', id]))]
}
