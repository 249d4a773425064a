/**
 * @module dashboard/worker/worker-pause
 * Pauses and resumes one worker by `enabled` of its config (D198): it stays connected and its running tasks finish.
 */
import type { ConfigBody, WorkerBody } from '../../protocol/index.ts'
import { useAutomation } from '../api/installed.ts'
import { apiBase, hasPermission, useSession } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyAs } from '../components/copy-as.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'

interface PauseProps {
  readonly worker: WorkerBody
  readonly refresh: () => void
  readonly isOpen: boolean
  readonly onOpen: () => void
  readonly onClose: () => void
}

const configPath = ({ automation_type: type, worker_id: id }: WorkerBody): readonly string[] => [
  'automations',
  type,
  'workers',
  id,
  'config',
]

export function WorkerPause({ worker, refresh, isOpen, onOpen, onClose }: PauseProps) {
  const { me } = useSession()
  const act = useEnable(worker, true, refresh)
  const { automation_type: type, managed_by: by, config } = worker
  const may = hasPermission(me, type, 'configure')
  const reason =
    by === null ? 'This token may not change configs of this type.' : `Managed by ${by.replace(/#.*$/, '')}`
  const isLocked = !may || by !== null
  const common = { type: 'button', title: isLocked ? reason : undefined, disabled: isLocked || act.busy } as const
  if (config['enabled'] !== true)
    return (
      <>
        {act.problem !== null && <ErrorPanel problem={act.problem} title="Not resumed:" />}
        <button {...common} onClick={() => void act.run()}>
          {act.busy ? 'Working…' : 'Resume'}
        </button>
      </>
    )
  return (
    <>
      <button {...common} onClick={onOpen}>
        Pause…
      </button>
      {isOpen && !isLocked && <PauseDialog worker={worker} refresh={refresh} onClose={onClose} />}
    </>
  )
}

/** Sets `enabled` of the config that is shown. */
function useEnable(worker: WorkerBody, enabled: boolean, onSaved: () => void) {
  const { me } = useSession()
  return useAction(async (api) => {
    const headers = { 'if-match': `"${me.epoch}.${worker.config_gen}"` }
    await api.send<ConfigBody>('PATCH', configPath(worker), { body: { enabled }, headers })
    onSaved()
  })
}

function PauseDialog({ worker, refresh, onClose }: Omit<PauseProps, 'isOpen' | 'onOpen'>) {
  const { automation_type: type, worker_id: id } = worker
  const isBatch = useAutomation(type)?.kind === 'BatchAutomation'
  const act = useEnable(worker, false, () => {
    refresh()
    onClose()
  })
  const name = `${type}/${id}`
  return (
    <ConfirmDialog title={`Pause ${name}?`} verb="Pause 1 worker" act={act} danger={false} onClose={onClose}>
      <p>
        {isBatch
          ? 'It takes no new tasks. Its running tasks finish, and it stays connected.'
          : 'Its slots end within the drain timeout of the worker, and it stays connected.'}
      </p>
      <p>
        This sets <code>enabled</code> of its config to false until you press Resume. The config history shows who did
        it. To pause all workers of a queue with a note and an end, pause the queue.
      </p>
      <p>
        <CopyAs
          commands={[
            curlCommand(apiBase(), { method: 'PATCH', path: configPath(worker), body: { enabled: false } }),
            musterCommand(apiBase(), 'config', 'set', name, 'enabled=false'),
          ]}
        />
      </p>
    </ConfirmDialog>
  )
}
