/**
 * @module dashboard/components/result-list
 * Lists the outcome of each item of a bulk action: done, rejected with a reason, unknown because there was no response,
 * skipped, or pending. Failures come first.
 */
import { countText } from './numbers.ts'
import { MARKS, ORDER, resultsText, type Result } from './results.ts'

const SHOWN = 200

export function ResultList({ label, results }: { readonly label: string; readonly results: readonly Result[] }) {
  const ordered = results.toSorted((a, b) => ORDER.indexOf(a.outcome) - ORDER.indexOf(b.outcome))
  return (
    <div className="results">
      <output className="results-sum">{resultsText(results)}</output>
      <ul aria-label={label}>
        {ordered.slice(0, SHOWN).map(({ name, outcome, text }) => (
          <li key={name}>
            <span className={MARKS[outcome].tone}>
              <span aria-hidden="true">{MARKS[outcome].mark}</span> {MARKS[outcome].word}
            </span>{' '}
            <bdi className="code">{name}</bdi>
            {text !== undefined && (
              <span className="soft">
                {' '}
                <bdi>{text}</bdi>
              </span>
            )}
          </li>
        ))}
      </ul>
      {ordered.length > SHOWN && <p className="soft">and {countText(ordered.length - SHOWN)} more</p>}
    </div>
  )
}
