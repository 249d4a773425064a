/**
 * One round of the autoscaling test: tasks arrive while there are no pods, pods are added, the tasks end, and the pods
 * are removed. Measures the round, and notes each pod that was removed while its worker held a task.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { seededRandom } from '../../../src/runtime/index.ts'
import { eventually } from '../../kit/index.ts'
import { PodWatch } from './pods.ts'
import { SELECTOR, type ScaledRelease, type RunEvent, type TimedTask } from './scaled-release.ts'

const SHORTEST_MS = 500
const LONGEST_MS = 20_000
const ENDS_WITHIN_MS = 240_000

export interface Round {
  /** From the submit to the begin of the first task. */
  readonly firstMs: number
  /** From the submit to the end of the last task. */
  readonly tasksMs: number
  /** From the submit until no pod is left. */
  readonly roundMs: number
  readonly largest: number
  readonly events: readonly RunEvent[]
}

/** Tasks of 0.5 to 20 s, most of them short. */
export function tasksOf(round: string, count: number, seed: number): readonly TimedTask[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, (_, index) => ({
    task_id: `${round}-${index}`,
    payload: { ms: Math.round(SHORTEST_MS * (LONGEST_MS / SHORTEST_MS) ** random.unit()) },
  }))
}

export class Rounds {
  readonly #release: ScaledRelease
  readonly #pods: PodWatch
  /** Pods that were removed while their workers held tasks. */
  readonly interrupted: string[] = []
  #removed = 0
  #looks: Promise<unknown>[] = []

  constructor(release: ScaledRelease) {
    this.#release = release
    this.#pods = new PodWatch(release.place, SELECTOR, (pod) => void this.#looks.push(this.#look(pod)))
  }

  async #look(pod: string): Promise<void> {
    this.#removed += 1
    const held = await this.#release.heldBy(pod)
    if (held > 0) this.interrupted.push(`${pod} held ${held}`)
  }

  get removed(): number {
    return this.#removed
  }

  get podCount(): number {
    if (!this.#pods.isOpen) throw new Error('the watch of the pods has ended')
    return this.#pods.count
  }

  async run(tasks: readonly TimedTask[]): Promise<Round> {
    this.#pods.takeLargest()
    const beganMs = Date.now()
    await this.#release.submit(tasks)
    const events = await this.#release.runs(tasks.length, ENDS_WITHIN_MS)
    const tasksMs = Date.now() - beganMs
    await this.scaledToZero()
    const firstMs = Math.min(...events.map((event) => event.began_ms)) - beganMs
    return { firstMs, tasksMs, roundMs: Date.now() - beganMs, largest: this.#pods.takeLargest(), events }
  }

  async scaledToZero(): Promise<void> {
    const isDone = async (): Promise<boolean> => this.podCount === 0 && (await this.#release.replicas()) === 0
    await eventually('there are no pods', isDone, { withinMs: ENDS_WITHIN_MS })
    await Promise.all(this.#looks.splice(0))
  }

  /** @returns the lowest number of replicas of the workload in this time. */
  async lowestReplicas(forMs: number): Promise<number> {
    let lowest = Infinity
    for (const endMs = Date.now() + forMs; Date.now() < endMs; await pause(1_000))
      lowest = Math.min(lowest, await this.#release.replicas())
    return lowest
  }

  close(): void {
    this.#pods.close()
  }
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

export const described = (name: string, { firstMs, largest, roundMs, tasksMs }: Round): string =>
  `${name}: 0 → ${largest} → 0 pods; first task after ${seconds(firstMs)} s, last ended after ${seconds(tasksMs)} s, ` +
  `no pod after ${seconds(roundMs)} s`
