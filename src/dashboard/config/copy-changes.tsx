/** @module dashboard/config/copy-changes  Copies the changes of a draft as commands, without secrets. */
import type { WorkerBody } from '../../protocol/index.ts'
import { apiBase } from '../api/session.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { CopyAs } from '../components/copy-as.tsx'
import type { Change, Form } from './draft.ts'
import { bodyForShow, setOperands } from './git-patch.ts'
import { ifMatchOf, type Base } from './saving.ts'

export function CopyChanges({
  form,
  changes,
  worker: { automation_type: type, worker_id: id },
  base,
}: {
  readonly form: Form
  readonly changes: readonly Change[]
  readonly worker: WorkerBody
  readonly base: Base
}) {
  const mark = ifMatchOf(base)
  const commands = [
    curlCommand(apiBase(), {
      method: 'PATCH',
      path: ['automations', type, 'workers', id, 'config'],
      body: bodyForShow(form, changes),
      headers: mark === null ? {} : { 'If-Match': mark },
    }),
    musterCommand(apiBase(), 'config', 'set', `${type}/${id}`, ...setOperands(form, changes).operands),
  ]
  return <CopyAs commands={commands} />
}
