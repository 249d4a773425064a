/**
 * @module dashboard/components/select-dialog
 * Confirms and runs an action on selected tasks. It closes with the outcome, unless the master rejected the action.
 */
import type { ReactNode } from 'react'
import type { Api } from '../api/client.ts'
import { useAction } from '../api/use-action.ts'
import type { Command } from './commands.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'
import { CopyAs } from './copy-as.tsx'
import { countText } from './numbers.ts'
import { isRejected, selectInCalls, type SelectedCalls } from './select-calls.ts'

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
  const { title, verb, ids, isDangerous, dismiss = 'Cancel', commands, select, textOf, onClose, children } = props
  const act = useAction(async (api) => {
    const calls = await selectInCalls(ids, (some) => select(api, some))
    if (calls.results.length === 0 && isRejected(calls.failure)) throw calls.failure
    onClose(textOf(calls))
  })
  return (
    <ConfirmDialog
      title={title}
      verb={`${verb} ${countText(ids.length)}`}
      dismiss={dismiss}
      danger={isDangerous}
      typed={isDangerous && ids.length > MANY ? String(ids.length) : undefined}
      act={act}
      onClose={() => onClose(null)}
    >
      {children}
      <NamedTasks ids={ids} />
      <CopyAs commands={commands} />
    </ConfirmDialog>
  )
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
