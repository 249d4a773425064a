/**
 * Shrinks a failing plan to the part that still fails: first its faults (delta debugging, Zeller 2002), then masters
 * and workers, then the workload and the network, then the time. A plan fails if it violates the same invariant.
 */
import type { NetworkPlan, Plan } from './plan.ts'

export interface ShrinkOptions {
  /** Runs a plan. @returns whether it fails in the same way. */
  readonly fails: (plan: Plan) => Promise<boolean>
  readonly maxRuns: number
  /** Whether the time for shrinking has passed. */
  readonly isOver: () => boolean
}

export interface Shrunk {
  /** The smallest plan that failed. */
  readonly plan: Plan
  /** The number of plans that ran. */
  readonly runs: number
}

/** Once the rest of a plan is small, its last fault is followed by this much time in the first phase. */
const AFTER_LAST_FAULT_MS = 1_000
const MIN_MS = 1_000
const MAX_SUBMIT_EVERY_MS = 30_000

/** Shrinks `plan`, which fails. */
export async function shrink(plan: Plan, options: ShrinkOptions): Promise<Shrunk> {
  const search = new Shrinking(plan, options)
  await search.dropFaults()
  await search.repeat(fewerActors)
  await search.repeat(lessWork)
  await search.repeat(lessTime)
  await search.dropFaults() // Faults may be needless in a smaller plan.
  return { plan: search.plan, runs: search.runs }
}

class Shrinking {
  plan: Plan
  runs = 0
  readonly #options: ShrinkOptions

  constructor(plan: Plan, options: ShrinkOptions) {
    this.plan = plan
    this.#options = options
  }

  get #isOver(): boolean {
    return this.runs >= this.#options.maxRuns || this.#options.isOver()
  }

  /** Runs `smaller`, and keeps it if it fails. */
  async #keeps(smaller: Plan): Promise<boolean> {
    this.runs += 1
    if (!(await this.#options.fails(smaller))) return false
    this.plan = smaller
    return true
  }

  /** Removes faults in chunks: all of them, halves, quarters, and finally single ones. */
  async dropFaults(): Promise<void> {
    for (let size = this.plan.faults.length; size >= 1; size = Math.floor(size / 2))
      for (let from = 0; from < this.plan.faults.length && !this.#isOver;) {
        const faults = this.plan.faults.toSpliced(from, size)
        if (!(await this.#keeps({ ...this.plan, faults }))) from += size
      }
  }

  /** Applies `steps` until none of them gives a smaller plan that fails. */
  async repeat(steps: (plan: Plan) => readonly Partial<Plan>[]): Promise<void> {
    for (let hasShrunk = true; hasShrunk;) {
      hasShrunk = false
      for (const step of steps(this.plan)) {
        if (this.#isOver) return
        if (await this.#keeps({ ...this.plan, ...step })) {
          hasShrunk = true
          break
        }
      }
    }
  }
}

/** Workers are numbered, so those at the end go first: the others keep their names. */
function fewerActors({ masters, workers, operators, declared }: Plan): readonly Partial<Plan>[] {
  const cluster = [
    ...(operators > 0 ? [{ operators: 0, declared: 0 }] : []),
    ...(operators > 1 ? [{ operators: 1 }] : []),
    ...(declared > 1 ? [{ declared: 1 }] : []),
  ]
  const first = (count: number): Partial<Plan> => ({
    workers: workers.slice(0, count),
    declared: Math.min(declared, count), // A FleetWorker of a removed worker would have no type.
  })
  const halves = workers.length > 3 ? [first(Math.ceil(workers.length / 2))] : []
  const lessOne = workers.length > 1 ? [first(workers.length - 1)] : []
  return [...cluster, ...(masters > 1 ? [{ masters: 1 }, { masters: masters - 1 }] : []), ...halves, ...lessOne]
}

function lessWork({ submitEveryMs, network, taskControl, workers, declared }: Plan): readonly Partial<Plan>[] {
  const calmer = Object.entries({ lost: 0, unanswered: 0, busLost: 0, maxDelayMs: 2 } satisfies Partial<NetworkPlan>)
    .filter(([name, value]) => network[name as keyof NetworkPlan] > value)
    .map(([name, value]) => ({ network: { ...network, [name]: value } }))
  const rarer = submitEveryMs < MAX_SUBMIT_EVERY_MS ? [{ submitEveryMs: submitEveryMs * 3 }] : []
  const plain = workers.filter((type) => type !== 'grouped')
  const withoutControl = { taskControl: null, workers: plain, declared: Math.min(declared, plain.length) }
  return [...(taskControl === null ? [] : [withoutControl]), ...rarer, ...calmer]
}

function lessTime({ faults, faultsMs, calmMs }: Plan): readonly Partial<Plan>[] {
  const lastMs = (faults.at(-1)?.atMs ?? 0) + AFTER_LAST_FAULT_MS
  const calm = [0, Math.floor(calmMs / 2)].filter((ms) => ms < calmMs && (ms === 0 || ms >= MIN_MS))
  const early = [lastMs, Math.floor((faultsMs + lastMs) / 2)].filter((ms) => faultsMs - ms >= MIN_MS)
  return [...calm.map((ms) => ({ calmMs: ms })), ...early.map((ms) => ({ faultsMs: ms }))]
}
