/** @module dashboard/parts/choices  Links to the types or pools of a place, the open one marked. */
import { formatRoute, type Route } from '../route.ts'

export interface ChoicesProps {
  readonly label: string
  readonly place: 'tasks' | 'output' | 'pools'
  readonly names: readonly string[]
  readonly open: string | null
}

export function Choices({ label, place, names, open }: ChoicesProps) {
  return (
    <nav aria-label={label} className="choices">
      <ul>
        {names.map((name) => {
          const route: Route = { place, name }
          return <li key={name}><a href={formatRoute(route)} aria-current={name === open ? 'page' : undefined}><bdi>{name}</bdi></a></li>
        })}
      </ul>
    </nav>
  )
}
