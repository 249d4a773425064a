/**
 * @module dashboard/workers/state-chips-bar
 * Shows how many workers are in each state, the worst first. A click on a chip filters the list by it, a second click
 * shows all again. The counts are those of the rest of the filter.
 */
import { useDeferredValue, useMemo } from 'react'
import { serverClock } from '../api/session.ts'
import { countText } from '../components/numbers.ts'
import type { RouteTo } from '../route.ts'
import { replaceRoute } from '../use-route.ts'
import { parseFilter } from './filter.ts'
import { hasTerm, toggledTerm, withoutFields } from './filter-parts.ts'
import { CHIP_FIELDS, CHIPS, chipCounts } from './state-chips.ts'
import { useSortTurn } from './use-list.ts'
import { useSnapshot } from './use-workers.ts'

export function StateChipsBar({ route }: { readonly route: RouteTo<'workers'> }) {
  const { q } = route
  const { rows } = useSnapshot()
  const turn = useSortTurn()
  // Rows come before counts while the user types.
  const rest = useDeferredValue(withoutFields(q, CHIP_FIELDS))
  const filter = useMemo(() => parseFilter(rest), [rest])
  const counts = useMemo(
    () => chipCounts(rows.values(), filter, serverClock.nowSeconds()),
    // `rows` is the same Map in every version.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [rows, rows.size, filter, turn],
  )
  if (rows.size === 0) return null
  return (
    <ul className="state-chips" aria-label="Workers by state">
      {CHIPS.filter(({ word, term }) => counts[word] > 0 || hasTerm(q, term)).map(({ word, term, tone }) => (
        <li key={word}>
          <button
            type="button"
            className={`chip ${tone}`}
            aria-pressed={hasTerm(q, term)}
            onClick={() => replaceRoute({ ...route, q: toggledTerm(q, term, CHIP_FIELDS) })}
          >
            {word} <b>{countText(counts[word])}</b>
          </button>
        </li>
      ))}
    </ul>
  )
}
