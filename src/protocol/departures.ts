/** @module protocol/departures  Defines how the last connection of a worker ended (D195). */
import { Type, type Static } from 'typebox'
import { Nullable, Seconds } from './names.ts'

/**
 * - `drained`: the worker finished its work after a drain, and ended in an orderly way (D142).
 * - `stopped`: its process ended in an orderly way without a drain, for example after SIGTERM. The master cannot see
 *   why it was stopped: the end of a pod that Kubernetes evicts looks the same.
 * - `evicted`: the master closed the connection, for the `reason`: its token was revoked, or a frame was invalid.
 * - `lost`: anything else: the process crashed or was killed, its network failed, or its master stopped.
 */
export const DEPARTURE_KINDS = ['drained', 'stopped', 'evicted', 'lost'] as const

/** `by`: who requested the drain, of a drained worker. `code`: the close code, 1006 if no close frame was received. */
export const DepartureBody = Type.Object({
  kind: Type.Enum([...DEPARTURE_KINDS]),
  at: Seconds,
  by: Nullable(Type.String()),
  code: Type.Integer(),
  reason: Type.String(),
})
export type DepartureBody = Static<typeof DepartureBody>
