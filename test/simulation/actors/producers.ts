/**
 * Runs two producers. Each submits tasks, some with ids of its own and some under keys that both use, and repeats a
 * submit whose outcome is unknown. A few payloads are poison: invalid ones, and ones that let the plugin fail or hang.
 */
import type { TaskBody } from '../../../src/protocol/index.ts'
import type { SimProcess } from '../process.ts'
import type { Environment, StartActor } from '../environment.ts'

type SimTasks = ReturnType<Environment['client']>['tasks']

const MAX_ATTEMPTS = 3
const KEYS = 20
const MAX_BATCH = 4
/** So many tasks of a burst share one request. */
const BURST_BATCH = 50

export const startProducers: StartActor = (environment) => {
  const producers = ['producer-0', 'producer-1'].map((name) => new Producer(environment, name))
  environment.burst = (count) => producers.forEach((producer) => producer.burst(count / producers.length))
}

/** Submits tasks, a few times while the outcome is unknown. */
export async function submitRepeatedly(
  process: SimProcess,
  tasks: SimTasks,
  type: string,
  batch: readonly TaskBody[],
): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    try {
      const [first] = batch
      if (batch.length === 1 && first !== undefined) await tasks.submit(type, first)
      else await tasks.submitBatch(type, batch)
      return
    } catch {
      await process.sleep(1_000 * process.random.unit())
    }
  }
}

class Producer {
  readonly #environment: Environment
  readonly #process: SimProcess
  readonly #tasks: SimTasks
  #made = 0

  constructor(environment: Environment, name: string) {
    this.#environment = environment
    this.#process = environment.createProcess(name)
    this.#tasks = environment.client(this.#process).tasks
    this.#scheduleNext()
  }

  burst(count: number): void {
    for (let left = count; left > 0; left -= BURST_BATCH) void this.#submit('short', Math.min(left, BURST_BATCH))
  }

  #scheduleNext(): void {
    this.#process.after(-Math.log(1 - this.#unit()) * this.#environment.plan.submitEveryMs, () => {
      const type = this.#unit() < 0.7 ? 'short' : 'long'
      void this.#submit(type, this.#whole(1, MAX_BATCH))
      this.#scheduleNext()
    })
  }

  #submit(type: string, count: number): Promise<void> {
    const batch = Array.from({ length: count }, () => this.#task())
    return submitRepeatedly(this.#process, this.#tasks, type, batch)
  }

  #task(): TaskBody {
    this.#made += 1
    return {
      payload: this.#payload(),
      priority: this.#whole(-1, 1),
      ...(this.#unit() < 0.7 && { task_id: `${this.#process.name}-${this.#made}` }),
      ...(this.#unit() < 0.2 && { idempotency_key: `key-${this.#whole(1, KEYS)}` }),
    }
  }

  #payload(): TaskBody['payload'] {
    const drawn = this.#unit()
    const ms = this.#whole(20, 2_000)
    if (drawn < 0.02) return { ms: 'soon' }
    if (drawn < 0.04) return { ms, failures: 0, poison: 'permanent' }
    if (drawn < 0.06) return { ms, failures: 0, poison: 'text' }
    if (drawn < 0.07) return { ms, failures: 0, poison: 'hang' }
    return { ms, failures: drawn < 0.15 ? this.#whole(1, 20) : 0 }
  }

  #unit(): number {
    return this.#process.random.unit()
  }

  #whole(min: number, max: number): number {
    return min + Math.floor(this.#unit() * (max - min + 1))
  }
}
