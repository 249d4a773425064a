/** @module dashboard/output/entries  Output entries as rows. */
import type { OutputEntry } from '../../protocol/index.ts'
import { JsonView } from '../parts/json-view.tsx'
import { Age } from '../parts/times.tsx'

export function Entries({ label, entries, stale }: { readonly label: string; readonly entries: readonly OutputEntry[]; readonly stale: boolean }) {
  return (
    <ol className={stale ? 'entries stale' : 'entries'} aria-label={label}>
      {entries.map(({ id, slot_id: slot, ts, payload }) => (
        <li key={id}>
          <p className="soft"><Age at={ts} /> · slot {slot} · <code><bdi>{id}</bdi></code></p>
          <JsonView value={payload} label={`Payload of ${id}`} />
        </li>
      ))}
    </ol>
  )
}
