/** Tests the main use case end to end: the built command as separate processes, real HTTP targets, a SQLite file. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { eventually, SLACK } from '../kit/index.ts'
import { Fleet, type Proc } from './fleet.ts'

interface OutputEntry {
  readonly id: string
  readonly payload: { readonly task_id: string; readonly status: number; readonly target: string; readonly ok: boolean }
}
interface Worker {
  readonly state: string
  readonly connected: boolean
  readonly applied_config_gen: number | null
  readonly config_gen: number
  readonly current_stats: { readonly per_slot: readonly { slot_id: number; age_seconds: number }[] } | null
}

/** A real HTTP server that counts requests per path. It responds to paths under /hold only after `releaseHeld`. */
class Target {
  readonly hits = new Map<string, number>()
  held: ServerResponse[] = []
  #holding = true
  readonly #server: Server = createServer((request, response) => {
    const path = request.url ?? ''
    this.hits.set(path, (this.hits.get(path) ?? 0) + 1)
    if (path.startsWith('/hold') && this.#holding) this.held.push(response)
    else response.end('done')
  })

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }
  get port(): number {
    return (this.#server.address() as { port: number }).port
  }
  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }
  releaseHeld(): void {
    this.#holding = false
    for (const response of this.held) response.end('done')
  }
  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

const worlds: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const part of worlds.splice(0).toReversed()) await part.stop()
})

async function fixture(): Promise<{ fleet: Fleet; target: Target; master: Proc; allowed: object }> {
  const target = await new Target().start()
  const fleet = new Fleet()
  worlds.push(target, fleet)
  const master = await fleet.startMaster()
  return { fleet, target, master, allowed: { allow_cidrs: ['127.0.0.0/8'], allow_ports: [target.port] } }
}

const REQUESTS = '/automations/http-request'
const PROBES = '/automations/http-probe'

async function submit(fleet: Fleet, urls: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (let from = 0; from < urls.length; from += 100) {
    const tasks = urls.slice(from, from + 100).map((url) => ({ payload: { url } }))
    const { results } = await fleet.ok<{ results: { task_id: string; queued: boolean }[] }>(
      'POST',
      `${REQUESTS}/tasks/batch`,
      { tasks },
    )
    expect(results.every(({ queued }) => queued)).toBe(true)
    ids.push(...results.map(({ task_id }) => task_id))
  }
  return ids
}

const lengthOf = async (fleet: Fleet, automation: string): Promise<number> =>
  (await fleet.ok<{ length: number }>('GET', `${automation}/output/length`)).length
const pop = (fleet: Fleet, automation: string): Promise<OutputEntry[]> =>
  fleet.ok<OutputEntry[]>('POST', `${automation}/output/pop`, { n: 10_000 })
const worker = (fleet: Fleet, path: string): Promise<Worker> => fleet.ok<Worker>('GET', path)

describe('a fleet of processes', () => {
  it('probes a real server and runs 10,000 tasks exactly once, each with its output (G1, G2)', async () => {
    const { fleet, target, allowed } = await fixture()
    fleet.startWorker('http-probe', 'p-1')
    fleet.startWorker('http-request', 'r-1')
    fleet.startWorker('http-request', 'r-2')
    await fleet.configure('http-probe', 'p-1', {
      enabled: true,
      interval_seconds: 1,
      targets: [{ name: 'target', url: `${target.url}/probe` }],
      ...allowed,
    })
    for (const id of ['r-1', 'r-2']) await fleet.configure('http-request', id, { enabled: true, slots: 32, ...allowed })

    const ids = await submit(
      fleet,
      Array.from({ length: 10_000 }, (_, index) => `${target.url}/task/${index}`),
    )
    await eventually('every task has its output', async () => (await lengthOf(fleet, REQUESTS)) >= 10_000, {
      context: () => `${target.hits.size} paths hit`,
      withinMs: 120_000,
    })

    const entries = await pop(fleet, REQUESTS)
    expect(new Set(entries.map(({ payload }) => payload.task_id))).toEqual(new Set(ids))
    expect(entries).toHaveLength(10_000)
    target.hits.delete('/probe')
    expect(target.hits.size).toBe(10_000)
    expect([...target.hits.values()].every((hits) => hits === 1)).toBe(true)
    await eventually(
      'the queue is empty',
      async () => (await fleet.ok<{ length: number }>('GET', `${REQUESTS}/queue`)).length === 0,
    )
    const [probe] = await fleet.ok<OutputEntry[]>('GET', `${PROBES}/output/peek?n=1`)
    expect(probe?.payload).toMatchObject({ target: 'target', ok: true, status: 200 })
  }, 180_000)

  it('runs the tasks of a killed worker on another one (G1)', async () => {
    const { fleet, target, allowed } = await fixture()
    const doomed = fleet.startWorker('http-request', 'doomed')
    await fleet.configure('http-request', 'doomed', { enabled: true, slots: 5, ...allowed })
    const ids = await submit(
      fleet,
      Array.from({ length: 5 }, (_, index) => `${target.url}/hold/${index}`),
    )
    await eventually('all five are running', async () => target.held.length === 5)

    doomed.child.kill('SIGKILL')
    await doomed.exited
    target.releaseHeld()
    fleet.startWorker('http-request', 'heir')
    await fleet.configure('http-request', 'heir', { enabled: true, slots: 5, ...allowed })

    // The tasks are leased again after one visibility timeout (60 s) and a sweep (10 s).
    await eventually('the other worker has done the tasks', async () => (await lengthOf(fleet, REQUESTS)) === 5, {
      withinMs: 90_000,
    })
    expect((await pop(fleet, REQUESTS)).map(({ payload }) => payload.task_id).toSorted()).toEqual(ids.toSorted())
  }, 150_000)

  it('applies a config PATCH in under a second without disturbing running slots (D15)', async () => {
    const { fleet, target, allowed } = await fixture()
    fleet.startWorker('http-request', 'r-1')
    const path = `${REQUESTS}/workers/r-1`
    await fleet.configure('http-request', 'r-1', { enabled: true, slots: 2, ...allowed })
    await submit(fleet, [`${target.url}/hold/a`, `${target.url}/hold/b`])
    await eventually('both slots are busy', async () => target.held.length === 2)

    const gen = await fleet.configure('http-request', 'r-1', { slots: 4 })
    const saved = performance.now()
    await eventually('the config is applied', async () => (await worker(fleet, path)).applied_config_gen === gen, {
      withinMs: 1_000 * SLACK,
    })
    expect(performance.now() - saved).toBeLessThan(1_000 * SLACK)

    await submit(fleet, [`${target.url}/hold/c`, `${target.url}/hold/d`])
    await eventually('the new slots are busy too', async () => target.held.length === 4)
    target.releaseHeld()
    await eventually('all four are done', async () => (await lengthOf(fleet, REQUESTS)) === 4)
    expect([...target.hits.values()]).toEqual([1, 1, 1, 1])
  }, 60_000)

  it('drains a worker: it finishes running tasks, takes no new one, and exits with 0 (G14)', async () => {
    const { fleet, target, allowed } = await fixture()
    const leaving = fleet.startWorker('http-request', 'r-1')
    await fleet.configure('http-request', 'r-1', { enabled: true, slots: 1, ...allowed })
    const [running] = await submit(fleet, [`${target.url}/hold/1`])
    await eventually('the task runs', async () => target.held.length === 1)

    await fleet.ok('POST', `${REQUESTS}/workers/r-1/drain`)
    expect(await worker(fleet, `${REQUESTS}/workers/r-1`)).toMatchObject({ state: 'DRAINING' })
    await submit(fleet, [`${target.url}/later`])
    target.releaseHeld()

    expect(await leaving.exited).toBe(0)
    expect((await pop(fleet, REQUESTS)).map(({ payload }) => payload.task_id)).toEqual([running])
    expect(await fleet.ok('GET', `${REQUESTS}/queue`)).toMatchObject({ length: 1 })
    expect(target.hits.has('/later')).toBe(false)
  }, 60_000)

  it('loses no task when the master is killed and restarted, and its workers reconnect (G1)', async () => {
    const { fleet, target, master, allowed } = await fixture()
    fleet.startWorker('http-request', 'r-1')
    await fleet.configure('http-request', 'r-1', { enabled: true, slots: 8, ...allowed })
    const acknowledged: string[] = []
    const submitting = (async () => {
      for (let index = 0; ; index += 1) {
        const answer = await fleet
          .call<{ task_id: string }>('POST', `${REQUESTS}/tasks`, { payload: { url: `${target.url}/task/${index}` } })
          .catch(() => null)
        if (answer === null) return
        if (answer.status === 200) acknowledged.push(answer.body.task_id)
      }
    })()
    await eventually('some hundred tasks are acknowledged', async () => acknowledged.length > 300)
    master.child.kill('SIGKILL')
    await Promise.all([master.exited, submitting])

    await fleet.startMaster()
    await eventually(
      'the worker is connected again',
      async () => (await worker(fleet, `${REQUESTS}/workers/r-1`)).connected,
      { withinMs: 60_000 },
    )
    await eventually(
      'every acknowledged task has left the queue',
      async () => {
        for (const id of acknowledged)
          if ((await fleet.call('GET', `${REQUESTS}/tasks/${id}`)).status !== 404) return false
        return true
      },
      { withinMs: 90_000 },
    )
    expect(target.hits.size).toBeGreaterThanOrEqual(acknowledged.length)
    expect(await fleet.ok('GET', `${REQUESTS}/dead`)).toMatchObject({ length: 0 })
  }, 180_000)
})
