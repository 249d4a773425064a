/**
 * @module dashboard/components/error-panel
 * Shows an error: the message of the master, the next step, and the request ID to search its log for.
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
    ...(retryAfterSeconds === null ? [] : [`retry after ${retryAfterSeconds} s`]),
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
              Retry now
            </button>
          )}
        </p>
      )}
    </div>
  )
}

function headline({ status }: Problem): string {
  if (status === null) return 'No response:'
  if (status === 403) return 'Permission denied:'
  return status === 503 ? 'Temporarily unavailable:' : 'Request failed:'
}

const sentence = (text: string): string => {
  const whole = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(whole) ? whole : `${whole}.`
}
