/** @module dashboard/workers/worker-acts  Drain and forget, with what happens in plain words before it does. */
import { useState } from 'react'
import type { WorkerBody } from '../../protocol/index.ts'
import { useAct } from '../api/use-act.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'

interface ActProps { readonly worker: WorkerBody; readonly refresh: () => void }
interface DialogProps extends ActProps { readonly onClose: () => void }

const nameOf = ({ automation_type: type, worker_id: id }: WorkerBody): string => `${type}/${id}`
const pathOf = ({ automation_type: type, worker_id: id }: WorkerBody): readonly string[] => ['automations', type, 'workers', id]

export function WorkerActs(props: ActProps) {
  const [open, setOpen] = useState<'drain' | 'forget' | null>(null)
  const close = (): void => setOpen(null)
  const { draining } = props.worker
  return (
    <div className="buttons">
      <button type="button" onClick={() => setOpen('drain')} disabled={draining}>{draining ? 'Drain was asked for' : 'Drain…'}</button>
      <button type="button" onClick={() => setOpen('forget')}>Forget…</button>
      {open === 'drain' && <DrainDialog {...props} onClose={close} />}
      {open === 'forget' && <ForgetDialog {...props} onClose={close} />}
    </div>
  )
}

function DrainDialog({ worker, refresh, onClose }: DialogProps) {
  const act = useAct(async (api) => {
    await api.send('POST', [...pathOf(worker), 'drain'])
    refresh()
    onClose()
  })
  return (
    <ConfirmDialog title={`Drain ${nameOf(worker)}?`} verb="Drain" act={act} onClose={onClose}>
      <p>The worker takes no new work, finishes what it runs, however long that takes, and then its process ends.</p>
      <p>A drain cannot be cancelled.{!worker.connected && ' The worker is offline: the drain is kept, and whichever process registers next under this id gets it.'}</p>
    </ConfirmDialog>
  )
}

function ForgetDialog({ worker, onClose }: DialogProps) {
  const act = useAct(async (api) => {
    await api.send('DELETE', pathOf(worker))
    onClose()
    location.hash = '#/'
  })
  return (
    <ConfirmDialog title={`Forget ${nameOf(worker)}?`} verb="Forget" act={act} onClose={onClose}>
      <p>The master deletes its record of this worker: config, statistics and history. Tasks and output stay.</p>
      {worker.connected
        ? <p>The worker is connected and is not stopped by this. It registers again by itself, with the default config, which is not enabled.</p>
        : <p>Should the worker come back, it registers anew, with the default config, which is not enabled.</p>}
    </ConfirmDialog>
  )
}
