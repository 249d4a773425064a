/** @module dashboard/operations/state  Renders the state, the kind and the outcomes of an operation. */
import type { ReactNode } from 'react'
import type { OperationShown } from '../../protocol/index.ts'
import { countText } from '../components/numbers.ts'
import { formatRoute } from '../route.ts'
import { outcomesOf, settledOf, stateOf } from './texts.ts'
import './operations.css'

interface Props {
  readonly operation: OperationShown
}

export function OperationState({ operation }: Props) {
  const { tone, mark, word } = stateOf(operation)
  return (
    <span className={`badge ${tone}`}>
      <span aria-hidden="true">{mark}</span> {word}
    </span>
  )
}

export function OperationLink({ type, id }: { readonly type: string; readonly id: string }) {
  return (
    <a href={formatRoute({ page: 'operation', type, id })}>
      <bdi className="code">{id}</bdi>
    </a>
  )
}

export function OperationProgress({ operation, children }: Props & { readonly children?: ReactNode }) {
  const { total } = operation
  const settled = settledOf(operation)
  return (
    <p className="operation-progress">
      <progress max={Math.max(1, total)} value={total === 0 ? 1 : settled} aria-label="Progress" />
      <span>
        {countText(settled)} of {countText(total)} {children}
      </span>
    </p>
  )
}

/** `17 done`, `3 failed`, one below the other. */
export function Outcomes({ operation }: Props) {
  return (
    <ul className="outcomes" aria-label="Outcomes">
      {outcomesOf(operation).map(({ result, tone, mark, text, count }) => (
        <li key={result}>
          <span className={tone}>
            <span aria-hidden="true">{mark}</span> {countText(count)}
          </span>{' '}
          {text}
        </li>
      ))}
    </ul>
  )
}
