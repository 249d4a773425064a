/** @module dashboard/components/tabs  Renders the tabs of a page as links, so that each tab has an address. */
import type { ReactNode } from 'react'
import { formatRoute, type Target } from '../route.ts'

export interface Tab {
  readonly text: ReactNode
  readonly to: Target
  readonly open: boolean
}

export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  return (
    <nav aria-label={label} className="tabs">
      <ul>
        {tabs.map(({ text, to, open }) => {
          const address = formatRoute(to)
          return (
            <li key={address}>
              <a href={address} aria-current={open ? 'page' : undefined}>
                {text}
              </a>
            </li>
          )
        })}
      </ul>
    </nav>
  )
}
