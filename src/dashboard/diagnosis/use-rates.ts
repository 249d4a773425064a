/** @module dashboard/diagnosis/use-rates  Reads how much fails now while the attention list is shown. */
import { useMemo } from 'react'
import type { DeadGroupsBody } from '../../protocol/index.ts'
import { isProblem } from '../api/problem.ts'
import { useRead } from '../api/queries.ts'
import type { Attention } from './attention.ts'
import { deadTypes, ratedTypes, withRates, type DeadGroupsByType } from '../../diagnosis/index.ts'
import { useRuns } from './use-runs.ts'

const GROUPS_EVERY_MS = 15_000
const NO_GROUPS: DeadGroupsByType = new Map()
const NO_RUNS = new Map<string, never>()

export function useRatedAttention(attention: readonly Attention[]): readonly Attention[] {
  const runs = useRuns(ratedTypes(attention)) ?? NO_RUNS
  const groups = useGroups(deadTypes(attention))
  return useMemo(() => withRates(attention, runs, groups), [attention, runs, groups])
}

function useGroups(types: readonly string[]): DeadGroupsByType {
  const { data } = useRead(['dead-groups', ...types], GROUPS_EVERY_MS, async (api, signal) => {
    const found = new Map<string, DeadGroupsBody>()
    for (const type of types) {
      try {
        found.set(type, (await api.get<DeadGroupsBody>(['automations', type, 'dead', 'groups'], {}, signal)).body)
      } catch (error) {
        if (!isProblem(error, 404)) throw error // A master of an earlier release does not have the route.
      }
    }
    return found
  })
  return data ?? NO_GROUPS
}
