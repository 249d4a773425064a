/** @module dashboard/components/choices  Renders links to the types or pools of a page and marks the open one. */
import { formatRoute, type Target } from '../route.ts'

export interface ChoicesProps {
  readonly label: string
  readonly names: readonly string[]
  readonly open: string | null
  readonly to: (name: string) => Target
}

export function Choices({ label, names, open, to }: ChoicesProps) {
  return (
    <nav aria-label={label} className="choices">
      <ul>
        {names.map((name) => (
          <li key={name}>
            <a href={formatRoute(to(name))} aria-current={name === open ? 'page' : undefined}>
              <bdi>{name}</bdi>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}
