/**
 * Adds a focus to two of three plans: faults that together reach one rare situation often. Faults that are drawn one by
 * one reach it in too few runs. A focus has random numbers of its own, so the rest of a plan stays as it is. Most other
 * plans have a focus alone, whose situation other faults would hide.
 */
import { seededRandom, type Random } from '../../src/runtime/index.ts'
import { between, pick, RECOVERED_MS, whole } from './draw.ts'
import type { Fault, Plan } from './plan.ts'
import { seedOf } from './process.ts'

const FOCUSED = 2 / 3
/** Of the other plans, the share with a focus alone. */
const ALONE_OF_OTHERS = 3 / 4
const MAX_SLOTS = 4
/** The longest time that a host is lost: its master counts as stopped, and others publish what it had. */
const HOST_LOST_MS = 45_000

/** Returns what a focus changes in a plan. Its `faults` are added to those of the plan. */
type Focus = (random: Random, plan: Plan) => Partial<Plan>

const workerOf = (random: Random, { workers }: Plan): string => `worker-${whole(random, 0, workers.length - 1)}`
/** A worker that takes tasks of a burst. */
const batchWorkerOf = (random: Random, { workers }: Plan): string =>
  pick(
    random,
    [...workers.keys()].filter((at) => workers[at] === 'short').map((at) => `worker-${at}`),
  )
const masterOf = (random: Random, { masters }: Plan): string => `master-${whole(random, 0, masters - 1)}`
const times = <T>(random: Random, [min, max]: readonly [number, number], make: () => T): readonly T[] =>
  Array.from({ length: whole(random, min, max) }, make)

/**
 * Drains whose message does not reach the worker, or that race with a reserve, also in the calm phase. A burst of tasks
 * makes the workers reserve shortly before.
 */
const drains: Focus = (random, plan) => {
  const drain = (atMs: number, beforeMs: number, socket?: 'cut' | 'silenced'): readonly Fault[] => [
    { atMs: Math.max(0, Math.round(atMs - beforeMs * random.unit())), kind: 'burst', count: 20 },
    { atMs, kind: 'drain', target: batchWorkerOf(random, plan), ownerPausedMs: 0, ...(socket && { socket }) },
  ]
  const faulty = times(random, [5, 10], () => {
    const atMs = whole(random, 5_000, plan.faultsMs)
    return drain(atMs, pick(random, [20, 300]), pick(random, ['cut', 'silenced', undefined]))
  })
  const calmFromMs = plan.faultsMs + RECOVERED_MS
  const calm = times(random, [4, 8], () => drain(whole(random, calmFromMs, calmFromMs + 10_000), 30))
  return { faults: [...faulty, ...calm].flat(), network: { ...plan.network, late: pick(random, [0, 0.3]) } }
}

/** The store loses changes shortly before the faults end, among them PATCHes that no later PATCH hides. */
const losses: Focus = (random, plan) => {
  const { faultsMs, masters } = plan
  const atMs = Math.round(faultsMs - between(random, 1_000, 10_000))
  const lostMs = Math.round(between(random, 500, 5_000))
  const isRestore = random.unit() < 0.5
  const outageMs = isRestore ? whole(random, 100, 3_000) : 0
  const loss: Fault = isRestore
    ? { atMs, kind: 'store_restore', ms: outageMs, lostMs: lostMs + outageMs }
    : { atMs, kind: 'store_failover', lostMs }
  const patches = plan.workers.flatMap((_, at): readonly Fault[] => {
    const target = `worker-${at}`
    const before = whole(random, 1, MAX_SLOTS)
    const after: Fault = {
      atMs: Math.round(atMs + outageMs + between(random, 50, 900)),
      kind: 'patch',
      target,
      slots: 1 + (before % MAX_SLOTS),
    }
    const lost: Fault = { atMs: Math.round(atMs - lostMs * random.unit()), kind: 'patch', target, slots: before }
    return !isRestore && random.unit() < 0.7 ? [lost, after] : [lost]
  })
  // A power cut takes the masters with it.
  const isPowerCut = random.unit() < 0.5
  const kills = Array.from({ length: isPowerCut ? masters : 0 }, (_, at): Fault => ({
    atMs,
    kind: 'kill',
    target: `master-${at}`,
    restartMs: whole(random, 10, 3_000),
  }))
  return { faults: [loss, ...patches, ...kills], quietFromMs: atMs }
}

/** Machines with a master and its workers are lost, in the calm phase too. One master at least remains. */
const hosts: Focus = (random, plan) => {
  const lose = (atMs: number): Fault => ({ atMs, kind: 'lose_host', target: masterOf(random, plan), ms: HOST_LOST_MS })
  if (plan.masters === 1) return {}
  const calmFromMs = plan.faultsMs + RECOVERED_MS
  return { faults: [lose(whole(random, 0, plan.faultsMs)), lose(whole(random, calmFromMs, calmFromMs + 5_000))] }
}

/** Changes of one thing in one moment: PATCHes of a worker, and submits under the same keys. */
const races: Focus = (random, plan) => ({
  faults: [
    ...times(random, [5, 15], (): Fault => ({
      atMs: whole(random, 2_000, plan.faultsMs),
      kind: 'patch',
      target: workerOf(random, plan),
      slots: whole(random, 1, MAX_SLOTS),
    })),
    ...times(random, [2, 5], (): Fault => ({ atMs: whole(random, 2_000, plan.faultsMs), kind: 'burst', count: 20 })),
  ],
})

/** Workers with several outcomes that they cannot deliver, and masters whose pushes wait for the store. */
const outages: Focus = (random, plan) => ({
  faults: times(random, [3, 6], (): Fault => {
    const atMs = whole(random, 5_000, plan.faultsMs)
    const ms = whole(random, 2_000, 15_000)
    const target = pick(random, [workerOf(random, plan), masterOf(random, plan)])
    return { atMs, kind: 'partition', target, other: target.startsWith('worker') ? '*' : 'store', ms, isOneWay: false }
  }),
})

/** Writes of the operator that arrive after it gave up on them. */
const lateWrites: Focus = (random, plan) => ({
  faults: times(random, [plan.operators > 0 ? 3 : 0, plan.operators > 0 ? 8 : 0], (): Fault => ({
    atMs: whole(random, 2_000, plan.faultsMs),
    kind: 'partition',
    target: `operator-${whole(random, 0, plan.operators - 1)}`,
    other: masterOf(random, plan),
    ms: whole(random, 9_000, 20_000),
    isOneWay: random.unit() < 0.5,
  })),
})

const FOCUSES: readonly Focus[] = [drains, losses, hosts, races, outages, lateWrites]

/** Drains that meet a reserve under way: messages are slow, but none is lost. */
const slowDrains: Focus = (random, plan) => ({
  ...drains(random, plan),
  network: { ...plan.network, maxDelayMs: 500, lost: 0, unanswered: 0, late: 0 },
})

/**
 * Drains whose acknowledgement overtakes the response to a reserve. Little work and a fast network let idle workers
 * reserve just before.
 */
const overtakingDrains: Focus = (random, plan) => ({
  masters: 2,
  submitEveryMs: 15_000,
  network: { ...plan.network, maxDelayMs: 2, lost: 0, unanswered: 0, late: 0, reservesHeld: 0.8 },
  faults: times(random, [10, 15], (): readonly Fault[] => {
    const atMs = whole(random, 5_000, plan.faultsMs)
    return [
      { atMs: atMs - whole(random, 10, 40), kind: 'burst', count: 20 },
      { atMs, kind: 'drain', target: batchWorkerOf(random, plan), ownerPausedMs: 0 },
    ]
  }).flat(),
})

/** The store loses PATCHes, and others get their generations in the next epoch. */
const repeatedGenerations: Focus = (random, plan) => {
  const atMs = Math.round(plan.faultsMs - between(random, 5_000, 10_000))
  const lostMs = whole(random, 1_000, 3_000)
  const patches = plan.workers.flatMap((_, at): readonly Fault[] => {
    const target = `worker-${at}`
    const slots = whole(random, 1, MAX_SLOTS)
    const beforeMs = whole(random, 300, lostMs - 100)
    return [
      { atMs: atMs - beforeMs, kind: 'patch', target, slots },
      { atMs: atMs + whole(random, 50, 300), kind: 'patch', target, slots: 1 + (slots % MAX_SLOTS) },
    ]
  })
  const network = { ...plan.network, maxDelayMs: 2, lost: 0, unanswered: 0, late: 0 }
  // The admins stop early, so that no PATCH of theirs comes between these.
  const quietFromMs = atMs - lostMs - 5_000
  return {
    faults: [...patches, { atMs, kind: 'store_failover', lostMs }],
    network,
    quietFromMs,
    operators: 0,
    declared: 0,
  }
}

const operatedLateWrites: Focus = (random, plan) => {
  const operated = { masters: Math.max(2, plan.masters), operators: whole(random, 1, 2), declared: 2 }
  return { ...operated, ...lateWrites(random, { ...plan, ...operated }) }
}

const ALONE: readonly Focus[] = [slowDrains, overtakingDrains, repeatedGenerations, operatedLateWrites]

export function withFocus(plan: Plan): Plan {
  const random = seededRandom(seedOf(plan.seed, 'focus'))
  const isAdded = random.unit() < FOCUSED
  if (!isAdded && random.unit() >= ALONE_OF_OTHERS) return plan
  const { faults = [], ...changed } = pick(random, isAdded ? FOCUSES : ALONE)(random, plan)
  const all = isAdded ? [...plan.faults, ...faults] : faults
  return { ...plan, ...changed, faults: all.toSorted((a, b) => a.atMs - b.atMs) }
}
