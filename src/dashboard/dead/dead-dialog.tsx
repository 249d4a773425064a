/** @module dashboard/dead/dead-dialog  Shows one dead task: attempts, error and payload. */
import { countText } from '../components/numbers.ts'
import { Age } from '../components/times.tsx'
import { JsonDialog } from '../tasks/json-dialog.tsx'
import type { DeadItem } from './groups.ts'

export function DeadDialog({ item, onClose }: { readonly item: DeadItem; readonly onClose: () => void }) {
  return (
    <JsonDialog title={item.id} value={item.payload} onClose={onClose}>
      <p className="soft">
        {countText(item.attempt)} of {countText(item.max_attempts)} attempts failed. Submitted{' '}
        <Age at={item.submitted_at} />, died <Age at={item.died_at} />.
      </p>
      <pre className="dead-error">
        <bdi>{item.last_error ?? 'no error recorded'}</bdi>
      </pre>
    </JsonDialog>
  )
}
