/**
 * @module dashboard/tasks/cancel-tasks-dialog
 * Cancels selected tasks after a confirmation (D109).
 */
import type { CancelSelectedBody } from '../../protocol/index.ts'
import { apiBase } from '../api/session.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { plural } from '../components/numbers.ts'
import { SelectDialog } from '../components/select-dialog.tsx'
import { cancelText } from './cancel-text.ts'

export interface CancelTasksDialogProps {
  readonly type: string
  readonly ids: readonly string[]
  /** @param text The outcomes; null if nothing was sent. */
  readonly onClose: (text: string | null) => void
}

/** Limits the length of a copied command. */
const IDS_PER_LINE = 100

export function CancelTasksDialog({ type, ids, onClose }: CancelTasksDialogProps) {
  const path = ['automations', type, 'tasks', 'select']
  const some = ids.slice(0, IDS_PER_LINE)
  return (
    <SelectDialog
      title={`Cancel ${plural(ids.length, 'task')} of ${type}?`}
      verb="Cancel"
      dismiss={ids.length === 1 ? 'Keep the task' : 'Keep the tasks'}
      ids={ids}
      isDangerous
      commands={[
        curlCommand(apiBase(), { method: 'POST', path, body: { action: 'cancel', task_ids: some } }),
        musterCommand(apiBase(), 'tasks', 'cancel', type, ...some),
      ]}
      select={async (api, chosen) => {
        const body = { action: 'cancel', task_ids: chosen }
        return (await api.send<CancelSelectedBody>('POST', path, { body })).body
      }}
      textOf={cancelText}
      onClose={onClose}
    >
      <p>
        The tasks are removed and not run again. A worker that runs one of them stops within a second, at the latest
        when it extends the lease, and its outcome does not count. This cannot be undone.
      </p>
    </SelectDialog>
  )
}
