/**
 * @module dashboard/dead/action-dialog
 * Confirms and runs a bulk action on selected dead tasks.
 */
import type { SelectedBody } from '../../protocol/index.ts'
import { apiBase } from '../api/session.ts'
import { curlCommand, musterCommand, type Command } from '../components/commands.ts'
import { plural } from '../components/numbers.ts'
import { SelectDialog } from '../components/select-dialog.tsx'
import { tallyText, type DeadAction } from './actions.ts'

export interface DeadActionDialogProps {
  readonly type: string
  readonly action: DeadAction
  readonly ids: readonly string[]
  /** @param text The result; null if the dialog was cancelled. */
  readonly onClose: (text: string | null) => void
}

const VERBS: Readonly<Record<DeadAction, string>> = { replay: 'Replay', remove: 'Remove' }

export function DeadActionDialog({ type, action, ids, onClose }: DeadActionDialogProps) {
  return (
    <SelectDialog
      title={`${VERBS[action]} ${plural(ids.length, 'dead task')} of ${type}?`}
      verb={VERBS[action]}
      ids={ids}
      isDangerous={action === 'remove'}
      commands={commandsOf(type, action, ids)}
      select={async (api, some) => {
        const body = { action, task_ids: some }
        return (await api.send<SelectedBody>('POST', ['automations', type, 'dead', 'select'], { body })).body
      }}
      textOf={(calls) => tallyText(action, calls)}
      onClose={onClose}
    >
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
    </SelectDialog>
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
