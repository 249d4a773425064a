/**
 * @module automation/groups
 * Defines the groups of the tasks of a type: their form in a definition, and that in a manifest and in the catalog of
 * the API.
 * @see D119
 */
import { Type } from 'typebox'
import { GroupRateSeconds, GroupTasks, Strict, type GroupsFields } from '../protocol/index.ts'

/** What a definition declares of the groups of its tasks; `{}`: fair turns alone. */
export interface GroupsDefinition {
  /** The most tasks of one group that run at a time, 1 to 10,000; unbounded if omitted. */
  readonly maxInFlight?: number
  /**
   * How many tasks of one group may start: on average `tasks` (1 to 10,000) in `perSeconds` (0, exclusive, to 86,400),
   * and up to `burst` (1 to 10,000, default `tasks`) together after a pause. Unbounded if omitted.
   */
  readonly rate?: { readonly tasks: number; readonly perSeconds: number; readonly burst?: number }
}

/** The bounds of each group of a type; `null`: unbounded. */
export interface Groups {
  readonly maxInFlight: number | null
  readonly rate: { readonly tasks: number; readonly perSeconds: number; readonly burst: number } | null
}

/** The schema of {@link GroupsDefinition}. */
export const GROUPS = Strict({
  maxInFlight: Type.Optional(GroupTasks),
  rate: Type.Optional(Strict({ tasks: GroupTasks, perSeconds: GroupRateSeconds, burst: Type.Optional(GroupTasks) })),
})

/** Adds the defaults of a definition. @returns null if there is none: the type has no groups. */
export function withGroupDefaults(groups: GroupsDefinition | undefined): Groups | null {
  if (groups === undefined) return null
  const { maxInFlight = null, rate } = groups
  return { maxInFlight, rate: rate === undefined ? null : { ...rate, burst: rate.burst ?? rate.tasks } }
}

/** Reads the groups of a manifest. */
export function groupsOfFields(fields: GroupsFields | undefined): Groups | null {
  if (fields === undefined) return null
  const { max_in_flight: maxInFlight = null, rate } = fields
  if (rate === undefined) return { maxInFlight, rate: null }
  const { tasks, per_seconds: perSeconds, burst = tasks } = rate
  return { maxInFlight, rate: { tasks, perSeconds, burst } }
}

/** The reverse of {@link groupsOfFields}; what equals a default is left out. */
export function fieldsOfGroups({ maxInFlight, rate }: Groups): GroupsFields {
  return {
    ...(maxInFlight !== null && { max_in_flight: maxInFlight }),
    ...(rate !== null && {
      rate: {
        tasks: rate.tasks,
        per_seconds: rate.perSeconds,
        ...(rate.burst !== rate.tasks && { burst: rate.burst }),
      },
    }),
  }
}
