/**
 * @module dashboard/components/state-badge
 * Shows a worker's state as symbol, word and colour, with the stored state if it differs.
 */
import { displayState, type StateFacts } from '../workers/display-state.ts'
import { useServerNow } from './use-now.ts'

export function StateBadge({ worker }: { readonly worker: StateFacts }) {
  const { word, mark, tone, was } = displayState(worker, useServerNow())
  return (
    <span className={`badge ${tone}`}>
      <span aria-hidden="true">{mark}</span> {word}
      {was !== null && <span className="was"> (was {was})</span>}
    </span>
  )
}
