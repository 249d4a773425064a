/** @module dashboard/history/range-picker  Lets the user choose a time range, which the address of the page keeps. */
import { formatRoute, type Target } from '../route.ts'
import { RANGE_NAMES, RANGES, type Range } from './ranges.ts'

export function RangePicker({ open, to }: { readonly open: Range; readonly to: (range: Range) => Target }) {
  return (
    <nav aria-label="Time range" className="ranges">
      <ul>
        {RANGES.map((range) => (
          <li key={range}>
            <a
              href={formatRoute(to(range))}
              aria-current={range === open ? 'page' : undefined}
              title={RANGE_NAMES[range]}
            >
              {range}
              <span className="hidden">, {RANGE_NAMES[range]}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
