/**
 * @module dashboard/environment/environment
 * Shows which installation the page belongs to: its name in the header, in the title and icon of the tab, and on
 * buttons that delete something. Administrators set name and color at the master (SVC_ENVIRONMENT_NAME).
 */
import './environment.css'
import { useEffect, type CSSProperties } from 'react'
import { useSession } from '../api/session.ts'
import { ENVIRONMENT_FILLS } from './fills.ts'

/** @returns null if the master has no name. */
function useEnvironment(): { readonly name: string; readonly color: keyof typeof ENVIRONMENT_FILLS } | null {
  return useSession().me.environment ?? null
}

/** The name in the header. */
export function EnvironmentName() {
  const environment = useEnvironment()
  if (environment === null) return null
  const style = { '--fill': ENVIRONMENT_FILLS[environment.color] } as CSSProperties
  return (
    <span className="environment" style={style} title={`Environment: ${environment.name}`}>
      <bdi>{environment.name}</bdi>
    </span>
  )
}

/** The end of the label of a button that deletes: ` in production`; empty if the master has no name. */
export function useInEnvironment(): string {
  const environment = useEnvironment()
  return environment === null ? '' : ` in ${environment.name}`
}

/** Sets title and icon of the tab. @param title Of the page, without the environment. */
export function useTab(title: string): void {
  const environment = useEnvironment()
  const name = environment?.name
  const color = environment?.color
  useEffect(() => {
    document.title = name === undefined ? `${title} · Muster` : `${title} · ${name} · Muster`
  }, [title, name])
  useEffect(() => {
    if (color === undefined) return
    const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
    icon?.setAttribute('href', `./assets/icon-${color}.svg`)
  }, [color])
}
