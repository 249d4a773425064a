/**
 * @module dashboard/shell
 * Renders the frame of every page (brand, navigation, search, live badge, token) and the page of the current route.
 * Each page's code is loaded when the page is first opened.
 */
import { QueryClientProvider, type QueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { loadInstalled, type Installed } from './api/automations.ts'
import { InstalledContext } from './api/installed.ts'
import { FeedContext, useFeed, useFeedState, useOpenFeed } from './api/live.ts'
import { useRead } from './api/queries.ts'
import { useSession } from './api/session.ts'
import { NavBar, TokenChip } from './nav-bar.tsx'
import { OverviewPage } from './overview/overview-page.tsx'
import { Announcements } from './components/announcements.tsx'
import { Boundary } from './components/boundary.tsx'
import { EmptyState } from './components/empty-state.tsx'
import { useKeys } from './components/keys.ts'
import { LiveBadge } from './components/live-badge.tsx'
import { ReadState } from './components/read-state.tsx'
import { WithNow } from './components/with-now.tsx'
import { formatRoute, titleOf, type Route } from './route.ts'
import { Outage } from './settings/outage.tsx'
import { goTo, useRoute } from './use-route.ts'
import { useFleetStatus, useWorkerReading, WorkersContext } from './workers/use-workers.ts'

const loadWorkers = async () => ({ default: (await import('./workers/workers-page.tsx')).WorkersPage })
const WorkersPage = lazy(loadWorkers)
const WorkerPage = lazy(async () => ({ default: (await import('./worker/worker-page.tsx')).WorkerPage }))
const TasksPage = lazy(async () => ({ default: (await import('./tasks/tasks-page.tsx')).TasksPage }))
const TaskPage = lazy(async () => ({ default: (await import('./tasks/task-page.tsx')).TaskPage }))
const FindDialog = lazy(async () => ({ default: (await import('./tasks/find-dialog.tsx')).FindDialog }))
const OutputPage = lazy(async () => ({ default: (await import('./output/output-page.tsx')).OutputPage }))
const PoolsPage = lazy(async () => ({ default: (await import('./pools/pools-page.tsx')).PoolsPage }))
const AutomationsPage = lazy(async () => ({
  default: (await import('./automations/automations-page.tsx')).AutomationsPage,
}))
const KeyList = lazy(async () => ({ default: (await import('./settings/key-list.tsx')).KeyList }))
const SettingsPage = lazy(async () => ({ default: (await import('./settings/settings-page.tsx')).SettingsPage }))

/** The installed automations change only when the master restarts. */
const INSTALLED_EVERY_MS = 60_000

export interface ShellProps {
  readonly queries: QueryClient
  readonly onSignOut: () => void
}

export function Shell({ queries, onSignOut }: ShellProps) {
  return (
    <QueryClientProvider client={queries}>
      <WithNow>
        <WithFeed onSignOut={onSignOut} />
      </WithNow>
    </QueryClientProvider>
  )
}

function WithFeed({ onSignOut }: { readonly onSignOut: () => void }) {
  const { api, suspended } = useSession()
  return (
    <FeedContext value={useOpenFeed(api, suspended)}>
      <Frame onSignOut={onSignOut} />
    </FeedContext>
  )
}

function Frame({ onSignOut }: { readonly onSignOut: () => void }) {
  const { me } = useSession()
  const route = useRoute()
  const installed = useRead(['installed'], INSTALLED_EVERY_MS, (api, signal) => loadInstalled(api, me, signal))
  const [dialog, setDialog] = useState<'keys' | 'find' | null>(null)
  const closeDialog = useCallback(() => setDialog(null), [])
  useShellKeys(route, setDialog)
  // Preloads the most visited page. A load error is ignored here; opening the page reports it.
  useEffect(() => void loadWorkers().catch(() => {}), [])
  return (
    <>
      <a className="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <header className="top">
        <a className="brand" href="#/">
          muster
        </a>
        <span className="host soft">{location.host}</span>
        <NavBar route={route} />
        <WorkerSearch />
        <LiveBadge />
        <TokenChip onSignOut={onSignOut} />
      </header>
      <main id="main" tabIndex={-1}>
        <Outage />
        {installed.data === undefined ? (
          <ReadState read={installed} />
        ) : (
          <WithInstalled route={route} installed={installed.data} />
        )}
      </main>
      <Announcements />
      <Suspense>
        {dialog === 'keys' && <KeyList onClose={closeDialog} />}
        {dialog === 'find' && <FindDialog onClose={closeDialog} />}
      </Suspense>
    </>
  )
}

function skip(event: React.MouseEvent): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#main')?.focus()
}

function WorkerSearch() {
  const [text, setText] = useState('')
  const onSubmit = (event: React.SyntheticEvent): void => {
    event.preventDefault()
    goTo({ page: 'workers', q: text })
    setText('')
  }
  return (
    <search className="find">
      <form onSubmit={onSubmit}>
        <input
          type="search"
          data-find=""
          aria-label="Find workers"
          placeholder="Find workers"
          value={text}
          onChange={(event) => setText(event.target.value)}
          spellCheck={false}
          autoCapitalize="off"
          enterKeyHint="search"
        />
      </form>
    </search>
  )
}

/** The page that Escape opens; null if there is none. */
function parentOf(route: Route): string | null {
  switch (route.page) {
    case 'worker':
      return formatRoute({ page: 'workers' })
    case 'task':
      return formatRoute({ page: 'tasks', type: route.type })
    case 'tasks':
      return route.type === null ? null : '#/tasks'
    case 'output':
      return route.type === null ? null : '#/output'
    case 'automations':
      return route.type === null ? null : '#/automations'
    case 'pools':
      return route.name === null ? null : '#/pools'
    case 'overview':
    case 'workers':
    case 'settings':
    case 'unknown':
      return null
  }
}

function useShellKeys(route: Route, show: (dialog: 'keys' | 'find') => void): void {
  const feed = useFeed()
  const isPaused = useFeedState().kind === 'paused'
  const go = (hash: string) => (): void => {
    location.hash = hash
  }
  useKeys({
    'g o': go('#/'),
    'g w': go('#/workers'),
    'g t': go('#/tasks'),
    'g u': go('#/output'),
    'g p': go('#/pools'),
    'g a': go('#/automations'),
    'g s': go('#/settings'),
    p: () => (isPaused ? feed.resume() : feed.pause()),
    '?': () => show('keys'),
    f: (event) => {
      event.preventDefault() // The key must not be typed into the field of the dialog.
      show('find')
    },
    '/': (event) => {
      event.preventDefault()
      const field =
        document.querySelector<HTMLElement>('main [data-filter]') ?? document.querySelector<HTMLElement>('[data-find]')
      field?.focus()
    },
    Escape: () => {
      const parent = parentOf(route)
      if (parent !== null) location.hash = parent
    },
  })
}

function WithInstalled({ route, installed }: { readonly route: Route; readonly installed: Installed }) {
  return (
    <InstalledContext value={installed}>
      <WithWorkers route={route} installed={installed} />
    </InstalledContext>
  )
}

function WithWorkers(props: { readonly route: Route; readonly installed: Installed }) {
  return (
    <WorkersContext value={useWorkerReading()}>
      <TitledPage {...props} />
    </WorkersContext>
  )
}

function TitledPage({ route, installed }: { readonly route: Route; readonly installed: Installed }) {
  useTitle(route)
  return (
    <>
      {installed.missing.length > 0 && (
        <p className="notice">
          This token also lists automation types that are not installed: <bdi>{installed.missing.join(', ')}</bdi>.
        </p>
      )}
      <Boundary of={titleOf(route)}>
        <Suspense fallback={<output className="reading">Loading…</output>}>
          <CurrentPage route={route} />
        </Suspense>
      </Boundary>
    </>
  )
}

/**
 * Sets the tab title, with the number of problems in front. After navigation, scrolls to the top and moves focus to the
 * main element, so that a screen reader announces the new page.
 */
function useTitle(route: Route): void {
  const problems = useFleetStatus()?.attention.length ?? 0
  const title = titleOf(route)
  useEffect(() => {
    document.title = `${problems > 0 ? `(${problems}) ` : ''}${title} · Muster`
  }, [problems, title])
  const before = useRef(title)
  useEffect(() => {
    if (before.current === title) return
    before.current = title
    scrollTo(0, 0)
    const { activeElement } = document
    if (activeElement === null || activeElement === document.body || activeElement.closest('header') === null)
      document.querySelector<HTMLElement>('#main')?.focus({ preventScroll: true })
  }, [title])
}

function CurrentPage({ route }: { readonly route: Route }) {
  switch (route.page) {
    case 'overview':
      return <OverviewPage route={route} />
    case 'workers':
      return <WorkersPage route={route} />
    case 'worker':
      return <WorkerPage key={`${route.type}/${route.id}`} route={route} />
    case 'tasks':
      return <TasksPage route={route} />
    case 'task':
      return <TaskPage key={`${route.type}/${route.id}`} route={route} />
    case 'output':
      return <OutputPage route={route} />
    case 'pools':
      return <PoolsPage route={route} />
    case 'automations':
      return <AutomationsPage route={route} />
    case 'settings':
      return <SettingsPage />
    case 'unknown':
      return (
        <>
          <h1>Page not found</h1>
          <EmptyState kind="gone" title="No page exists at this address">
            <p>
              <code>
                <bdi>{route.hash}</bdi>
              </code>
            </p>
            <p>
              <a href="#/">Go to the overview</a>
            </p>
          </EmptyState>
        </>
      )
  }
}
