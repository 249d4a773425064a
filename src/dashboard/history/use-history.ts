/** @module dashboard/history/use-history  Polls the history of one queue, or of all queues. */
import { useState } from 'react'
import type { FleetHistoryBody, QueueHistoryBody } from '../../protocol/index.ts'
import type { Api } from '../api/client.ts'
import { useRead, type Read } from '../api/queries.ts'
import { newerFrom, withNewerFleet, withNewerQueue } from './newer-steps.ts'
import { RANGE_OF, type Range } from './ranges.ts'

export function useQueueHistory(type: string, range: Range): Read<QueueHistoryBody> {
  const { step } = RANGE_OF[range]
  return useHistory<QueueHistoryBody>({
    key: type,
    path: ['automations', type, 'history'],
    range,
    step,
    listsOf: ({ steps }) => [steps],
    withNewer: withNewerQueue,
  })
}

export function useFleetHistory(range: Range): Read<FleetHistoryBody> {
  // All queues have longer steps, so that an hour of many types stays small.
  const step = Math.max(RANGE_OF[range].step, FLEET_STEPS[range] ?? 0)
  return useHistory<FleetHistoryBody>({
    key: null,
    path: ['history'],
    range,
    step,
    listsOf: ({ automations }) => Object.values(automations),
    withNewer: withNewerFleet,
  })
}

const FLEET_STEPS: Partial<Record<Range, number>> = { '1h': 60, '6h': 300, '24h': 900 }

type Body = FleetHistoryBody | QueueHistoryBody

interface Reading<B extends Body> {
  /** The type; null for all queues. */
  readonly key: string | null
  readonly path: readonly string[]
  readonly range: Range
  readonly step: number
  readonly listsOf: (body: B) => Parameters<typeof newerFrom>[1]
  readonly withNewer: (known: B, newer: B) => B
}

/** Reads the whole range once, and then what is new. */
function useHistory<B extends Body>({ key, path, range, step, listsOf, withNewer }: Reading<B>): Read<B> {
  const { seconds, everySeconds } = RANGE_OF[range]
  const [known] = useState(() => new Map<string, B>())
  const name = `${key ?? ''} ${range}`
  const read = async (api: Api, signal: AbortSignal): Promise<B> => {
    const before = known.get(name)
    const from = before === undefined ? null : newerFrom(before, listsOf(before))
    const { body } = await api.get<B>(path, from === null ? { seconds, step } : { from, step }, signal)
    const now = before === undefined || from === null ? body : withNewer(before, body)
    known.clear() // Another range is read as a whole.
    known.set(name, now)
    return now
  }
  return useRead(key === null ? ['history', range] : ['history', key, range], everySeconds * 1_000, read)
}
