/**
 * @module test/e2e/masters
 * Runs several masters of the built command on one private Redis, with a {@link Fleet} for each: its REST client, and
 * its address for workers. All workers write their notes to one file.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startRedis, type RedisServer } from '../kit/redis-server.ts'
import { Fleet, type Proc } from './fleet.ts'
import { eventually } from '../kit/index.ts'

const automationsOf = ({ checkout }: Fleet): Readonly<Record<string, string>> => ({
  SVC_AUTOMATIONS: join(checkout, 'test/e2e/automations/talking.mjs'),
})

export interface WorkerRecord {
  readonly worker_id: string
  readonly connected: boolean
  readonly state: string
  readonly config: Readonly<Record<string, unknown>>
  readonly config_gen: number
  readonly applied_config_gen: number | null
  readonly draining: boolean
}
export interface Submitted {
  readonly task_id: string
}
/** A task that a worker started. */
export interface Start {
  readonly id: string
  readonly pid: number
  readonly atMs: number
}

export interface MastersOptions {
  readonly settings?: Readonly<Record<string, string>>
  /** The checkout that runs the first processes; this one by default. */
  readonly checkout?: string
  /** URL of the store for the master at this index. */
  readonly storeUrl?: (at: number, redis: RedisServer) => string | Promise<string>
}

export class Masters {
  readonly redis: RedisServer
  readonly all: readonly Fleet[]
  readonly #settings: Readonly<Record<string, string>>
  readonly #processes: Proc[] = []

  private constructor(redis: RedisServer, urls: readonly string[], settings: Readonly<Record<string, string>>) {
    this.redis = redis
    this.all = urls.map((url) => new Fleet(url))
    this.#settings = settings
  }

  static async start(
    count: number,
    { settings = {}, checkout = process.cwd(), storeUrl = (_, { url }) => url }: MastersOptions = {},
  ): Promise<Masters> {
    const redis = await startRedis({ appendfsync: 'always' })
    const urls = await Promise.all(Array.from({ length: count }, async (_, at) => storeUrl(at, redis)))
    const masters = new Masters(redis, urls, settings)
    for (const fleet of masters.all) fleet.checkout = checkout
    try {
      await Promise.all(masters.all.map((_, at) => masters.restart(at)))
      return masters
    } catch (error) {
      await masters.stop()
      throw error
    }
  }

  /** Returns the master at this index. A negative index counts from the end. */
  at(place: number): Fleet {
    const fleet = this.all.at(place)
    if (fleet === undefined) throw new RangeError(`there are ${this.all.length} masters`)
    return fleet
  }

  /** Ends the process of a master, by default with SIGKILL. */
  async end(place: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const master = this.#processes[place]
    master?.child.kill(signal)
    await master?.exited
  }

  /** Starts a master on its previous port. Resolves when it is ready. */
  async restart(place: number): Promise<void> {
    this.#processes[place] = await this.at(place).startMaster({ ...automationsOf(this.at(place)), ...this.#settings })
  }

  output(place: number): string {
    return this.#processes[place]?.output() ?? ''
  }

  /** Starts a worker that connects to the master at this index, or to `url`. */
  worker(place: number, id: string, type = 'slow', url = this.at(place).url): Proc {
    const fleet = this.at(place)
    return fleet.startWorker(type, id, { ...automationsOf(fleet), NOTES: this.#notes, SVC_MASTER_URL: url })
  }

  /**
   * Starts `each` workers per master, enabled with `slots` slots. Worker `w-<place>-<n>` connects to the master at
   * index `place`.
   */
  async workers(each: number, slots: number, type = 'slow'): Promise<readonly string[]> {
    const ids = this.all.flatMap((_, place) =>
      Array.from({ length: each }, (__, n) => ({ place, id: `w-${place}-${n}` })),
    )
    for (const { place, id } of ids) this.worker(place, id, type)
    await Promise.all(
      ids.map(({ place, id }) =>
        this.at(place + 1 < this.all.length ? place + 1 : 0).configure(type, id, { enabled: true, slots }),
      ),
    )
    return ids.map(({ id }) => id)
  }

  /** The task starts of all workers, in the order of their notes. */
  starts(): readonly Start[] {
    if (!existsSync(this.#notes)) return []
    const lines = readFileSync(this.#notes, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(' '))
    return lines.map(([, id = '', pid, atMs]) => ({ id, pid: Number(pid), atMs: Number(atMs) }))
  }

  /** Sums a counter of /metrics over all live masters. */
  async total(sample: string): Promise<number> {
    const texts = await Promise.all(this.all.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()))
    const values = texts.map((text) =>
      text
        .split('\n')
        .find((line) => line.startsWith(`${sample} `))
        ?.split(' ')
        .at(-1),
    )
    return values.reduce((sum, value) => sum + Number(value ?? 0), 0)
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((fleet) => fleet.stop()))
    await this.redis.close()
  }

  get #notes(): string {
    return join(this.at(0).directory, 'notes')
  }
}

export const record = (fleet: Fleet, id: string, type = 'slow'): Promise<WorkerRecord> =>
  fleet.ok('GET', `/automations/${type}/workers/${id}`)
export const submit = async (fleet: Fleet, payload: object, type = 'slow'): Promise<string> =>
  (await fleet.ok<Submitted>('POST', `/automations/${type}/tasks`, { payload })).task_id
export const isGone = async (fleet: Fleet, id: string, type = 'slow'): Promise<boolean> =>
  (await fleet.call('GET', `/automations/${type}/tasks/${id}`)).status === 404
export const lengthOf = async (fleet: Fleet, path: string): Promise<number> =>
  (await fleet.ok<{ length: number }>('GET', path)).length

/**
 * Submits many tasks in one call, which is repeated while the master is overloaded, as a client would.
 *
 * @returns the ids of the tasks, in the order of the payloads.
 */
export async function submitMany(fleet: Fleet, payloads: readonly object[], type = 'slow'): Promise<readonly string[]> {
  const path = `/automations/${type}/tasks/batch`
  const tasks = payloads.map((payload) => ({ payload }))
  let ids: readonly string[] = []
  await eventually('the batch of tasks is accepted', async () => {
    const { status, body } = await fleet.call<{ results: Submitted[] }>('POST', path, { tasks })
    if (status !== 200 && status !== 503) throw new Error(`POST ${path}: ${status} ${JSON.stringify(body)}`)
    if (status === 200) ids = body.results.map(({ task_id: id }) => id)
    return status === 200
  })
  return ids
}

export const portOf = ({ url }: Fleet): number => Number(new URL(url).port)

/** Waits until the store has none of these tasks. */
export async function allGone(
  fleet: Fleet,
  ids: readonly string[],
  { type = 'slow', withinMs = 40_000 }: { type?: string; withinMs?: number } = {},
): Promise<void> {
  const left = [...ids]
  await eventually(
    'every acknowledged task is done',
    async () => {
      while (left.length > 0) {
        if (!(await isGone(fleet, left.at(-1) ?? '', type))) return false
        left.pop()
      }
      return true
    },
    { context: () => `${left.length} of ${ids.length} are left`, withinMs },
  )
}
