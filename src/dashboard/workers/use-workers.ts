/**
 * @module dashboard/workers/use-workers
 * Provides the worker store to components. There is one store per session. It is filled while the page is open.
 */
import { createContext, useContext, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import type { OverviewBody, WorkerGroupsBody } from '../../protocol/index.ts'
import { useFleetSize, type FleetSize } from '../api/fleet-size.ts'
import { useInstalled } from '../api/installed.ts'
import { useEvents, useFeedState, useQueueTotals } from '../api/live.ts'
import type { Problem } from '../api/problem.ts'
import { useRead, type Read } from '../api/queries.ts'
import { useSession } from '../api/session.ts'
import { overviewWith } from '../api/queue-totals.ts'
import { ConfigReads } from './config-reads.ts'
import { rowsOf } from './from-columns.ts'
import { LargeFleet } from './large-fleet.ts'
import { readSingles, readWorkers } from './reading.ts'
import type { WorkerRow } from './row.ts'
import { WorkerStore, type Snapshot } from './store.ts'

export interface Workers {
  readonly store: WorkerStore
  readonly problem: Problem | undefined
  /** Reads all pages immediately. */
  readonly refresh: () => void
}

export const WorkersContext = createContext<Workers | null>(null)

export function useWorkers(): Workers {
  const workers = useContext(WorkersContext)
  if (workers === null) throw new TypeError('workers are shown outside the shell')
  return workers
}

/**
 * Creates a worker store and fills it while the shell is mounted. The rows of a large fleet are read only while a page
 * shows them.
 */
export function useWorkerReading(showsRows: boolean): Workers {
  const { api, suspended } = useSession()
  const { automations } = useInstalled()
  const types = automations.map(({ type }) => type).join('\n')
  const [store] = useState(() => new WorkerStore())
  const [problem, setProblem] = useState<Problem | undefined>()
  const wake = useRef(() => {})
  const isPaused = useFeedState().kind === 'paused' || suspended
  const how = howToRead(useFleetSize(), showsRows)
  const large = useMemo(
    () => new LargeFleet({ api, store, types: types.split('\n'), report: setProblem }),
    [api, store, types],
  )
  useEffect(() => {
    if (isPaused || types === '' || how === 'not') return undefined
    const stop = new AbortController()
    const waits = {
      signal: stop.signal,
      pause: (ms: number) =>
        pause(ms, stop.signal, (awaken) => {
          wake.current = awaken
        }),
    }
    if (how === 'changes') void large.run(waits)
    else void readWorkers({ api, store, types: types.split('\n'), report: setProblem, ...waits })
    return () => stop.abort()
  }, [api, store, types, isPaused, how, large])
  const configReads = useMemo(
    () => new ConfigReads({ read: (workers) => void readSingles(api, store, workers), after }),
    [api, store],
  )
  useEffect(() => () => configReads.end(), [configReads])
  useEvents((events) => {
    const unknown = store.apply(events)
    if (how === 'all') configReads.onEvents(events) // Otherwise the changes of all rows are read, with their configs.
    if (events.some(({ name }) => name === 'reset')) return wake.current()
    if (unknown.length > 0) void readSingles(api, store, unknown).then((done) => done || wake.current())
  })
  return useMemo(() => ({ store, problem, refresh: () => wake.current() }), [store, problem])
}

function after(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms)
  return () => clearTimeout(timer)
}

/** While the size is not known, rows are read as those of a large fleet: reading all of them first suits both. */
function howToRead(size: FleetSize, showsRows: boolean): 'not' | 'all' | 'changes' {
  if (size === 'small') return 'all'
  return showsRows ? 'changes' : 'not'
}

/** Resolves with false after `ms`, but not while the tab is hidden; resolves with true when `awaken` is called. */
function pause(ms: number, signal: AbortSignal, offer: (awaken: () => void) => void): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (isWoken: boolean): void => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onShown)
      signal.removeEventListener('abort', onAbort)
      resolve(isWoken)
    }
    const onAbort = (): void => end(true)
    const onShown = (): void => {
      if (document.visibilityState === 'visible') end(false)
    }
    const onTime = (): void => {
      if (document.visibilityState === 'visible') end(false)
      else document.addEventListener('visibilitychange', onShown)
    }
    const timer = setTimeout(onTime, ms)
    signal.addEventListener('abort', onAbort)
    offer(() => end(true))
  })
}

export function useSnapshot(): Snapshot {
  const { store } = useWorkers()
  return useSyncExternalStore(store.watch, store.snapshot)
}

/**
 * The workers of one type; undefined until all of them have been read once. Of a large fleet, rows of healthy workers
 * stand for several equal ones.
 */
export function useWorkersOf(type: string): readonly WorkerRow[] | undefined {
  const { rows, whole, version } = useSnapshot()
  const isLarge = useFleetSize() === 'large'
  const { data: groups } = useWorkerGroups()
  return useMemo(
    () => {
      const ofType = (row: WorkerRow): boolean => row.automation_type === type
      if (isLarge) return groups?.filter(ofType)
      return whole.has(type) ? [...rows.values()].filter(ofType) : undefined
    },
    // `rows` is the same Map in every version.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [isLarge, groups, rows, whole, type, version],
  )
}

/** Overview and groups of a large fleet. The master reads its store at most every 5 s for each of them. */
const LARGE_EVERY_MS = 12_000

/** Every worker of a large fleet, from the groups of equal ones. Workers with a problem have rows of their own. */
export function useWorkerGroups(): Read<readonly WorkerRow[]> {
  const enabled = useFleetSize() === 'large'
  return useRead(
    ['worker-groups'],
    LARGE_EVERY_MS,
    async (api, signal) => {
      const { body } = await api.get<WorkerGroupsBody>(['worker-groups'], {}, signal)
      return Object.entries(body.automations).flatMap(([type, columns]) =>
        rowsOf(type, columns, body.ts).flatMap((row, n) => Array.from({ length: columns.count[n] ?? 1 }, () => row)),
      )
    },
    { enabled },
  )
}

const OVERVIEW_EVERY_MS = 15_000

/** The overview of the master, with the queue totals of newer events. */
export function useOverview(): Read<OverviewBody> {
  const isLarge = useFleetSize() === 'large'
  const read = useRead(
    ['overview'],
    isLarge ? LARGE_EVERY_MS : OVERVIEW_EVERY_MS,
    async (api, signal) => (await api.get<OverviewBody>(['overview'], {}, signal)).body,
  )
  const eventTotals = useQueueTotals()
  const { data: counted, atMs = 0 } = read
  const data = useMemo(
    () => (counted === undefined ? undefined : overviewWith(counted, atMs, eventTotals)),
    [counted, atMs, eventTotals],
  )
  return { ...read, data }
}
