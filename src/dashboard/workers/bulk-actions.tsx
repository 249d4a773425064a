/** @module dashboard/workers/bulk-actions  Shows the bulk actions for selected workers: config, drain and forget. */
import { lazy, Suspense, useState } from 'react'
import { plural } from '../components/numbers.ts'
import type { WorkerRow } from './row.ts'
import { useWorkers } from './use-workers.ts'

const BulkConfig = lazy(async () => ({ default: (await import('./bulk-config.tsx')).BulkConfig }))
const BulkDrain = lazy(async () => ({ default: (await import('./bulk-drain.tsx')).BulkDrain }))
const BulkForget = lazy(async () => ({ default: (await import('./bulk-forget.tsx')).BulkForget }))

export interface BulkActionsProps {
  readonly rows: readonly WorkerRow[]
  readonly onClear: () => void
}

export function BulkActions({ rows, onClear }: BulkActionsProps) {
  const [open, setOpen] = useState<'config' | 'drain' | 'forget' | null>(null)
  const [fixed, setFixed] = useState<readonly WorkerRow[]>([])
  const { refresh } = useWorkers()
  const show = (which: 'config' | 'drain' | 'forget') => (): void => {
    setFixed(rows) // The dialog acts on the workers that it shows, even if the selection changes meanwhile.
    setOpen(which)
  }
  const props = { rows: fixed, onClose: () => setOpen(null), onDone: refresh }
  return (
    <>
      {rows.length > 0 && (
        <span className="bulk">
          <span>{plural(rows.length, 'worker')} selected</span>
          <button type="button" onClick={show('config')}>
            Config…
          </button>
          <button type="button" onClick={show('drain')}>
            Drain…
          </button>
          <button type="button" onClick={show('forget')}>
            Forget…
          </button>
          <button type="button" className="quiet" onClick={onClear}>
            Clear selection
          </button>
        </span>
      )}
      <Suspense>
        {open === 'config' && <BulkConfig {...props} />}
        {open === 'drain' && <BulkDrain {...props} />}
        {open === 'forget' && <BulkForget {...props} />}
      </Suspense>
    </>
  )
}
