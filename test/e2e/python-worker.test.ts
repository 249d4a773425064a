/**
 * Tests the worker of clients/python as a process, against real masters. Each scenario runs on all stores at the same
 * time: SQLite, and Redis where it is installed.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { eventually } from '../kit/index.ts'
import { PYTHON, PYTHON_ENVIRONMENT, withPythonClient } from '../kit/python-client.ts'
import { REDIS_SERVER, startRedis, type RedisServer } from '../kit/redis-server.ts'
import { Fleet, type Proc } from './fleet.ts'

const AUTOMATIONS = { SVC_AUTOMATIONS: join(process.cwd(), 'test/e2e/automations/python.mjs') }
const PROGRAM = join(process.cwd(), 'test/e2e/python/worker.py')

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
class Fixture {
  readonly store: string
  readonly fleet: Fleet

  constructor(store: string, backendUrl?: string) {
    this.store = store
    this.fleet = new Fleet(backendUrl)
  }

  /** Starts a worker. Its config is enabled with `slots` slots. */
  async worker(type: string, id: string, slots = 1, settings: Readonly<Record<string, string>> = {}): Promise<Proc> {
    const worker = this.fleet.startForeignWorker([PYTHON, PROGRAM], type, id, {
      ...PYTHON_ENVIRONMENT,
      FOLDER: this.fleet.directory,
      ...settings,
    })
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

  async queued(type: string): Promise<number> {
    return (await this.fleet.ok<{ length: number }>('GET', `/automations/${type}/queue`)).length
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

  /** Ends a worker as an orchestrator does. @returns its exit code. */
  async terminate(worker: Proc): Promise<number | null> {
    worker.child.kill('SIGTERM')
    return worker.exited
  }
}

withPythonClient('a Python worker', () => {
  describe('a Python worker', () => {
    const fixtures: Fixture[] = []
    let redis: RedisServer | undefined

    beforeAll(async () => {
      fixtures.push(new Fixture('sqlite'))
      if (REDIS_SERVER !== undefined) {
        redis = await startRedis({ appendfsync: 'everysec' })
        fixtures.push(new Fixture('redis', redis.url))
      }
      await Promise.all(fixtures.map(({ fleet }) => fleet.startMaster(AUTOMATIONS)))
    }, 60_000)
    afterAll(async () => {
      await Promise.all(fixtures.map(({ fleet }) => fleet.stop()))
      await redis?.close()
    })

    if (REDIS_SERVER === undefined) it.skip('redis-server is not installed', () => undefined)

    /** Defines a test that runs a scenario on every store. */
    function onEveryStore(title: string, scenario: (fixture: Fixture) => Promise<void>, withinMs = 60_000): void {
      it(title, async () => void (await Promise.all(fixtures.map(scenario))), withinMs)
    }

    onEveryStore('runs tasks, acknowledges them, and keeps its outputs in order (G1, G10)', async (fixture) => {
      const worker = await fixture.worker('py', 'runs', 2)
      const ids = await fixture.submit('py', [
        { do: 'emit', n: 1_500 },
        { do: 'emit', n: 1_500 },
      ])
      const outputs = await fixture.outputs('py', 3_000, worker)
      for (const id of ids)
        expect(outputs.filter(({ task_id }) => task_id === id).map(({ n }) => n)).toEqual(
          Array.from({ length: 1_500 }, (_, n) => n),
        )
      await fixture.isDone('py', ids, worker)
      expect(await fixture.record('py', 'runs')).toMatchObject({ connected: true, state: 'RUNNING', last_error: null })
      expect(await fixture.terminate(worker)).toBe(0)
    })
  })
})
