/**
 * @module dashboard/dead/group-dialog
 * Confirms and runs the replay or the removal of all tasks of a group that died before the list was read (D158). The
 * replay of a large group is an operation (D194).
 */
import { useState } from 'react'
import type { DeadGroupBody } from '../../protocol/index.ts'
import { useRefresh } from '../api/queries.ts'
import { apiBase } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyAs } from '../components/copy-as.tsx'
import { CountInput } from '../components/count-input.tsx'
import { countText, plural } from '../components/numbers.ts'
import { isRejected } from '../components/select-calls.ts'
import type { DeadAction } from './actions.ts'
import { groupCommands, isOperation, paceText, readPace, runOnGroup } from './group-requests.ts'
import { groupName } from './groups.ts'

export interface GroupAction {
  readonly action: DeadAction
  readonly group: DeadGroupBody
  /** Unix seconds; tasks that died then or later are not affected. */
  readonly before: number
}

export interface GroupDialogProps extends GroupAction {
  readonly type: string
  /** @param text The result; null if the dialog was closed without acting. */
  readonly onClose: (text: string | null) => void
}

const TEXTS: Readonly<Record<DeadAction, string>> = {
  replay: 'All tasks with this error that died until now go back to the queue with their attempt count reset.',
  remove: 'The tasks and their payloads are deleted. This cannot be undone; to run them again, replay them instead.',
}

/** A removal of more tasks requires typing their number. */
const MANY = 10

export function GroupDialog({ type, action, group, before, onClose }: GroupDialogProps) {
  const { count } = group
  const [rate, setRate] = useState('')
  const refresh = useRefresh()
  const isReplay = action === 'replay'
  const verb = isReplay ? 'Replay' : 'Remove'
  const target = { type, group: group.group, count, before }
  const pace = readPace(rate, count)
  const act = useAction(async (api) => {
    try {
      onClose(await runOnGroup(api, action, target, pace ?? undefined))
    } catch (error) {
      refresh(['dead', type], ['operations']) // A part may be done.
      throw error
    }
  })
  return (
    <ConfirmDialog
      title={`${verb} ${plural(count, 'dead task')} of ${type}?`}
      verb={`${verb} ${countText(count)}`}
      danger={!isReplay}
      typed={!isReplay && count > MANY ? String(count) : undefined}
      isReady={pace !== null}
      act={act}
      onClose={() => onClose(null)}
    >
      <p className="dead-error">
        <bdi>{groupName(group)}</bdi>
      </p>
      <p>{TEXTS[action]} Tasks that die in the meantime are not affected.</p>
      {isReplay && (
        <p>
          <CountInput
            label="Tasks a second"
            value={rate}
            placeholder="all"
            isInvalid={pace === null}
            onChange={setRate}
          />{' '}
          <span className="soft">{paceText(count, pace)}</span>
        </p>
      )}
      {isOperation(action, count) && (
        <p className="soft">The master carries this out as an operation, which continues when you close this page.</p>
      )}
      <CopyAs commands={groupCommands(apiBase(), action, target, pace ?? undefined)} />
      {act.problem !== null && !isRejected(act.problem) && (
        <p>
          The outcome of the last request is unknown; the list is reloaded.
          {isOperation(action, count) && (
            <>
              {' '}
              Look for it in <a href="#/operations">the list of operations</a> before you try again.
            </>
          )}
        </p>
      )}
    </ConfirmDialog>
  )
}
