/**
 * @module dashboard/components/select-dialog
 * Confirms and runs an action on selected tasks, with progress and a stop button.
 */
import { useEffect, useRef, useState, type ReactNode } from 'react'
import type { Api } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { useSession } from '../api/session.ts'
import type { Command } from './commands.ts'
import { CopyAs } from './copy-as.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorPanel } from './error-panel.tsx'
import { countText } from './numbers.ts'
import { selectInCalls, type SelectedCalls } from './select-calls.ts'
import { TypedConfirmation } from './typed-confirmation.tsx'

export interface SelectDialogProps<Result> {
  readonly title: string
  /** What the button does: "Remove". */
  readonly verb: string
  readonly ids: readonly string[]
  readonly isDangerous: boolean
  /** The button that closes the dialog without acting. */
  readonly dismiss?: string
  readonly commands: readonly Command[]
  readonly select: (api: Api, ids: readonly string[]) => Promise<{ readonly results: readonly Result[] }>
  /** Summarizes the outcome in one or more sentences. */
  readonly textOf: (calls: SelectedCalls<Result>) => string
  /** @param text The result; null if the dialog was closed without acting. */
  readonly onClose: (text: string | null) => void
  /** What will happen to the tasks. */
  readonly children: ReactNode
}

/** A dangerous action on more tasks requires typing their number. */
const MANY = 10
const NAMED = 8

export function SelectDialog<Result>(props: SelectDialogProps<Result>) {
  const { title, textOf, onClose } = props
  const { calls, isBusy, run, stop } = useSelectCalls(props)
  const close = (): void => onClose(calls === null ? null : textOf(calls))
  return (
    <Dialog title={title} busy={isBusy} onClose={close}>
      {calls === null ? (
        <Question {...props} onRun={run} onDismiss={close} />
      ) : (
        <RunView calls={calls} isBusy={isBusy} textOf={textOf} onStop={stop} onClose={close} />
      )}
    </Dialog>
  )
}

type QuestionProps = Pick<
  SelectDialogProps<never>,
  'verb' | 'ids' | 'isDangerous' | 'dismiss' | 'commands' | 'children'
> & { readonly onRun: () => void; readonly onDismiss: () => void }

function Question(props: QuestionProps) {
  const { verb, ids, isDangerous, dismiss = 'Cancel', commands, onRun, onDismiss, children } = props
  const [typed, setTyped] = useState('')
  const count = String(ids.length)
  const mustType = isDangerous && ids.length > MANY
  const isReady = !mustType || typed.trim() === count
  return (
    <>
      {children}
      <NamedTasks ids={ids} />
      {mustType && <TypedConfirmation expected={count} value={typed} onChange={setTyped} />}
      <div className="buttons">
        <CopyAs commands={commands} />
        <button type="button" onClick={onDismiss}>
          {dismiss}
        </button>
        <button type="button" className={isDangerous ? 'danger' : 'primary'} disabled={!isReady} onClick={onRun}>
          {verb} {countText(ids.length)}
        </button>
      </div>
    </>
  )
}

interface RunViewProps<Result> {
  readonly calls: SelectedCalls<Result>
  readonly isBusy: boolean
  readonly textOf: (calls: SelectedCalls<Result>) => string
  readonly onStop: () => void
  readonly onClose: () => void
}

/** Shows the progress, then the result. */
function RunView<Result>({ calls, isBusy, textOf, onStop, onClose }: RunViewProps<Result>) {
  const { total, results, failure } = calls
  if (isBusy)
    return (
      <>
        <output>
          <progress max={total} value={results.length} aria-label="Progress" /> {countText(results.length)} of{' '}
          {countText(total)}
        </output>
        <div className="buttons">
          <button type="button" onClick={onStop}>
            Stop
          </button>
        </div>
      </>
    )
  return (
    <>
      <output>{textOf(calls)}</output>
      {failure !== null && <ErrorPanel problem={asProblem(failure)} />}
      <div className="buttons">
        <button type="button" className="primary" onClick={onClose}>
          Close
        </button>
      </div>
    </>
  )
}

interface SelectRun<Result> {
  /** The progress, then the result; null before the start. */
  readonly calls: SelectedCalls<Result> | null
  readonly isBusy: boolean
  readonly run: () => void
  readonly stop: () => void
}

function useSelectCalls<Result>({ ids, select }: Pick<SelectDialogProps<Result>, 'ids' | 'select'>): SelectRun<Result> {
  const { api } = useSession()
  const [calls, setCalls] = useState<SelectedCalls<Result> | null>(null)
  const [isBusy, setBusy] = useState(false)
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])
  const run = async (): Promise<void> => {
    setBusy(true)
    stop.current = new AbortController()
    const { signal } = stop.current
    setCalls(await selectInCalls({ ids, select: (some) => select(api, some), report: setCalls, signal }))
    setBusy(false)
  }
  return { calls, isBusy, run: () => void run(), stop: () => stop.current.abort() }
}

function NamedTasks({ ids }: { readonly ids: readonly string[] }) {
  return (
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
  )
}
