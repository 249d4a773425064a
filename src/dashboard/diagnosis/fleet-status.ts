/**
 * @module dashboard/diagnosis/fleet-status
 * Evaluates the fleet once for the whole page: what needs attention, and what of it is acknowledged.
 */
import { createContext, useContext, useMemo, useState } from 'react'
import type { Acknowledgement, AcknowledgementsBody } from '../../protocol/index.ts'
import { ErrorPatience, splitAcknowledged, type Acknowledged, type FleetFacts } from '../../diagnosis/index.ts'
import { useFleetSize } from '../api/fleet-size.ts'
import { useInstalled } from '../api/installed.ts'
import { isProblem } from '../api/problem.ts'
import { useRead } from '../api/queries.ts'
import { serverClock } from '../api/session.ts'
import { useServerNow } from '../components/use-now.ts'
import { useOverview, useWorkerGroups, useWorkers } from '../workers/use-workers.ts'
import { attentionOf, type Attention } from './attention.ts'

/** Evaluating 10,000 workers is expensive, so it runs at most this often. */
const EVALUATED_EVERY_SECONDS = 2
/** So long the page waits for the records of the workers, before it lists what the overview counts. */
const LOADING_SECONDS = 5
const ACKNOWLEDGEMENTS_EVERY_MS = 15_000
const NONE: readonly Acknowledgement[] = []

export interface FleetStatus {
  readonly facts: FleetFacts
  /** What needs attention and is not acknowledged. */
  readonly attention: readonly Attention[]
  readonly acknowledged: readonly Acknowledged<Attention>[]
  /** False with a master of an earlier release. */
  readonly canAcknowledge: boolean
}

export const FleetStatusContext = createContext<FleetStatus | undefined>(undefined)

/** Undefined until the overview and the workers are loaded. */
export const useFleetStatus = (): FleetStatus | undefined => useContext(FleetStatusContext)

/** Evaluates the fleet while the shell is mounted. */
export function useFleetEvaluation(): FleetStatus | undefined {
  const { data: overview } = useOverview()
  const { store } = useWorkers()
  const { automations } = useInstalled()
  const isLarge = useFleetSize() === 'large'
  const { data: groups = null } = useWorkerGroups()
  const acknowledgements = useAcknowledgements()
  const [patience] = useState(() => new ErrorPatience())
  const [openedAt] = useState(() => serverClock.nowSeconds())
  const turn = Math.floor(useServerNow() / EVALUATED_EVERY_SECONDS)
  return useMemo(() => {
    if (overview === undefined) return undefined
    const nowSeconds = turn * EVALUATED_EVERY_SECONDS
    const { rows, whole } = store.snapshot()
    const isWhole = automations.every(({ type }) => whole.has(type))
    const known = isWhole ? [...rows.values()] : null
    const workers = isLarge ? groups : known
    if (workers === null && nowSeconds - openedAt < LOADING_SECONDS) return undefined
    if (workers !== null) patience.update(workers, nowSeconds)
    const facts = { overview, workers, patience, nowSeconds }
    const { open, acknowledged } = splitAcknowledged(attentionOf(facts), acknowledgements ?? NONE, nowSeconds)
    return { facts, attention: open, acknowledged, canAcknowledge: acknowledgements !== null }
  }, [overview, store, automations, isLarge, groups, acknowledgements, patience, openedAt, turn])
}

/** @returns null with a master of an earlier release; undefined until they are read. */
function useAcknowledgements(): readonly Acknowledgement[] | null | undefined {
  return useRead(['acknowledgements'], ACKNOWLEDGEMENTS_EVERY_MS, async (api, signal) => {
    try {
      return (await api.get<AcknowledgementsBody>(['acknowledgements'], {}, signal)).body.acknowledgements
    } catch (error) {
      if (isProblem(error, 404)) return null
      throw error
    }
  }).data
}
