/** @module dashboard/workers/worker-names  Lists the workers that a dialog acts on, folded. */
import { countText, plural } from '../components/numbers.ts'
import { keyOf, type WorkerRow } from './row.ts'

const NAMED = 100

export function WorkerNames({ rows }: { readonly rows: readonly WorkerRow[] }) {
  return (
    <details>
      <summary>Names of {plural(rows.length, 'worker')}</summary>
      <ul className="bulk-names">
        {rows.slice(0, NAMED).map((row) => (
          <li key={keyOf(row)} className="code">
            <bdi>{keyOf(row)}</bdi>
          </li>
        ))}
      </ul>
      {rows.length > NAMED && <p className="soft">and {countText(rows.length - NAMED)} more</p>}
    </details>
  )
}
