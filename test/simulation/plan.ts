/**
 * The plan of a run: everything that is decided before it starts. It is drawn from the seed, printed as JSON after a
 * failure, and can be edited and run again.
 */
import { seededRandom, type Random } from '../../src/runtime/index.ts'
import { between, pick, RECOVERED_MS, whole } from './draw.ts'
import { withFocus } from './focus.ts'
import { seedOf } from './process.ts'

export interface NetworkPlan {
  readonly minDelayMs: number
  readonly maxDelayMs: number
  /** The share of requests that are lost before they have an effect. */
  readonly lost: number
  /** The share of requests whose response is lost. */
  readonly unanswered: number
  /** The share of requests whose response is late. */
  readonly late: number
  /** The share of reserves whose response is late, so that others overtake it. */
  readonly reservesHeld: number
  /** The share of bus messages that are lost; others are late or doubled then. */
  readonly busLost: number
  /** The share that is still lost after all other faults ended. */
  readonly calmBusLost: number
}

/**
 * Producers of tasks with groups, unique keys, labels, delays, progress and retained outcomes; a client that cancels
 * some of them; and one that pauses their queues.
 */
export interface TaskControlPlan {
  /** Average times between two submits of a producer, two cancels and two pauses. */
  readonly submitEveryMs: number
  readonly cancelEveryMs: number
  readonly pauseEveryMs: number
  /** The groups that the type `grouped` declares. */
  readonly groups: {
    readonly maxInFlight?: number
    readonly rate?: { readonly tasks: number; readonly perSeconds: number; readonly burst: number }
  }
  /** The number of names that a group or a unique key is drawn from. */
  readonly names: number
}

/** Bounds of the masters, often tiny. */
interface SettingsPlan {
  readonly maxQueueLength: number
  readonly maxLostLeases: number
  readonly idempotencyTtlSeconds: number
  readonly submitRpsPerToken: number
  readonly maxBodyBytes: number
}

interface At {
  readonly atMs: number
}
interface Target extends At {
  /** The name of a process, as `master-0`, `worker-3` or `store`. */
  readonly target: string
}

/** One fault. */
export type Fault =
  | (Target & { readonly kind: 'kill' | 'terminate'; readonly restartMs: number })
  | (Target & { readonly kind: 'pause'; readonly ms: number })
  /** Each task of the process takes `taskMs` for `ms`. */
  | (Target & { readonly kind: 'slow_loop'; readonly ms: number; readonly taskMs: number })
  | (Target & { readonly kind: 'step_wall'; readonly ms: number })
  | (Target & { readonly kind: 'slew'; readonly rate: number })
  | (Target & { readonly kind: 'partition'; readonly other: string; readonly ms: number; readonly isOneWay: boolean })
  /** Frames of one side, or of both, are lost without a sign. */
  | (Target & { readonly kind: 'silence'; readonly side: 'worker' | 'master' | 'both' })
  /** The control connection of a worker is cut. */
  | (Target & { readonly kind: 'cut' })
  | (At & { readonly kind: 'slow_network'; readonly factor: number; readonly ms: number })
  | (At & { readonly kind: 'store_unavailable' | 'store_full'; readonly ms: number })
  | (At & { readonly kind: 'store_slow'; readonly ms: number; readonly callMs: number })
  /** The store loses everything and begins a new epoch. */
  | (At & { readonly kind: 'store_restart' })
  /** A replica takes over, and lacks the changes of the last `lostMs`. The epoch is new. */
  | (At & { readonly kind: 'store_failover'; readonly lostMs: number })
  /** The store is unavailable for `ms`, and is then as it was `lostMs` before. It does not notice that itself. */
  | (At & { readonly kind: 'store_restore'; readonly ms: number; readonly lostMs: number })
  | (At & { readonly kind: 'step_store'; readonly ms: number })
  /**
   * An admin drains a worker. The master that has its socket stands still for `ownerPausedMs` from then on. `socket`:
   * what happens to the control connection of the worker at that moment.
   */
  | (Target & { readonly kind: 'drain'; readonly ownerPausedMs: number; readonly socket?: 'cut' | 'silenced' })
  /** An admin deletes a worker. */
  | (Target & { readonly kind: 'forget' })
  /** Admins send three PATCHes of a worker in one moment, without If-Match; one of them changes its slots. */
  | (Target & { readonly kind: 'patch'; readonly slots: number })
  /** A master stops together with the workers that are connected to it, as a machine does. */
  | (Target & { readonly kind: 'lose_host'; readonly ms: number })
  /** The producers submit `count` tasks in one moment. */
  | (At & { readonly kind: 'burst'; readonly count: number })
  /** A plugin emits `count` outputs in one moment. */
  | (Target & { readonly kind: 'flood'; readonly count: number })
  | ApiFault

/** A fault of the API server of the cluster. */
type ApiFault =
  | (At & { readonly kind: 'api_unavailable' | 'api_throttled'; readonly ms: number })
  | (At & { readonly kind: 'api_watches_end'; readonly how: 'closed' | 'broken' })
  /** Watches from earlier versions fail with 410. */
  | (At & { readonly kind: 'api_compacted' })
  /** Lists and watches show the state of so many changes ago. */
  | (At & { readonly kind: 'api_stale'; readonly versions: number; readonly ms: number })

/** Kinds that only a focus draws. */
type FocusKind = 'patch' | 'lose_host'
type FleetFaultKind = Exclude<Fault['kind'], ApiFault['kind'] | FocusKind>

export interface Plan {
  readonly seed: number
  /** Time with faults, then time without. */
  readonly faultsMs: number
  readonly calmMs: number
  readonly masters: number
  /** The automation type of each worker. */
  readonly workers: readonly string[]
  /** Replicas of the operator: 0, 1 or 2. */
  readonly operators: number
  /** So many workers, the first ones, get their config from FleetWorkers. */
  readonly declared: number
  /** Average time between two submits of a producer. */
  readonly submitEveryMs: number
  /** From then on the admins change nothing, so that no later PATCH hides a lost one; null: they never stop. */
  readonly quietFromMs: number | null
  readonly settings: SettingsPlan
  readonly network: NetworkPlan
  /** `null`: all tasks are plain. Otherwise the last workers are of the type `grouped`. */
  readonly taskControl: TaskControlPlan | null
  /** By time. Those of the calm phase are ones that an undisturbed fleet has to cope with. */
  readonly faults: readonly Fault[]
}

const KINDS: readonly FleetFaultKind[] = [
  'kill',
  'terminate',
  'pause',
  'slow_loop',
  'step_wall',
  'slew',
  'partition',
  'silence',
  'cut',
  'slow_network',
  'store_unavailable',
  'store_full',
  'store_slow',
  'store_restart',
  'store_failover',
  'store_restore',
  'step_store',
  'drain',
  'forget',
  'burst',
  'flood',
]
/** Kinds that a run may have in its calm phase, at most one of them each. */
const CALM_KINDS: readonly FleetFaultKind[] = ['store_unavailable', 'drain', 'burst']
const API_KINDS: readonly ApiFault['kind'][] = [
  'api_unavailable',
  'api_throttled',
  'api_watches_end',
  'api_compacted',
  'api_stale',
]
const OPERATOR_KINDS = ['kill', 'terminate', 'pause', 'partition'] as const
type OperatorFaultKind = ApiFault['kind'] | (typeof OPERATOR_KINDS)[number]
/** The share of runs with an operator. */
const WITH_OPERATOR = 0.4
const MAX_DECLARED = 3
/** The share of runs with tasks that are more than plain. */
const WITH_TASK_CONTROL = 0.3
const MAX_GROUPED_WORKERS = 2
const TYPES = ['short', 'long', 'steady'] as const
/** Of each kind that a run enables, at most this many faults. */
const MAX_FAULTS_OF_KIND = 3
const ENABLED = 0.25
const MAX_CALM_OUTAGE_MS = 10_000
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** One seed of so many runs for 24 hours. */
const LONG_RUN_EVERY = 1_000

export interface Durations {
  readonly faultsMs?: number
  readonly calmMs?: number
}

/** Draws the plan of a seed. */
export function drawPlan(seed: number, durations: Durations = {}): Plan {
  const random = seededRandom(seedOf(seed, 'plan'))
  const isLong = seed % LONG_RUN_EVERY === LONG_RUN_EVERY - 1
  const { faultsMs = isLong ? DAY_MS : 60_000, calmMs = 120_000 } = durations
  const masters = whole(random, 1, 3)
  const workers = Array.from({ length: isLong ? 3 : whole(random, 2, 8) }, (_, at) => TYPES[at] ?? pick(random, TYPES))
  const settings: SettingsPlan = {
    maxQueueLength: pick(random, [20, 200, 10_000]),
    maxLostLeases: pick(random, [0, 1, 2, 10]),
    idempotencyTtlSeconds: pick(random, [2, 10, 60]),
    submitRpsPerToken: pick(random, [0, 0, 0, 2]),
    maxBodyBytes: pick(random, [1_024, 1_048_576, 1_048_576]),
  }
  const size = { masters, workers: workers.length, faultsMs }
  const enabled = KINDS.filter(() => random.unit() < ENABLED)
  const faults = enabled.flatMap((kind) =>
    Array.from({ length: whole(random, 1, MAX_FAULTS_OF_KIND) }, () => drawFault(random, kind, size)),
  )
  const calmFrom = faultsMs + RECOVERED_MS
  const calm = CALM_KINDS.filter(() => calmMs > RECOVERED_MS && random.unit() < ENABLED).map((kind): Fault => {
    const fault = drawFault(random, kind, size)
    const atMs = Math.round(between(random, calmFrom, calmFrom + 10_000))
    if (fault.kind === 'store_unavailable') return { ...fault, atMs, ms: Math.min(MAX_CALM_OUTAGE_MS, fault.ms) }
    return fault.kind === 'drain' ? { ...fault, atMs, ownerPausedMs: 0 } : { ...fault, atMs }
  })
  const plan: Plan = {
    seed,
    faultsMs,
    calmMs,
    masters,
    workers,
    operators: 0,
    declared: 0,
    submitEveryMs: isLong ? HOUR_MS / 4 : pick(random, [2_000, 5_000, 15_000]),
    quietFromMs: null,
    settings,
    network: drawNetwork(random),
    taskControl: null,
    faults: [...faults, ...calm].toSorted((a, b) => a.atMs - b.atMs),
  }
  return isLong ? plan : withTaskControl(withFocus(withOperator(plan)))
}

/** Adds an operator to a share of the plans. It has random numbers of its own, so the rest of a plan stays as it is. */
function withOperator(plan: Plan): Plan {
  const random = seededRandom(seedOf(plan.seed, 'operator plan'))
  if (random.unit() >= WITH_OPERATOR) return plan
  const operators = whole(random, 1, 2)
  const declared = whole(random, 1, Math.min(MAX_DECLARED, plan.workers.length))
  const kinds = [...API_KINDS, ...OPERATOR_KINDS].filter(() => random.unit() < ENABLED)
  const more = kinds.flatMap((kind) =>
    Array.from({ length: whole(random, 1, MAX_FAULTS_OF_KIND) }, () => drawOperatorFault(random, kind, plan)),
  )
  return { ...plan, operators, declared, faults: [...plan.faults, ...more].toSorted((a, b) => a.atMs - b.atMs) }
}

/** Adds task control and its workers to a share of the plans, with random numbers of its own. */
function withTaskControl(plan: Plan): Plan {
  const random = seededRandom(seedOf(plan.seed, 'task control plan'))
  if (random.unit() >= WITH_TASK_CONTROL) return plan
  const burst = whole(random, 1, 3)
  const rate = { tasks: whole(random, 1, 4), perSeconds: pick(random, [1, 4]), burst }
  const taskControl: TaskControlPlan = {
    submitEveryMs: pick(random, [1_000, 3_000]),
    cancelEveryMs: pick(random, [1_000, 4_000]),
    pauseEveryMs: pick(random, [10_000, 30_000]),
    groups: pick(random, [{ maxInFlight: 1 }, { maxInFlight: 2 }, { rate }, { maxInFlight: 2, rate }]),
    names: whole(random, 1, 4),
  }
  const added = whole(random, 1, MAX_GROUPED_WORKERS)
  const first = plan.workers.length
  const workers = [...plan.workers, ...Array.from({ length: added }, () => 'grouped')]
  const kinds = (['kill', 'pause', 'cut', 'drain'] as const).filter(() => random.unit() < ENABLED)
  const more = kinds.map((kind) => {
    const fault = drawFault(random, kind, { ...plan, workers: workers.length })
    return { ...fault, target: `worker-${whole(random, first, workers.length - 1)}` } as Fault
  })
  const faults = [...plan.faults, ...more].toSorted((a, b) => a.atMs - b.atMs)
  return { ...plan, workers, taskControl, faults }
}

function drawNetwork(random: Random): NetworkPlan {
  const isLossy = random.unit() < 0.5
  const share = (): number => (isLossy ? between(random, 0, 0.04) : 0)
  return {
    minDelayMs: 0.1,
    maxDelayMs: pick(random, [2, 20, 500]),
    lost: share(),
    unanswered: share(),
    late: share(),
    reservesHeld: 0,
    busLost: random.unit() < 0.3 ? 0.3 : 0,
    calmBusLost: random.unit() < 0.3 ? 1 : 0,
  }
}

interface Size {
  readonly masters: number
  readonly workers: number
  readonly faultsMs: number
}

function drawFault(random: Random, kind: FleetFaultKind, { masters, workers, faultsMs }: Size): Fault {
  const atMs = Math.round(between(random, 0, faultsMs))
  const master = `master-${whole(random, 0, masters - 1)}`
  const worker = `worker-${whole(random, 0, workers - 1)}`
  const target = random.unit() < 0.5 ? master : worker
  const ms = Math.round(between(random, 100, 20_000))
  switch (kind) {
    case 'kill':
    case 'terminate':
      return { atMs, kind, target, restartMs: Math.round(between(random, 10, 10_000)) }
    case 'pause':
      return { atMs, kind, target, ms: pick(random, [100, 5_000, ms, 9 * ms]) }
    case 'slow_loop':
      return { atMs, kind, target, ms, taskMs: pick(random, [1, 5, 20]) }
    case 'step_wall':
      return { atMs, kind, target, ms: pick(random, [-DAY_MS, -HOUR_MS, HOUR_MS, DAY_MS]) }
    case 'slew':
      return { atMs, kind, target, rate: pick(random, [1 - 1 / 2_048, 1 + 1 / 2_048]) }
    case 'partition': {
      const other = pick(random, ['store', '*', master === target ? worker : master])
      return { atMs, kind, target, other, ms, isOneWay: random.unit() < 0.5 }
    }
    case 'silence':
      return { atMs, kind, target: worker, side: pick(random, ['worker', 'master', 'both']) }
    case 'slow_network':
      return { atMs, kind, factor: pick(random, [10, 100]), ms }
    case 'store_unavailable':
    case 'store_full':
      return { atMs, kind, ms }
    case 'store_slow':
      return { atMs, kind, ms, callMs: pick(random, [5, 50, 400]) }
    case 'store_restart':
      return { atMs, kind }
    case 'store_failover':
      return { atMs, kind, lostMs: Math.round(between(random, 10, 5_000)) }
    case 'store_restore':
      return { atMs, kind, ms: Math.round(ms / 4), lostMs: ms }
    case 'step_store':
      return { atMs, kind, ms: pick(random, [-2_000, 1_000, 30_000]) }
    case 'drain':
      return { atMs, kind, target: worker, ownerPausedMs: pick(random, [0, 0, 3_000]) }
    case 'cut':
    case 'forget':
      return { atMs, kind, target: worker }
    case 'burst':
      return { atMs, kind, count: pick(random, [20, 60]) }
    case 'flood':
      return { atMs, kind, target: worker, count: pick(random, [100, 2_000]) }
  }
}

function drawOperatorFault(random: Random, kind: OperatorFaultKind, { faultsMs, masters }: Plan): Fault {
  const atMs = Math.round(between(random, 0, faultsMs))
  const target = `operator-${whole(random, 0, 1)}`
  const ms = Math.round(between(random, 100, 20_000))
  switch (kind) {
    case 'api_unavailable':
    case 'api_throttled':
      return { atMs, kind, ms }
    case 'api_watches_end':
      return { atMs, kind, how: pick(random, ['closed', 'broken']) }
    case 'api_compacted':
      return { atMs, kind }
    case 'api_stale':
      return { atMs, kind, versions: whole(random, 1, 30), ms }
    case 'kill':
    case 'terminate':
      return { atMs, kind, target, restartMs: Math.round(between(random, 10, 10_000)) }
    case 'pause':
      return { atMs, kind, target, ms }
    case 'partition': {
      const other = pick(random, ['api-server', `master-${whole(random, 0, masters - 1)}`, '*'])
      return { atMs, kind, target, other, ms, isOneWay: random.unit() < 0.5 }
    }
  }
}
