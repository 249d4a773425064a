/** @module dashboard/nav-bar  Renders the main navigation (at the bottom on phones) and the token chip. */
/* oxlint-disable jsx-a11y/no-noninteractive-element-interactions -- events bubble from the controls inside */
import { useRef } from 'react'
import { expiryText, roleText } from './api/me.ts'
import { useSession } from './api/session.ts'
import { useServerNow } from './components/use-now.ts'
import type { Route } from './route.ts'
import { storedSession } from './sign-in/token-store.ts'

const NAV_ITEMS = [
  { text: 'Overview', href: '#/', of: ['overview'] },
  { text: 'Workers', href: '#/workers', of: ['workers', 'worker'] },
  { text: 'Tasks', href: '#/tasks', of: ['tasks', 'task'] },
  { text: 'Output', href: '#/output', of: ['output'] },
] as const
/** On phones these are in the More menu. */
const MORE_NAV_ITEMS = [
  { text: 'Pools', href: '#/pools', of: ['pools'] },
  { text: 'Automations', href: '#/automations', of: ['automations'] },
  { text: 'Settings', href: '#/settings', of: ['settings'] },
] as const
/** There is no space for these in the bar of a wide screen: the page of workers and the palette link them. */
const PHONE_NAV_ITEMS = [
  { text: 'Operations', href: '#/operations', of: ['operations', 'operation'] },
  { text: 'Activity', href: '#/activity', of: ['activity'] },
  ...MORE_NAV_ITEMS,
] as const

interface NavItem {
  readonly text: string
  readonly href: string
  readonly of: readonly string[]
}

export function NavBar({ route }: { readonly route: Route }) {
  const more = useRef<HTMLDetailsElement>(null)
  const close = (): void => more.current?.removeAttribute('open')
  const isMore = PHONE_NAV_ITEMS.some(({ of }) => of.some((page) => page === route.page))
  return (
    <nav aria-label="Main" className="main-nav">
      <ul>
        {NAV_ITEMS.map((item) => (
          <NavLink key={item.text} item={item} route={route} />
        ))}
        {MORE_NAV_ITEMS.map((item) => (
          <NavLink key={item.text} item={item} route={route} className="wide-only" />
        ))}
        <li className="phone-only">
          <details ref={more} onBlur={(event) => event.currentTarget.contains(event.relatedTarget) || close()}>
            <summary aria-label="More pages" className={isMore ? 'here' : undefined}>
              More
            </summary>
            <ul onClickCapture={() => setTimeout(close)}>
              {PHONE_NAV_ITEMS.map((item) => (
                <NavLink key={item.text} item={item} route={route} />
              ))}
            </ul>
          </details>
        </li>
      </ul>
    </nav>
  )
}

function NavLink({
  item: { text, href, of },
  route,
  className,
}: {
  readonly item: NavItem
  readonly route: Route
  readonly className?: string
}) {
  return (
    <li className={className}>
      <a href={href} aria-current={of.includes(route.page) ? 'page' : undefined}>
        {text}
      </a>
    </li>
  )
}

export function TokenChip({ onSignOut }: { readonly onSignOut: () => void }) {
  const { me } = useSession()
  const nowMs = useServerNow() * 1_000
  const expiry = storedSession() === null ? expiryText(me, nowMs) : null // Tokens of a provider are renewed.
  return (
    <>
      <a className="token" href="#/settings" title="Token permissions">
        {roleText(me)}
        {expiry !== null && ` · ${expiry}`}
      </a>
      <button type="button" className="quiet" onClick={onSignOut}>
        Sign out
      </button>
    </>
  )
}
