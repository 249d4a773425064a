/**
 * @module dashboard/worker/worker-actions
 * Dialogs that pause, drain or forget a worker. They explain the effect before the action.
 */
import type { WorkerBody } from '../../protocol/index.ts'
import { apiBase, hasPermission, useSession } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { useRefresh } from '../api/queries.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyAs } from '../components/copy-as.tsx'
import { notify } from '../components/notice.tsx'
import type { RouteTo } from '../route.ts'
import { goTo, replaceRoute } from '../use-route.ts'
import { WorkerPause } from './worker-pause.tsx'

interface WorkerActionProps {
  readonly worker: WorkerBody
  readonly refresh: () => void
}
interface DialogProps extends WorkerActionProps {
  readonly onClose: () => void
}

const nameOf = ({ automation_type: type, worker_id: id }: WorkerBody): string => `${type}/${id}`
const pathOf = ({ automation_type: type, worker_id: id }: WorkerBody): readonly string[] => [
  'automations',
  type,
  'workers',
  id,
]

/** The open dialog is part of the address, so that "Drain it" of a diagnosis opens it. */
export function WorkerActions({ route, ...props }: WorkerActionProps & { readonly route: RouteTo<'worker'> }) {
  const { me } = useSession()
  const { worker } = props
  const open = (act: RouteTo<'worker'>['act']): void => replaceRoute({ ...route, act })
  const close = (): void => open('')
  const may = hasPermission(me, worker.automation_type, 'operate')
  const why = may ? undefined : 'This token may not operate this type.'
  return (
    <div className="buttons">
      <CopyAs
        commands={[
          curlCommand(apiBase(), { method: 'GET', path: pathOf(worker) }),
          musterCommand(apiBase(), 'workers', 'get', nameOf(worker)),
        ]}
      />
      <WorkerPause {...props} isOpen={route.act === 'pause'} onOpen={() => open('pause')} onClose={close} />
      <button type="button" onClick={() => open('drain')} disabled={worker.draining || !may} title={why}>
        {worker.draining ? 'Drain requested' : 'Drain…'}
      </button>
      <button type="button" onClick={() => open('forget')} disabled={!may} title={why}>
        Forget…
      </button>
      {route.act === 'drain' && may && !worker.draining && <DrainDialog {...props} onClose={close} />}
      {route.act === 'forget' && may && <ForgetDialog {...props} onClose={close} />}
    </div>
  )
}

function DrainDialog({ worker, refresh, onClose }: DialogProps) {
  const act = useAction(async (api) => {
    await api.send('POST', [...pathOf(worker), 'drain'])
    refresh()
    onClose()
  })
  return (
    <ConfirmDialog title={`Drain ${nameOf(worker)}?`} verb="Drain 1 worker" act={act} onClose={onClose}>
      <p>The worker takes no new work, finishes its running work without a time limit, then exits.</p>
      <p>
        A drain cannot be cancelled.
        {!worker.connected && ' The worker is offline: the next process that registers with this ID gets the drain.'}
      </p>
      <CommandCopy worker={worker} verb="drain" />
    </ConfirmDialog>
  )
}

function ForgetDialog({ worker, onClose }: DialogProps) {
  const refresh = useRefresh()
  const act = useAction(async (api) => {
    await api.send('DELETE', pathOf(worker))
    refresh(['overview'])
    onClose()
    goTo({ page: 'workers' })
    const again = worker.connected ? ' It is connected, so it registers again.' : ''
    notify(`${nameOf(worker)} was forgotten.${again}`, 'workers')
  })
  return (
    <ConfirmDialog title={`Forget ${nameOf(worker)}?`} verb="Forget 1 worker" act={act} onClose={onClose}>
      <p>The master deletes the config, statistics and history of this worker. Tasks and output are kept.</p>
      {worker.connected ? (
        <p>
          The worker is connected and will not stop. It registers again with the default config, which is not enabled.
        </p>
      ) : (
        <p>If the worker comes back, it registers with the default config, which is not enabled.</p>
      )}
      <CommandCopy worker={worker} verb="forget" />
    </ConfirmDialog>
  )
}

function CommandCopy({ worker, verb }: { readonly worker: WorkerBody; readonly verb: 'drain' | 'forget' }) {
  const call =
    verb === 'drain'
      ? { method: 'POST' as const, path: [...pathOf(worker), 'drain'] }
      : { method: 'DELETE' as const, path: pathOf(worker) }
  return (
    <p>
      <CopyAs commands={[curlCommand(apiBase(), call), musterCommand(apiBase(), 'workers', verb, nameOf(worker))]} />
    </p>
  )
}
