/**
 * @module dashboard/workers/use-workers
 * Provides the worker store to components. There is one store per session. It is filled while the page is open.
 */
import { createContext, useContext, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import type { OverviewBody } from '../../protocol/index.ts'
import { useInstalled } from '../api/installed.ts'
import { useEvents, useFeedState, useQueueTotals } from '../api/live.ts'
import type { Problem } from '../api/problem.ts'
import { useRead, type Read } from '../api/queries.ts'
import { useSession } from '../api/session.ts'
import { overviewWith } from '../api/queue-totals.ts'
import { useServerNow } from '../components/use-now.ts'
import { attentionOf, type Attention, type FleetFacts } from '../diagnosis/attention.ts'
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

/** Creates a worker store and fills it while the shell is mounted. */
export function useWorkerReading(): Workers {
  const { api, suspended } = useSession()
  const { automations } = useInstalled()
  const types = automations.map(({ type }) => type).join('\n')
  const [store] = useState(() => new WorkerStore())
  const [problem, setProblem] = useState<Problem | undefined>()
  const wake = useRef(() => {})
  const isPaused = useFeedState().kind === 'paused' || suspended
  useEffect(() => {
    if (isPaused || types === '') return undefined
    const stop = new AbortController()
    void readWorkers({
      api,
      store,
      types: types.split('\n'),
      signal: stop.signal,
      report: setProblem,
      pause: (ms) =>
        pause(ms, stop.signal, (awaken) => {
          wake.current = awaken
        }),
    })
    return () => stop.abort()
  }, [api, store, types, isPaused])
  useEvents((events) => {
    const unknown = store.apply(events)
    if (events.some(({ name }) => name === 'reset')) return wake.current()
    if (unknown.length > 0) void readSingles(api, store, unknown).then((done) => done || wake.current())
  })
  return useMemo(() => ({ store, problem, refresh: () => wake.current() }), [store, problem])
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

/** The workers of one type; undefined until all pages have been read once. */
export function useWorkersOf(type: string): readonly WorkerRow[] | undefined {
  const { rows, whole, version } = useSnapshot()
  return useMemo(
    () => (whole.has(type) ? [...rows.values()].filter((row) => row.automation_type === type) : undefined),
    // `rows` is the same Map in every version.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [rows, whole, type, version],
  )
}

const OVERVIEW_EVERY_MS = 15_000

/** The overview of the master, with the queue totals of newer events. */
export function useOverview(): Read<OverviewBody> {
  const read = useRead(
    ['overview'],
    OVERVIEW_EVERY_MS,
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

/** Evaluating 10,000 workers is expensive, so it runs at most this often. */
const EVALUATED_EVERY_SECONDS = 2

export interface FleetStatus {
  readonly facts: FleetFacts
  /** What needs attention. */
  readonly attention: readonly Attention[]
}

/** Undefined until the overview is loaded. */
export function useFleetStatus(): FleetStatus | undefined {
  const { data: overview } = useOverview()
  const { store } = useWorkers()
  const { automations } = useInstalled()
  const turn = Math.floor(useServerNow() / EVALUATED_EVERY_SECONDS)
  return useMemo(() => {
    if (overview === undefined) return undefined
    const { rows, whole } = store.snapshot()
    const isWhole = automations.every(({ type }) => whole.has(type))
    const facts = { overview, workers: isWhole ? [...rows.values()] : null, nowSeconds: turn * EVALUATED_EVERY_SECONDS }
    return { facts, attention: attentionOf(facts) }
  }, [overview, store, automations, turn])
}
