/**
 * @module operator/fleetworkerset/scale/stateful-set
 * Decides how a StatefulSet is scaled. It removes no pods but those with the highest ordinals, so these are cordoned,
 * and `replicas` follows from the top as far as they are idle. Example with 5 pods, of which 2 should stay:
 *
 *   ordinal       0    1    2      3      4
 *   cordoned                yes    yes    yes
 *   holds a task  yes  yes  no     yes    no      ─▶ replicas = 4: pod 2 has to wait for pod 3
 */
import { isRemovable, MAX_CANDIDATES, NO_MARKS, type ScaleFacts, type ScalePlan } from './plan.ts'

export interface StatefulSetFacts extends ScaleFacts {
  readonly name: string
  /** Ordinal of the first pod. */
  readonly start: number
}

export function planStatefulSet(facts: StatefulSetFacts): ScalePlan {
  const { actual, desired, name, start } = facts
  const nameOf = (index: number): string => `${name}-${start + index}`
  const cordon = new Set<string>()
  for (const [id, { isConnected, isCordoned }] of facts.workers) {
    const index = indexOf(facts, id)
    // A pod above the workload is ending. Without the cordon it would take tasks until its SIGTERM.
    if (index >= desired && (index < actual || (isConnected && isCordoned))) cordon.add(id)
  }
  let lowest = actual
  while (lowest > desired && isRemovable(facts, nameOf(lowest - 1))) lowest -= 1
  const replicas = Math.max(desired, lowest)
  const count = Math.max(Math.min(actual - desired, MAX_CANDIDATES), 0)
  return {
    cordon,
    replicas: replicas === actual ? undefined : replicas,
    marks: NO_MARKS,
    candidates: Array.from({ length: count }, (_, index) => nameOf(actual - 1 - index)),
  }
}

/** @returns how many pods come before that of this worker; -1 if it is not one of the StatefulSet. */
function indexOf({ name, start }: StatefulSetFacts, id: string): number {
  if (!id.startsWith(`${name}-`)) return -1
  const ordinal = id.slice(name.length + 1)
  return /^(0|[1-9]\d{0,9})$/.test(ordinal) ? Math.max(Number(ordinal) - start, -1) : -1
}
