/**
 * @module dashboard/shell
 * Renders the frame of every page (brand, navigation, search, live badge, token) and the page of the current route.
 * Each page's code is loaded when the page is first opened.
 */
import { QueryClientProvider, type QueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useCallback, useEffect, useRef, useState, type ReactNode } from 'react'
import { AlertCount } from './alerts/alert-count.tsx'
import { loadInstalled, type Installed } from './api/automations.ts'
import { FleetSizeContext, useKnownFleetSize } from './api/fleet-size.ts'
import { InstalledContext } from './api/installed.ts'
import { FeedContext, useFeed, useFeedState, useOpenFeed } from './api/live.ts'
import { useRead } from './api/queries.ts'
import { useSession } from './api/session.ts'
import { EnvironmentName, useTab } from './environment/environment.tsx'
import { NavBar, TokenChip } from './nav-bar.tsx'
import { OverviewPage } from './overview/overview-page.tsx'
import { Announcements } from './components/announcements.tsx'
import { Boundary } from './components/boundary.tsx'
import { EmptyState } from './components/empty-state.tsx'
import { useKeys } from './components/keys.ts'
import { LiveBadge } from './components/live-badge.tsx'
import { Notice } from './components/notice.tsx'
import { ReadState } from './components/read-state.tsx'
import { useOutageSince } from './components/use-outage.ts'
import { WithNow } from './components/with-now.tsx'
import { formatRoute, titleOf, type Route } from './route.ts'
import { Outage } from './settings/outage.tsx'
import { goTo, useRoute } from './use-route.ts'
import { FleetStatusContext, useFleetEvaluation, useFleetStatus } from './diagnosis/fleet-status.ts'
import { PauseBar } from './tasks/pause-bar.tsx'
import { wayBack } from './workers/last-list.ts'
import { useWorkerReading, WorkersContext } from './workers/use-workers.ts'

const loadWorkers = async () => ({ default: (await import('./workers/workers-page.tsx')).WorkersPage })
const WorkersPage = lazy(loadWorkers)
const WorkerPage = lazy(async () => ({ default: (await import('./worker/worker-page.tsx')).WorkerPage }))
const TasksPage = lazy(async () => ({ default: (await import('./tasks/tasks-page.tsx')).TasksPage }))
const TaskPage = lazy(async () => ({ default: (await import('./tasks/task-page.tsx')).TaskPage }))
const FindDialog = lazy(async () => ({ default: (await import('./tasks/find-dialog.tsx')).FindDialog }))
const OperationsPage = lazy(async () => ({
  default: (await import('./operations/operations-page.tsx')).OperationsPage,
}))
const OperationPage = lazy(async () => ({ default: (await import('./operations/operation-page.tsx')).OperationPage }))
const OutputPage = lazy(async () => ({ default: (await import('./output/output-page.tsx')).OutputPage }))
const PoolsPage = lazy(async () => ({ default: (await import('./pools/pools-page.tsx')).PoolsPage }))
const AutomationsPage = lazy(async () => ({
  default: (await import('./automations/automations-page.tsx')).AutomationsPage,
}))
const ActivityPage = lazy(async () => ({ default: (await import('./activity/activity-page.tsx')).ActivityPage }))
const Palette = lazy(async () => ({ default: (await import('./palette/palette.tsx')).Palette }))
const SaveViewDialog = lazy(async () => ({ default: (await import('./views/save-view-dialog.tsx')).SaveViewDialog }))
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
  const size = useKnownFleetSize()
  return (
    <FleetSizeContext value={size}>
      <FeedContext value={useOpenFeed(api, suspended, size)}>
        <Frame onSignOut={onSignOut} />
      </FeedContext>
    </FleetSizeContext>
  )
}

type DialogName = 'keys' | 'find' | 'palette' | 'view'

interface OpenDialog {
  readonly name: DialogName
  /** The ID of the task to find. */
  readonly text: string
}

function Frame({ onSignOut }: { readonly onSignOut: () => void }) {
  const { me } = useSession()
  const route = useRoute()
  const installed = useRead(['installed'], INSTALLED_EVERY_MS, (api, signal) => loadInstalled(api, me, signal))
  const [dialog, setDialog] = useState<OpenDialog | null>(null)
  const isUnavailable = useOutageSince() !== undefined
  const closeDialog = useCallback(() => setDialog(null), [])
  const openDialog = useCallback((name: DialogName, text = '') => setDialog({ name, text }), [])
  useShellKeys(route, openDialog)
  usePaletteKey(() => openDialog('palette'))
  // Preloads the most visited page. A load error is ignored here; opening the page reports it.
  useEffect(() => void loadWorkers().catch(() => {}), [])
  return (
    <div className={route.page === 'workers' ? 'frame fills' : 'frame'}>
      <a className="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <header className="top">
        <a className="brand" href="#/">
          muster
        </a>
        <EnvironmentName />
        <AlertCount />
        <span className="host soft">{location.host}</span>
        <NavBar route={route} />
        <WorkerSearch />
        <PaletteButton onOpen={() => openDialog('palette')} />
        <LiveBadge />
        <TokenChip onSignOut={onSignOut} />
      </header>
      <main id="main" tabIndex={-1} className={isUnavailable ? 'is-unavailable' : undefined}>
        <Outage />
        <Notice page={route.page} />
        {installed.data === undefined ? (
          <ReadState read={installed} />
        ) : (
          <WithInstalled route={route} installed={installed.data} isPaletteOpen={dialog?.name === 'palette'}>
            <Suspense>
              {dialog?.name === 'palette' && (
                <Palette route={route} onClose={closeDialog} onDialog={openDialog} onSignOut={onSignOut} />
              )}
            </Suspense>
          </WithInstalled>
        )}
      </main>
      <Announcements />
      <Suspense>
        {dialog?.name === 'keys' && <KeyList onClose={closeDialog} />}
        {dialog?.name === 'find' && <FindDialog initial={dialog.text} onClose={closeDialog} />}
        {dialog?.name === 'view' && <SaveViewDialog onClose={closeDialog} />}
      </Suspense>
    </div>
  )
}

/** Ctrl+K or Cmd+K, also in a field, but not above another dialog. */
function usePaletteKey(open: () => void): void {
  const act = useRef(open)
  useEffect(() => {
    act.current = open
  })
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isK = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)
      if (!isK || event.altKey || event.shiftKey || event.isComposing) return
      event.preventDefault() // Some browsers focus their own search field.
      if (document.querySelector('dialog[open]') === null) act.current()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

function PaletteButton({ onOpen }: { readonly onOpen: () => void }) {
  return (
    <button type="button" className="quiet palette-button" aria-label="Go to…" title="Go to… (Ctrl+K)" onClick={onOpen}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M11 6.5a4.5 4.5 0 1 1-9 0 4.5 4.5 0 0 1 9 0Zm-1.3 3.2L14 14" />
      </svg>
    </button>
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

/** The list that a page with a name belongs to. */
const listOf = (page: string, name: string | null): string | null => (name === null ? null : `#/${page}`)

/** The page that Escape opens; null if there is none. */
function parentOf(route: Route): string | null {
  switch (route.page) {
    case 'worker':
      return wayBack().href
    case 'task':
      return formatRoute({ page: 'tasks', type: route.type })
    case 'operation':
      return '#/operations'
    case 'tasks':
    case 'output':
    case 'automations':
      return listOf(route.page, route.type)
    case 'pools':
      return listOf('pools', route.name)
    case 'overview':
    case 'workers':
    case 'operations':
    case 'activity':
    case 'settings':
    case 'unknown':
      return null
  }
}

function useShellKeys(route: Route, show: (dialog: DialogName) => void): void {
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

interface WithInstalledProps {
  readonly route: Route
  readonly installed: Installed
  readonly isPaletteOpen: boolean
  /** Dialogs that need the same data as the pages. */
  readonly children: ReactNode
}

function WithInstalled(props: WithInstalledProps) {
  return (
    <InstalledContext value={props.installed}>
      <WithWorkers {...props} />
    </InstalledContext>
  )
}

function WithWorkers(props: WithInstalledProps) {
  return (
    <WorkersContext value={useWorkerReading(props.route.page === 'workers' || props.isPaletteOpen)}>
      <WithFleetStatus {...props} />
      {props.children}
    </WorkersContext>
  )
}

function WithFleetStatus({ route, installed }: WithInstalledProps) {
  return (
    <FleetStatusContext value={useFleetEvaluation()}>
      <PauseBar />
      <TitledPage route={route} installed={installed} />
    </FleetStatusContext>
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
  useTab(`${problems > 0 ? `(${problems}) ` : ''}${title}`)
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
    case 'operations':
      return <OperationsPage />
    case 'operation':
      return <OperationPage key={`${route.type}/${route.id}`} route={route} />
    case 'activity':
      return <ActivityPage route={route} />
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
