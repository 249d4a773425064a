/**
 * @module dashboard/workers/bulk-drain-forget
 * Dialogs that drain or forget many workers. They explain the effect before the action.
 */
import { useSession } from '../api/session.ts'
import { plural } from '../components/numbers.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import { pathOf, type BulkProps, type BulkResult } from './bulk.ts'
import type { WorkerRow } from './row.ts'

export function BulkDrain(props: BulkProps) {
  const { api } = useSession()
  const offline = props.rows.filter(({ connected }) => !connected).length
  const act = async (row: WorkerRow): Promise<BulkResult> => {
    if (row.draining) return { kind: 'skipped', text: 'drain already requested' }
    await api.send('POST', [...pathOf(row), 'drain'])
    return { kind: 'done', text: row.connected ? 'draining' : 'drains when it reconnects' }
  }
  return (
    <BulkDialog {...props} verb="Drain" act={act}>
      <p>
        Each worker takes no new work, finishes its running work without a time limit, then exits. A drain cannot be
        cancelled.
      </p>
      {offline > 0 && (
        <p>
          {plural(offline, 'worker is', 'workers are')} offline: the next process that registers with the same ID gets
          the drain.
        </p>
      )}
    </BulkDialog>
  )
}

export function BulkForget(props: BulkProps) {
  const { api } = useSession()
  const connected = props.rows.filter((row) => row.connected).length
  const act = async (row: WorkerRow): Promise<BulkResult> => {
    await api.send('DELETE', pathOf(row))
    return { kind: 'done', text: row.connected ? 'forgotten; it registers again' : 'forgotten' }
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
