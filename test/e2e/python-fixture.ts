/** A master on one store, and workers of clients/python as processes. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { killAll } from '../kit/built-command.ts'
import { eventually } from '../kit/index.ts'
import { PYTHON, PYTHON_ENVIRONMENT } from '../kit/python-client.ts'
import { Fleet, type Proc } from './fleet.ts'

export const PROGRAM = join(process.cwd(), 'test/e2e/python/worker.py')

interface Payload {
  readonly do: string
  readonly name?: string
  readonly n?: number
}
interface WorkerRecord {
  readonly state: string
  readonly connected: boolean
  readonly applied_config_gen: number | null
  readonly last_error: string | null
}

/** One store with its master. */
export class PythonFixture {
  readonly store: string
  readonly fleet: Fleet
  readonly #workers: Proc[] = []

  constructor(store: string, backendUrl?: string) {
    this.store = store
    this.fleet = new Fleet(backendUrl)
  }

  /** Starts a worker. Its config is enabled with `slots` slots. */
  async worker(
    type: string,
    id: string,
    slots = 1,
    settings: Readonly<Record<string, string>> = {},
    program = PROGRAM,
  ): Promise<Proc> {
    const worker = this.fleet.startForeignWorker([PYTHON, program], type, id, {
      ...PYTHON_ENVIRONMENT,
      FOLDER: this.fleet.directory,
      ...settings,
    })
    this.#workers.push(worker)
    await this.fleet.configure(type, id, { enabled: true, slots }).catch((error: unknown) => {
      throw new Error(`${this.store}: ${String(error)}\n${worker.output()}`)
    })
    return worker
  }

  async submit(type: string, payloads: readonly Payload[], more: object = {}): Promise<string[]> {
    const tasks = payloads.map((payload) => ({ payload, ...more }))
    const { results } = await this.fleet.ok<{ results: { task_id: string }[] }>(
      'POST',
      `/automations/${type}/tasks/batch`,
      { tasks },
    )
    return results.map(({ task_id }) => task_id)
  }

  /** Pops outputs until `count` have arrived. */
  async outputs(type: string, count: number, proc: Proc, withinMs?: number): Promise<Record<string, unknown>[]> {
    const found: Record<string, unknown>[] = []
    await eventually(
      `${this.store}: ${count} outputs have arrived`,
      async () => {
        const popped = await this.fleet.ok<{ payload: Record<string, unknown> }[]>(
          'POST',
          `/automations/${type}/output/pop`,
          { n: 10_000 },
        )
        found.push(...popped.map(({ payload }) => payload))
        return found.length >= count
      },
      { context: () => `${JSON.stringify(found).slice(0, 500)}\n${proc.output()}`, ...(withinMs && { withinMs }) },
    )
    return found
  }

  record(type: string, id: string): Promise<WorkerRecord> {
    return this.fleet.ok('GET', `/automations/${type}/workers/${id}`)
  }

  async length(path: string): Promise<number> {
    return (await this.fleet.ok<{ length: number }>('GET', path)).length
  }

  /** Waits until no task is pending, leased or scheduled. */
  async isDone(type: string, ids: readonly string[], proc: Proc): Promise<void> {
    await eventually(
      `${this.store}: all tasks are settled`,
      async () => {
        const found = await Promise.all(ids.map((id) => this.fleet.call('GET', `/automations/${type}/tasks/${id}`)))
        return found.every(({ status }) => status === 404)
      },
      { context: proc.output },
    )
  }

  file(name: string): string {
    return join(this.fleet.directory, name)
  }

  async exists(name: string, proc: Proc): Promise<void> {
    await eventually(`${this.store}: ${name} exists`, () => existsSync(this.file(name)), { context: proc.output })
  }

  /** Ends the workers that a failed test left, so that they take no tasks of the next one. */
  killWorkers(): Promise<void> {
    return killAll(this.#workers.splice(0))
  }

  /** Ends a worker as an orchestrator does. @returns its exit code. */
  async terminate(worker: Proc): Promise<number | null> {
    worker.child.kill('SIGTERM')
    return worker.exited
  }
}
