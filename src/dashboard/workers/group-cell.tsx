/** @module dashboard/workers/group-cell  Renders the row of a group of workers. */
import { cutText } from '../components/json-text.ts'
import { countText } from '../components/numbers.ts'
import { useServerNow } from '../components/use-now.ts'
import { displayTone } from './display-state.ts'
import { groupFacts, type GroupRow } from './grouping.ts'

const TEXT_CHARACTERS = 300

export interface GroupCellProps {
  readonly group: GroupRow
  readonly isSelected: boolean
  /** Selects all workers of the group, or none. */
  readonly onSelect: (group: GroupRow) => void
  readonly onToggle: (group: GroupRow) => void
}

export function GroupCell({ group, isSelected, onSelect, onToggle }: GroupCellProps) {
  const { count, states, reason } = groupFacts(group, useServerNow())
  const isError = states[0]?.word === 'ERROR'
  const title = cutText(group.title, TEXT_CHARACTERS)
  return (
    <div className="group-row">
      <label className="tick">
        <input
          type="checkbox"
          checked={isSelected}
          aria-label={`Select ${count}: ${title}`}
          onChange={() => onSelect(group)}
        />
      </label>
      <button type="button" className="group-open" aria-expanded={group.isOpen} onClick={() => onToggle(group)}>
        <span aria-hidden="true">{group.isOpen ? '▾' : '▸'}</span> <b>{count}</b>{' '}
        <bdi className={isError && reason === null ? 'error' : undefined}>{title}</bdi>
      </button>
      {states.map(({ word, count: number }) => (
        <span key={word} className={`group-state ${displayTone(word)}`}>
          {word} {countText(number)}
        </span>
      ))}
      {reason !== null && <bdi className="error group-reason">{cutText(reason, TEXT_CHARACTERS)}</bdi>}
    </div>
  )
}
