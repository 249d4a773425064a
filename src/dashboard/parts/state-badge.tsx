/** @module dashboard/parts/state-badge  A worker's state: mark, word and colour, with the stored word where it is hidden. */
import { displayState, type Seen } from '../workers/display-state.ts'
import { useServerNow } from './use-now.ts'

export function StateBadge({ worker }: { readonly worker: Seen }) {
  const { word, mark, tone, was } = displayState(worker, useServerNow())
  return (
    <span className={`badge ${tone}`}>
      <span aria-hidden="true">{mark}</span> {word}
      {was !== null && <span className="was"> (was {was})</span>}
    </span>
  )
}
