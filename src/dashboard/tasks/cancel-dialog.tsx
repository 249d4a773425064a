/** @module dashboard/tasks/cancel-dialog  Cancels one task after a confirmation (D109). */
import type { CancelledBody } from '../../protocol/index.ts'
import { useRefresh } from '../api/queries.ts'
import { apiBase } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyAs } from '../components/copy-as.tsx'

interface CancelDialogProps {
  readonly type: string
  readonly id: string
  readonly onCancelled: () => void
  readonly onClose: () => void
}

export function CancelDialog({ type, id, onCancelled, onClose }: CancelDialogProps) {
  const refresh = useRefresh()
  const path = ['automations', type, 'tasks', id]
  const act = useAction(async (api) => {
    const { body } = await api.send<CancelledBody>('DELETE', path)
    if (body.outcome === 'cancelled') onCancelled()
    refresh(['task', type, id], ['overview'], ['queue', type])
    onClose()
  })
  return (
    <ConfirmDialog
      title={`Cancel task ${id}?`}
      verb="Cancel 1 task"
      dismiss="Keep the task"
      act={act}
      onClose={onClose}
    >
      <p>
        The task is removed and not run again. A worker that runs it now stops within a second, at the latest when it
        extends the lease, and its outcome does not count.
      </p>
      <p>
        <CopyAs
          commands={[
            curlCommand(apiBase(), { method: 'DELETE', path }),
            musterCommand(apiBase(), 'tasks', 'cancel', type, id),
          ]}
        />
      </p>
    </ConfirmDialog>
  )
}
