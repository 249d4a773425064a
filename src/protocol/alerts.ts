/**
 * @module protocol/alerts
 * Defines alerts: problems of the fleet that have lasted, and those that were solved lately (D200).
 */
import { Type, type Static } from 'typebox'
import { Nullable, Seconds } from './names.ts'

/** One alert. It fires from `fired_at` to `resolved_at`, which is null while it fires. */
export const Alert = Type.Object({
  /** The same for as long as the alert fires, also after a restart of the masters; never used again. */
  id: Type.String(),
  type: Type.String(),
  /** `error`, `failing`, `offline`, `behind`, `unserved`, `old`, `paused`, `dead`, `stream` or `rollout`. */
  kind: Type.String(),
  /** The item of the attention list, by which it is acknowledged (D171). */
  item: Type.String(),
  severity: Type.Enum(['critical', 'warning']),
  /** The type, or `TYPE/WORKER` if one worker is affected; of a rollout its set. */
  subject: Type.String(),
  text: Type.String(),
  /** The affected workers or tasks. */
  count: Type.Integer(),
  /** When the problem began. */
  since: Seconds,
  fired_at: Seconds,
  resolved_at: Nullable(Seconds),
  /** Whether its item is acknowledged, so that nothing is sent about it. */
  acknowledged: Type.Boolean(),
})
export type Alert = Static<typeof Alert>
/** The firing alerts, newest first, and then the resolved ones of the last 24 hours, newest first. */
export const AlertsBody = Type.Object({ alerts: Type.Array(Alert) })
export type AlertsBody = Static<typeof AlertsBody>
