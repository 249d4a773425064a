/** @module dashboard/workers/bulk-ends  Drain and forget for many workers, with what happens in plain words before it does. */
import { useSession } from '../api/session.ts'
import { plural } from '../parts/numbers.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import { pathOf, type BulkProps } from './bulk.ts'
import type { WorkerRow } from './row.ts'

export function BulkDrain(props: BulkProps) {
  const { api } = useSession()
  const away = props.rows.filter(({ connected }) => !connected).length
  const act = async (row: WorkerRow) => {
    if (row.draining) return { skipped: 'a drain was asked for already' }
    await api.send('POST', [...pathOf(row), 'drain'])
    return { done: row.connected ? 'drains' : 'drains when it is back' }
  }
  return (
    <BulkDialog {...props} verb="Drain" act={act}>
      <p>
        Each takes no new work, finishes what it runs, however long that takes, and then its process ends. A drain
        cannot be cancelled.
      </p>
      {away > 0 && (
        <p>
          {plural(away, 'worker is', 'workers are')} offline: the drain is kept, and whichever process registers next
          under the id gets it.
        </p>
      )}
    </BulkDialog>
  )
}

export function BulkForget(props: BulkProps) {
  const { api } = useSession()
  const connected = props.rows.filter((row) => row.connected).length
  const act = async (row: WorkerRow) => {
    await api.send('DELETE', pathOf(row))
    return { done: row.connected ? 'forgotten; it registers again by itself' : 'forgotten' }
  }
  return (
    <BulkDialog {...props} verb="Forget" act={act}>
      <p>
        The master deletes its record of each: config, statistics and history. Tasks and output stay. This cannot be
        undone.
      </p>
      {connected > 0 && (
        <p className="notice">
          {plural(connected, 'of them is', 'of them are')} connected and not stopped by this:{' '}
          {connected === 1 ? 'it registers' : 'they register'} again, with the default config, which is not enabled.
        </p>
      )}
    </BulkDialog>
  )
}
