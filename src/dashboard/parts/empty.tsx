/** @module dashboard/parts/empty  A place with nothing in it: what that means, and what to do next. */
import type { ReactNode } from 'react'

export function Empty({ children }: { readonly children: ReactNode }) {
  return <div className="empty">{children}</div>
}
