/** @module dashboard/workers/type-choice  Lets the user choose one type, if the selected workers have several. */
import { plural } from '../components/numbers.ts'
import { typesOf } from './bulk-targets.ts'
import type { WorkerRow } from './row.ts'

export interface TypeChoiceProps {
  readonly rows: readonly WorkerRow[]
  readonly type: string
  readonly onType: (type: string) => void
}

export function TypeChoice({ rows, type, onType }: TypeChoiceProps) {
  const types = typesOf(rows)
  if (types.length < 2) return null
  return (
    <p className="notice">
      An operation changes workers of one type, and {plural(types.length, 'type')} are selected: create one each.{' '}
      <label>
        Type{' '}
        <select value={type} onChange={({ target }) => onType(target.value)}>
          {types.map(({ type: each, count }) => (
            <option key={each} value={each}>
              {each} ({plural(count, 'worker')})
            </option>
          ))}
        </select>
      </label>
    </p>
  )
}
