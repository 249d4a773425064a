/** @module dashboard/workers/bulk-drain  The dialog that drains many workers with an operation (D189). */
import { useState } from 'react'
import { plural } from '../components/numbers.ts'
import { BulkOperation } from './bulk-operation.tsx'
import type { BulkProps } from './bulk.ts'
import { firstType, ofType } from './bulk-targets.ts'
import { TypeChoice } from './type-choice.tsx'

export function BulkDrain({ rows, onClose }: BulkProps) {
  const [type, setType] = useState(() => firstType(rows))
  const targets = ofType(rows, type)
  const offline = targets.filter(({ connected }) => !connected).length
  return (
    <BulkOperation
      verb="Drain"
      type={type}
      rows={targets}
      change={{ kind: 'drain' }}
      isIrreversible
      missing={null}
      onClose={onClose}
    >
      <TypeChoice rows={rows} type={type} onType={setType} />
      <p>
        Each worker takes no new work, finishes its running work without a time limit, then exits. A drain cannot be
        cancelled.
      </p>
      {offline > 0 && <p>{plural(offline, 'worker is', 'workers are')} offline and skipped.</p>}
    </BulkOperation>
  )
}
