/** @module dashboard/parts/problem-box  What went wrong, in the master's words, with what its log is searched by. */
import type { ReactNode } from 'react'
import type { Problem } from '../api/problem.ts'

export function ProblemBox({ problem, title, children }: { readonly problem: Problem; readonly title?: string; readonly children?: ReactNode }) {
  const { status, requestId, message } = problem
  const reference = [status === null ? null : `status ${status}`, requestId === null ? null : `request ${requestId}`].filter((part) => part !== null).join(', ')
  return (
    <div className="problem">
      <p role="alert"><strong>{title ?? headline(problem)}</strong> <bdi>{sentence(message)}</bdi></p>
      {children}
      {reference !== '' && <p className="soft">{reference}</p>}
    </div>
  )
}

function headline({ status }: Problem): string {
  if (status === null) return 'No answer:'
  if (status === 403) return 'This token may not do that:'
  return status === 503 ? 'The master cannot serve this now:' : 'Not done:'
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)
