/** @module dashboard/tasks/submit-again  Submits a copy of a task after a confirmation. */
import { useState } from 'react'
import type { SubmitResult, TaskBody } from '../../protocol/index.ts'
import { useRefresh } from '../api/queries.ts'
import { apiBase } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { curlCommand } from '../components/commands.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyAs } from '../components/copy-as.tsx'
import { JsonView } from '../components/json-view.tsx'
import { goTo } from '../use-route.ts'
import { freshKey } from './submit-drafts.ts'
import type { ListedTask } from './task-text.ts'

interface SubmitAgainProps {
  readonly type: string
  readonly task: ListedTask
  readonly onClose: () => void
}

export function SubmitAgainDialog({ type, task, onClose }: SubmitAgainProps) {
  const refresh = useRefresh()
  // One key per dialog: after a lost response, a second click queues no second task.
  const [key] = useState(freshKey)
  const body = copyOf(task, key)
  const path = ['automations', type, 'tasks']
  const act = useAction(async (api) => {
    const { body: result } = await api.send<SubmitResult>('POST', path, { body })
    refresh(['queue', type], ['overview'])
    onClose()
    goTo({ page: 'task', type, id: result.task_id })
  })
  return (
    <ConfirmDialog
      title={`Submit a copy of ${task.task_id}?`}
      verb="Submit 1 task"
      danger={false}
      act={act}
      onClose={onClose}
      wide
    >
      <p>The copy has a new ID, no delay, and the same payload, priority, group, labels and retry policy.</p>
      <JsonView value={task.payload} label="Payload of the copy" />
      <p>
        <CopyAs commands={[curlCommand(apiBase(), { method: 'POST', path, body })]} />
      </p>
    </ConfirmDialog>
  )
}

function copyOf({ payload, priority, labels, group_key: group, retry }: ListedTask, key: string): TaskBody {
  return {
    payload,
    priority,
    idempotency_key: key,
    ...(labels !== undefined && { labels }),
    ...(group !== undefined && { group_key: group }),
    ...(retry !== undefined && { retry }),
  }
}
