/** @module dashboard/workers/bulk-forget  The dialog that forgets many workers. It explains the effect before it. */
import { useSession } from '../api/session.ts'
import { plural } from '../components/numbers.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import type { BulkProps } from './bulk.ts'
import type { WorkerRow } from './row.ts'

export function BulkForget(props: BulkProps) {
  const { api } = useSession()
  const connected = props.rows.filter((row) => row.connected).length
  const act = async ({ automation_type: type, worker_id: id, connected: isConnected }: WorkerRow): Promise<string> => {
    await api.send('DELETE', ['automations', type, 'workers', id])
    return isConnected ? 'forgotten; it registers again' : 'forgotten'
  }
  return (
    <BulkDialog {...props} verb="Forget" act={act}>
      <p>
        The master deletes the config, statistics and history of each worker. Tasks and output are kept. This cannot be
        undone.
      </p>
      {connected > 0 && (
        <p className="notice">
          {plural(connected, 'of them is', 'of them are')} connected and will not stop:{' '}
          {connected === 1 ? 'it registers' : 'they register'} again with the default config, which is not enabled.
        </p>
      )}
    </BulkDialog>
  )
}
