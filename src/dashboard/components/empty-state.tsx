/**
 * @module dashboard/components/empty-state
 * Explains why a view is empty and what to do next. The five kinds: no data yet, no filter matches, no permission, item
 * deleted, data unavailable.
 */
import type { ReactNode } from 'react'

const KINDS = {
  nothing: { mark: '○', title: 'Nothing here yet' },
  filtered: { mark: '⌕', title: 'Nothing matches the filter' },
  forbidden: { mark: '⊘', title: 'This token has no access' },
  gone: { mark: '∅', title: 'No longer exists' },
  unavailable: { mark: '⊘', title: 'Currently unavailable' },
} as const

export interface EmptyStateProps {
  readonly kind: keyof typeof KINDS
  readonly title?: string
  /** An explanation, and a command or link for the next step. */
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
