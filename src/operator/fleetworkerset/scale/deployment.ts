/**
 * @module operator/fleetworkerset/scale/deployment
 * Decides how a Deployment is scaled. Its ReplicaSet chooses the pods that it removes: those that are not assigned to a
 * node, pending, not ready, then those with the lowest deletion cost. So idle pods get a low cost, and `replicas` is
 * lowered only if by these rules the ReplicaSet removes nothing but idle pods. The workers to cordon are chosen in this
 * order, which keeps the choice of the last look:
 *
 *   cordoned already ─▶ not ready ─▶ fewest tasks ─▶ youngest
 *
 * While a new template rolls out, several ReplicaSets share the pods, and `replicas` is not lowered.
 */
import { compareText } from '../../../runtime/index.ts'
import { isRemovable, MAX_CANDIDATES, type ScaleFacts, type ScalePlan } from './plan.ts'

/** The deletion cost of a pod that may be removed. */
export const MARKED_COST = -1_000

export interface PodFacts {
  readonly name: string
  readonly isTerminating: boolean
  /** Whether it has a node. */
  readonly isAssigned: boolean
  /** `status.phase`. */
  readonly phase: string
  readonly isReady: boolean
  /** The deletion cost, 0 by default. */
  readonly cost: number
  readonly createdMs: number
  /** Hash of the template that it was created from. */
  readonly template: string
}

export interface DeploymentFacts extends ScaleFacts {
  readonly pods: readonly PodFacts[]
}

export function planDeployment(facts: DeploymentFacts): ScalePlan {
  const { actual, desired, pods, workers } = facts
  const active = pods.filter(
    ({ isTerminating, phase }) => !isTerminating && phase !== 'Succeeded' && phase !== 'Failed',
  )
  const isCordoned = ({ name }: PodFacts): boolean => workers.get(name)?.isCordoned ?? false
  // Removed from `replicas` already; the ReplicaSet has not deleted them yet.
  const surplus = Math.max(active.length - Math.max(actual, desired), 0)
  const doomed = Math.min(surplus, active.filter((pod) => isMarked(pod) && isCordoned(pod)).length)
  const missing = Math.max(actual - active.length, 0)
  const count = Math.max(actual - desired - missing, 0) + doomed
  const chosen = active.toSorted(byChoice(facts)).slice(0, count)
  const isChosen = new Set(chosen.map(({ name }) => name))
  const ending = pods.filter((pod) => pod.isTerminating && isCordoned(pod) && workers.get(pod.name)?.isConnected)
  const isVictim = ({ name }: PodFacts): boolean => isChosen.has(name) && isRemovable(facts, name)
  const victims = new Set(active.filter((pod) => isMarked(pod) && isVictim(pod)))
  const mayStay = (pod: PodFacts): boolean => isChosen.has(pod.name) && (workers.get(pod.name)?.isIdle ?? true)
  return {
    cordon: new Set([...isChosen, ...ending.map(({ name }) => name)]),
    replicas: desired > actual ? desired : loweredTo(facts, { active, victims, missing, doomed }),
    marks: {
      add: chosen.filter((pod) => !isMarked(pod) && isVictim(pod)).map(({ name }) => name),
      remove: active.filter((pod) => isMarked(pod) && !mayStay(pod)).map(({ name }) => name),
    },
    candidates: chosen
      .toSorted((a, b) => Number(mayStay(b)) - Number(mayStay(a)))
      .slice(0, MAX_CANDIDATES)
      .map(({ name }) => name),
  }
}

interface Removal {
  readonly active: readonly PodFacts[]
  /** Idle pods with the low cost. */
  readonly victims: ReadonlySet<PodFacts>
  readonly missing: number
  readonly doomed: number
}

/** @returns the lowest number of replicas at which no busy pod is removed; `undefined` if there is none below. */
function loweredTo(
  { actual, desired }: DeploymentFacts,
  { active, victims, missing, doomed }: Removal,
): number | undefined {
  const isRollingOut = new Set(active.map(({ template }) => template)).size > 1
  if (isRollingOut) return undefined
  const idle = Math.max(victims.size - doomed, 0)
  for (const removed of new Set([missing + idle, missing])) {
    const replicas = Math.max(actual - removed, desired)
    if (replicas < actual && removesOnly(active, active.length - replicas, victims)) return replicas
  }
  return undefined
}

/** Whether a ReplicaSet that removes `count` of these pods can remove no other than the victims. */
function removesOnly(active: readonly PodFacts[], count: number, victims: ReadonlySet<PodFacts>): boolean {
  if (count <= 0) return true
  const ordered = active.toSorted(byRemoval)
  const last = ordered[count - 1]
  return last !== undefined && ordered.every((pod) => byRemoval(pod, last) > 0 || victims.has(pod))
}

const PHASES: readonly string[] = ['Pending', 'Unknown', 'Running']

/** The order in which a ReplicaSet removes pods, as far as it is certain. */
const byRemoval = (a: PodFacts, b: PodFacts): number =>
  Number(a.isAssigned) - Number(b.isAssigned) ||
  PHASES.indexOf(a.phase) - PHASES.indexOf(b.phase) ||
  Number(a.isReady) - Number(b.isReady) ||
  a.cost - b.cost

const isMarked = ({ cost }: PodFacts): boolean => cost === MARKED_COST

function byChoice({ workers }: DeploymentFacts): (a: PodFacts, b: PodFacts) => number {
  const isFree = (pod: PodFacts): boolean => workers.get(pod.name)?.isOwn ?? true
  const isCordoned = (pod: PodFacts): boolean => workers.get(pod.name)?.isCordoned ?? false
  const held = (pod: PodFacts): number => {
    const worker = workers.get(pod.name)
    return worker === undefined ? 0 : (worker.tasksHeld ?? Number.MAX_SAFE_INTEGER)
  }
  return (a, b) =>
    Number(isCordoned(b)) - Number(isCordoned(a)) ||
    Number(isFree(b)) - Number(isFree(a)) ||
    Number(a.isReady) - Number(b.isReady) ||
    held(a) - held(b) ||
    b.createdMs - a.createdMs ||
    compareText(a.name, b.name)
}
