/**
 * The plan of a run: everything that is decided before it starts. It is drawn from the seed, printed as JSON after a
 * failure, and can be edited and run again.
 */
import { seededRandom, type Random } from '../../src/runtime/index.ts'
import { seedOf } from './process.ts'

export interface NetworkPlan {
  readonly minDelayMs: number
  readonly maxDelayMs: number
  /** The share of requests that are lost before they have an effect. */
  readonly lost: number
  /** The share of requests whose response is lost. */
  readonly unanswered: number
  /** The share of bus messages that are lost. */
  readonly busLost: number
}

/** One fault. `target` is the name of a process, as `master-0`, `worker-3` or `store`. */
export type Fault =
  | { readonly atMs: number; readonly kind: 'kill'; readonly target: string; readonly restartMs: number }
  | { readonly atMs: number; readonly kind: 'terminate'; readonly target: string; readonly restartMs: number }
  | { readonly atMs: number; readonly kind: 'pause'; readonly target: string; readonly ms: number }
  | { readonly atMs: number; readonly kind: 'step_wall'; readonly target: string; readonly ms: number }
  | {
      readonly atMs: number
      readonly kind: 'partition'
      readonly target: string
      readonly other: string
      readonly ms: number
    }
  | {
      readonly atMs: number
      readonly kind: 'silence'
      readonly target: string
      readonly side: 'worker' | 'master' | 'both'
    }
  | { readonly atMs: number; readonly kind: 'slow_network'; readonly factor: number; readonly ms: number }
  | { readonly atMs: number; readonly kind: 'store_unavailable'; readonly ms: number }
  /** The store loses everything and begins a new epoch. */
  | { readonly atMs: number; readonly kind: 'store_restart' }
  | { readonly atMs: number; readonly kind: 'drain'; readonly target: string }

export interface Plan {
  readonly seed: number
  /** Time with faults, then time without. */
  readonly faultsMs: number
  readonly calmMs: number
  readonly masters: number
  /** The automation type of each worker. */
  readonly workers: readonly string[]
  /** Average time between two submits of a producer. */
  readonly submitEveryMs: number
  readonly network: NetworkPlan
  readonly faults: readonly Fault[]
}

const KINDS: readonly Fault['kind'][] = [
  'kill',
  'terminate',
  'pause',
  'step_wall',
  'partition',
  'silence',
  'slow_network',
  'store_unavailable',
  'store_restart',
  'drain',
]
const TYPES = ['short', 'long', 'steady'] as const
/** Of each kind that a run enables, at most this many faults. */
const MAX_FAULTS_OF_KIND = 3

const between = (random: Random, min: number, max: number): number => min + (max - min) * random.unit()
const whole = (random: Random, min: number, max: number): number => Math.floor(between(random, min, max + 1))
const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.unit() * from.length)] as T

/** Draws the plan of a seed. */
export function drawPlan(seed: number, { faultsMs = 40_000, calmMs = 20_000 } = {}): Plan {
  const random = seededRandom(seedOf(seed, 'plan'))
  const masters = whole(random, 1, 3)
  const workers = Array.from({ length: whole(random, 2, 8) }, (_, at) => TYPES[at % 3] ?? pick(random, TYPES))
  const isLossy = random.unit() < 0.5
  const network: NetworkPlan = {
    minDelayMs: 0.1,
    maxDelayMs: pick(random, [2, 20, 500]),
    lost: isLossy ? between(random, 0, 0.05) : 0,
    unanswered: isLossy ? between(random, 0, 0.05) : 0,
    busLost: random.unit() < 0.3 ? 0.3 : 0,
  }
  const enabled = KINDS.filter(() => random.unit() < 0.35)
  const size = { masters, workers: workers.length, faultsMs }
  const faults = enabled
    .flatMap((kind) =>
      Array.from({ length: whole(random, 1, MAX_FAULTS_OF_KIND) }, () => drawFault(random, kind, size)),
    )
    .toSorted((a, b) => a.atMs - b.atMs)
  const submitEveryMs = pick(random, [300, 1_000, 3_000])
  return { seed, faultsMs, calmMs, masters, workers, submitEveryMs, network, faults }
}

interface Size {
  readonly masters: number
  readonly workers: number
  readonly faultsMs: number
}

function drawFault(random: Random, kind: Fault['kind'], { masters, workers, faultsMs }: Size): Fault {
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
      return { atMs, kind, target, ms }
    case 'step_wall':
      return { atMs, kind, target, ms: pick(random, [-86_400_000, -3_600_000, 3_600_000, 86_400_000]) }
    case 'partition':
      return { atMs, kind, target, other: pick(random, ['store', '*', master === target ? worker : master]), ms }
    case 'silence':
      return { atMs, kind, target: worker, side: pick(random, ['worker', 'master', 'both']) }
    case 'slow_network':
      return { atMs, kind, factor: pick(random, [10, 100]), ms }
    case 'store_unavailable':
      return { atMs, kind, ms }
    case 'store_restart':
      return { atMs, kind }
    case 'drain':
      return { atMs, kind, target: worker }
  }
}
