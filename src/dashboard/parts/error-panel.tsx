/**
 * @module dashboard/parts/error-panel
 * What went wrong: what happened, in the master's words, what to do next, and what its log is searched by.
 */
import type { ReactNode } from 'react'
import type { Problem } from '../api/problem.ts'

export interface ErrorPanelProps {
  readonly problem: Problem
  readonly title?: string
  readonly onRetry?: (() => void) | undefined
  readonly children?: ReactNode
}

export function ErrorPanel({ problem, title, onRetry, children }: ErrorPanelProps) {
  const { status, requestId, message, retryAfterSeconds } = problem
  const reference = [
    ...(status === null ? [] : [`status ${status}`]),
    ...(requestId === null ? [] : [`request ${requestId}`]),
    ...(retryAfterSeconds === null ? [] : [`the master asks to wait ${retryAfterSeconds} s`]),
  ].join(' · ')
  return (
    <div className="problem">
      <p role="alert">
        <strong>{title ?? headline(problem)}</strong> <bdi>{sentence(message)}</bdi>
      </p>
      {children}
      {(reference !== '' || onRetry !== undefined) && (
        <p className="problem-foot">
          {reference !== '' && <span className="soft">{reference}</span>}
          {onRetry !== undefined && (
            <button type="button" className="link" onClick={onRetry}>
              Try now
            </button>
          )}
        </p>
      )}
    </div>
  )
}

function headline({ status }: Problem): string {
  if (status === null) return 'No answer:'
  if (status === 403) return 'This token may not do that:'
  return status === 503 ? 'The master cannot serve this now:' : 'Not done:'
}

const sentence = (text: string): string => {
  const whole = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(whole) ? whole : `${whole}.`
}
