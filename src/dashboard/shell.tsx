/** @module dashboard/shell  What surrounds every place: name, places, who is signed in; and the place of the address. */
import { useEffect } from 'react'
import { loadInstalled, type Installed } from './api/automations.ts'
import { InstalledContext } from './api/installed.ts'
import { roleText } from './api/me.ts'
import { useSession } from './api/session.ts'
import { usePolled } from './api/use-polled.ts'
import { AutomationsPlace } from './automations/automations-place.tsx'
import { OutputPlace } from './output/output-place.tsx'
import { Empty } from './parts/empty.tsx'
import { Freshness } from './parts/freshness.tsx'
import { PoolsPlace } from './pools/pools-place.tsx'
import { titleOf, type Route } from './route.ts'
import { TasksPlace } from './tasks/tasks-place.tsx'
import { useRoute } from './use-route.ts'
import { WorkerPlace } from './workers/worker-place.tsx'
import { WorkersPlace } from './workers/workers-place.tsx'

/** What is installed changes with a restart of the master only. */
const INSTALLED_EVERY_MS = 60_000

export function Shell({ onSignOut }: { readonly onSignOut: () => void }) {
  const { me } = useSession()
  const route = useRoute()
  const installed = usePolled('installed', INSTALLED_EVERY_MS, (api, signal) => loadInstalled(api, me, signal))
  useEffect(() => {
    document.title = `${titleOf(route)} · Muster`
  }, [route])
  return (
    <>
      <header className="top">
        <a className="brand" href="#/">muster</a>
        <span className="host soft">{location.host}</span>
        <Places route={route} />
        <span className="token">{roleText(me)}</span>
        <button type="button" onClick={onSignOut}>Sign out</button>
      </header>
      <main>
        {installed.data === undefined ? <Freshness polled={installed} every="minute" /> : <Open route={route} installed={installed.data} />}
      </main>
    </>
  )
}

const PLACES = [
  { text: 'Workers', href: '#/', of: ['workers', 'worker'] }, { text: 'Tasks', href: '#/tasks', of: ['tasks'] }, { text: 'Output', href: '#/output', of: ['output'] },
  { text: 'Pools', href: '#/pools', of: ['pools'] }, { text: 'Automations', href: '#/automations', of: ['automations'] },
] as const

function Places({ route }: { readonly route: Route }) {
  return (
    <nav aria-label="Places" className="places">
      <ul>
        {PLACES.map(({ text, href, of }) => <li key={text}><a href={href} aria-current={of.some((place) => place === route.place) ? 'page' : undefined}>{text}</a></li>)}
      </ul>
    </nav>
  )
}

function Open({ route, installed }: { readonly route: Route; readonly installed: Installed }) {
  return (
    <InstalledContext value={installed}>
      {installed.missing.length > 0 && <p className="notice">This token also names automation types that are not installed: <bdi>{installed.missing.join(', ')}</bdi>.</p>}
      <Place route={route} />
    </InstalledContext>
  )
}

function Place({ route }: { readonly route: Route }) {
  switch (route.place) {
    case 'workers': return <WorkersPlace />
    case 'worker': return <WorkerPlace key={`${route.type}/${route.id}`} type={route.type} id={route.id} />
    case 'tasks': return <TasksPlace name={route.name} />
    case 'output': return <OutputPlace name={route.name} />
    case 'pools': return <PoolsPlace name={route.name} />
    case 'automations': return <AutomationsPlace />
    case 'unknown': return <Empty><h1>There is no such place</h1><p>The address <code>{route.hash}</code> leads nowhere. <a href="#/">Go to the workers</a></p></Empty>
  }
}
