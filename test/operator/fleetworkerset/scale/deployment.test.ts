/** Tests which workers of a Deployment are cordoned, and that `replicas` is lowered only if idle pods are removed. */
import { describe, expect, it } from '@jest/globals'
import {
  MARKED_COST,
  planDeployment,
  type DeploymentFacts,
  type PodFacts,
} from '../../../../src/operator/fleetworkerset/scale/deployment.ts'
import type { PodWorker } from '../../../../src/operator/fleetworkerset/scale/plan.ts'
import { busy, idle, worker } from './facts.ts'

const pod = (name: string, more: Partial<PodFacts> = {}): PodFacts => ({
  name,
  isTerminating: false,
  isAssigned: true,
  phase: 'Running',
  isReady: true,
  cost: 0,
  createdMs: 0,
  template: 't1',
  ...more,
})
const marked = { cost: MARKED_COST }

interface Pair {
  readonly pod: PodFacts
  readonly worker: PodWorker | undefined
}
const pair = (name: string, each: PodWorker | undefined, more: Partial<PodFacts> = {}): Pair => ({
  pod: pod(name, more),
  worker: each,
})
function facts(pairs: readonly Pair[], more: Partial<DeploymentFacts> = {}): DeploymentFacts {
  return {
    desired: 1,
    actual: pairs.length,
    pods: pairs.map((each) => each.pod),
    workers: new Map(pairs.flatMap((each) => (each.worker === undefined ? [] : [[each.pod.name, each.worker]]))),
    verified: new Set(pairs.map((each) => each.pod.name)),
    ...more,
  }
}
const cordoned = (each: DeploymentFacts): readonly string[] => [...planDeployment(each).cordon].toSorted()

describe('the workers of a Deployment that are cordoned', () => {
  it('are those that are not ready, then those with the fewest tasks, then the youngest', () => {
    const three = [
      pair('a', worker({ tasksHeld: 0 }), { createdMs: 1 }),
      pair('b', worker({ tasksHeld: 3 }), { isReady: false }),
      pair('c', worker({ tasksHeld: 0 }), { createdMs: 2 }),
    ]
    expect(cordoned(facts(three, { desired: 2 }))).toEqual(['b'])
    expect(cordoned(facts(three))).toEqual(['b', 'c'])
  })

  it('stay the same while their tasks end, and a part of them if fewer are removed', () => {
    const three = [pair('a', worker({ tasksHeld: 0 })), pair('b', busy(5)), pair('c', busy(2))]
    expect(cordoned(facts(three))).toEqual(['b', 'c'])
    expect(cordoned(facts(three, { desired: 2 }))).toEqual(['c'])
    expect(cordoned(facts(three, { desired: 3 }))).toEqual([])
  })

  it('are no workers of others while there are own ones', () => {
    const two = [pair('a', worker({ isOwn: false, tasksHeld: 0 })), pair('b', worker({ tasksHeld: 9 }))]
    expect(cordoned(facts(two))).toEqual(['b'])
  })

  it('are not the extra pods of a rollout of the Deployment', () => {
    const four = ['a', 'b', 'c', 'd'].map((name) => pair(name, worker()))
    expect(cordoned(facts(four, { actual: 3, desired: 3 }))).toEqual([])
  })

  it('do not include pods that the ReplicaSet has not created yet', () => {
    const three = ['a', 'b', 'c'].map((name) => pair(name, worker()))
    expect(cordoned(facts(three, { actual: 5, desired: 3 }))).toEqual([])
    expect(planDeployment(facts(three, { actual: 5, desired: 3 })).replicas).toBe(3)
  })

  it('keep the cordon until their pods have ended', () => {
    const ending = pair('c', idle(), { isTerminating: true, ...marked })
    const gone = pair('d', { ...idle(), isConnected: false }, { isTerminating: true, ...marked })
    const pairs = [pair('a', worker()), pair('b', idle(), marked), ending, gone]
    expect(cordoned(facts(pairs, { actual: 1, desired: 1 }))).toEqual(['b', 'c'])
  })
})

describe('replicas of a Deployment', () => {
  it('are raised immediately', () => {
    expect(planDeployment(facts([pair('a', worker())], { desired: 4 })).replicas).toBe(4)
  })

  it('are lowered in two steps: idle pods get the low cost, then their number is subtracted', () => {
    const first = planDeployment(facts([pair('a', worker()), pair('b', idle()), pair('c', busy())]))
    expect(first).toMatchObject({ marks: { add: ['b'], remove: [] }, replicas: undefined })
    const second = planDeployment(facts([pair('a', worker()), pair('b', idle(), marked), pair('c', busy())]))
    expect(second).toMatchObject({ marks: { add: [], remove: [] }, replicas: 2 })
  })

  it('are not lowered twice for a pod that the ReplicaSet has not deleted yet', () => {
    const three = [pair('a', worker()), pair('b', idle(), marked), pair('c', busy())]
    expect(planDeployment(facts(three, { actual: 2 })).replicas).toBeUndefined()
    expect(cordoned(facts(three, { actual: 2 }))).toEqual(['b', 'c'])
  })

  it('are not lowered while the ReplicaSet would remove a busy pod first', () => {
    const victim = pair('b', idle(), marked)
    for (const first of [
      { isReady: false },
      { phase: 'Pending' },
      { isAssigned: false },
      { cost: MARKED_COST - 1 },
      { cost: MARKED_COST },
    ]) {
      const plan = planDeployment(facts([pair('a', worker(), first), victim, pair('c', worker())], { desired: 2 }))
      expect([first, plan.replicas]).toEqual([first, undefined])
    }
  })

  it('are not lowered while two templates share the pods', () => {
    const pairs = [pair('a', worker(), { template: 't2' }), pair('b', idle(), marked)]
    expect(planDeployment(facts(pairs)).replicas).toBeUndefined()
  })

  it('are not lowered for workers whose records were not read', () => {
    const pairs = [pair('a', worker()), pair('b', idle(), marked)]
    expect(planDeployment(facts(pairs)).replicas).toBe(1)
    expect(planDeployment(facts(pairs, { verified: new Set() })).replicas).toBeUndefined()
  })

  it('take the low cost from pods that stay, also from one that a person marked', () => {
    const pairs = [pair('a', worker(), marked), pair('b', busy(), marked), pair('c', worker())]
    expect(planDeployment(facts(pairs, { desired: 3 })).marks.remove).toEqual(['a', 'b'])
    expect(planDeployment(facts(pairs, { desired: 2 })).marks.remove).toEqual(['a', 'b'])
  })

  it('never remove a busy pod, whatever the facts are', () => {
    let seed = 7
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((seed / 2_147_483_648) * below)
    }
    const pick = <T>(...all: readonly T[]): T => all[random(all.length)] as T
    for (let round = 0; round < 5_000; round += 1) {
      const pairs = Array.from({ length: random(8) }, (_, index) =>
        pair(`p${index}`, pick(undefined, worker(), busy(), idle(), worker({ isOwn: false })), {
          isTerminating: random(6) === 0,
          isAssigned: random(8) > 0,
          isReady: random(4) > 0,
          phase: pick('Running', 'Running', 'Pending', 'Unknown', 'Failed', 'Strange'),
          cost: pick(0, 0, MARKED_COST, MARKED_COST, -5_000, 7),
          createdMs: random(3),
          template: pick('t1', 't1', 't1', 't2'),
        }),
      )
      const given = facts(pairs, { desired: random(8), actual: random(8) })
      const { cordon, replicas = given.actual } = planDeployment(given)
      if (given.desired >= given.actual) expect(replicas).toBe(given.desired)
      else expect(replicas).toBeGreaterThanOrEqual(given.desired)
      expect(replicas <= Math.max(given.actual, given.desired)).toBe(true)
      if (replicas >= given.actual) continue
      const removed = removedByReplicaSet(given.pods, replicas)
      for (const { name } of removed)
        expect([name, cordon.has(name), given.workers.get(name)?.isIdle ?? true]).toEqual([name, true, true])
    }
  })
})

/** What a ReplicaSet removes, with the worst choice among pods that its rules treat alike. */
function removedByReplicaSet(pods: readonly PodFacts[], replicas: number): readonly PodFacts[] {
  const active = pods.filter(
    ({ isTerminating, phase }) => !isTerminating && phase !== 'Succeeded' && phase !== 'Failed',
  )
  const phases = ['Pending', 'Unknown', 'Running']
  const rank = (each: PodFacts): readonly number[] => [
    Number(each.isAssigned),
    phases.indexOf(each.phase),
    Number(each.isReady),
    each.cost,
  ]
  const compare = (a: PodFacts, b: PodFacts): number => {
    const [left, right] = [rank(a), rank(b)]
    return left.map((value, index) => value - (right[index] ?? 0)).find((difference) => difference !== 0) ?? 0
  }
  const ordered = active.toSorted(compare)
  const last = ordered[active.length - replicas - 1]
  return last === undefined ? [] : ordered.filter((each) => compare(each, last) <= 0)
}
