/**
 * @module dashboard/parts/empty-state
 * Why there is nothing to see, and what to do next. Five kinds that are never taken for each other: there is nothing yet,
 * the filter hides it, the token may not see it, it is gone, and the master cannot tell.
 */
import type { ReactNode } from 'react'

const KINDS = {
  nothing: { mark: '○', title: 'Nothing here yet' },
  filtered: { mark: '⌕', title: 'Nothing matches the filter' },
  forbidden: { mark: '⊘', title: 'This token may not see this' },
  gone: { mark: '∅', title: 'No longer there' },
  away: { mark: '◌', title: 'Not known at the moment' },
} as const

export interface EmptyStateProps {
  readonly kind: keyof typeof KINDS
  readonly title?: string
  /** What it means, and the command or link that helps. */
  readonly children?: ReactNode
}

export function EmptyState({ kind, title, children }: EmptyStateProps) {
  return (
    <div className={`empty empty-${kind}`}>
      <span className="empty-mark" aria-hidden="true">
        {KINDS[kind].mark}
      </span>
      <p className="empty-title">{title ?? KINDS[kind].title}</p>
      {children}
    </div>
  )
}
