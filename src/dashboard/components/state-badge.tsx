/**
 * @module dashboard/components/state-badge
 * Shows a worker's state as symbol, word and colour, with how it departed, and the stored state if it differs.
 */
import { displayState, stateNote, type StateFacts } from '../workers/display-state.ts'
import { useServerNow } from './use-now.ts'

export function StateBadge({ worker }: { readonly worker: StateFacts }) {
  const { word, mark, tone, was } = displayState(worker, useServerNow())
  const note = stateNote(worker, was)
  return (
    <span className={`badge ${tone}`}>
      <span aria-hidden="true">{mark}</span> {word}
      {note !== '' && <span className="was"> ({note})</span>}
    </span>
  )
}
