/** @module dashboard/operations/act-dialogs  Confirms the cancel and the undo of an operation. */
import type { OperationShown } from '../../protocol/index.ts'
import { useRefresh } from '../api/queries.ts'
import { apiBase } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyAs } from '../components/copy-as.tsx'
import { countText, plural } from '../components/numbers.ts'
import { goTo } from '../use-route.ts'
import { actCommands } from './commands.ts'
import { operationPath } from './path.ts'
import { cancelText, paceText, writtenBy } from './texts.ts'

/** An undo of more workers requires typing their number. */
const MANY = 10

interface CancelProps {
  readonly operation: OperationShown
  readonly refresh: () => void
  readonly onClose: () => void
}

export function CancelDialog({ operation, refresh, onClose }: CancelProps) {
  const { type, operation: id } = operation
  const act = useAction(async (api) => {
    await api.send('POST', operationPath(type, id, 'cancel'))
    refresh()
    onClose()
  })
  return (
    <ConfirmDialog
      title={`Cancel operation ${id} of ${type}?`}
      verb="Cancel the operation"
      dismiss="Let it run"
      danger={false}
      act={act}
      onClose={onClose}
    >
      <p>{cancelText(operation)}</p>
      <CopyAs commands={actCommands(apiBase(), operation, 'cancel')} />
    </ConfirmDialog>
  )
}

interface UndoProps {
  readonly operation: OperationShown
  readonly onClose: () => void
}

export function UndoDialog({ operation, onClose }: UndoProps) {
  const { type, operation: id, fields, counts } = operation
  const refresh = useRefresh()
  const written = writtenBy(counts)
  const act = useAction(async (api) => {
    const { body } = await api.send<OperationShown>('POST', operationPath(type, id, 'undo'))
    refresh(['operations'])
    onClose()
    goTo({ page: 'operation', type, id: body.operation })
  })
  return (
    <ConfirmDialog
      title={`Undo operation ${id} of ${type}?`}
      verb={`Undo ${countText(written)}`}
      danger={false}
      typed={written > MANY ? String(written) : undefined}
      act={act}
      onClose={onClose}
    >
      <p>
        A new operation restores the previous values of <bdi className="code">{fields.join(', ')}</bdi> on up to{' '}
        {plural(written, 'worker')}, {paceText(operation)}.
      </p>
      <p>Workers whose config was changed since are skipped. An operation can be undone once.</p>
      <CopyAs commands={actCommands(apiBase(), operation, 'undo')} />
    </ConfirmDialog>
  )
}
