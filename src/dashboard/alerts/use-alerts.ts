/** @module dashboard/alerts/use-alerts  Reads the alerts of the fleet, for the header and for the overview (D200). */
import type { Alert, AlertsBody } from '../../protocol/index.ts'
import { isProblem } from '../api/problem.ts'
import { useRead } from '../api/queries.ts'

const EVERY_MS = 15_000

/** @returns null with a master of an earlier release; undefined until they are read. */
export function useAlerts(): readonly Alert[] | null | undefined {
  return useRead(['alerts'], EVERY_MS, async (api, signal) => {
    try {
      return (await api.get<AlertsBody>(['alerts'], {}, signal)).body.alerts
    } catch (error) {
      if (isProblem(error, 404)) return null
      throw error
    }
  }).data
}

/** Those that fire and are not acknowledged. */
export const openAlerts = (alerts: readonly Alert[]): readonly Alert[] =>
  alerts.filter(({ resolved_at: at, acknowledged }) => at === null && !acknowledged)
