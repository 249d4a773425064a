/**
 * The built command on a Redis: one master, two masters, and a Redis that is killed under load.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startRedis, withRedisServer, type RedisOptions, type RedisServer } from '../storage/redis/server.ts'
import { Fleet, until, type Proc } from './fleet.ts'

const AUTOMATIONS = { SVC_AUTOMATIONS: join(process.cwd(), 'test/e2e/automations/faulty.mjs') }
const SLOW = '/automations/slow'

interface Submitted { readonly task_id: string }
interface WorkerRecord { readonly connected: boolean; readonly state: string; readonly applied_config_gen: number | null }

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

async function redisOf(options: RedisOptions): Promise<RedisServer> {
  const redis = await startRedis(options)
  open.push(() => redis.close())
  return redis
}

/** One master and its hand on the API; several of one Redis share its fleet. */
async function masterOn(redis: RedisServer): Promise<{ fleet: Fleet; master: Proc }> {
  const fleet = new Fleet(redis.url)
  open.push(() => fleet.stop())
  return { fleet, master: await fleet.startMaster(AUTOMATIONS) }
}

const notesOf = (fleet: Fleet): string => join(fleet.directory, 'notes')
const workerOf = (fleet: Fleet, id: string): Proc => fleet.startWorker('slow', id, { ...AUTOMATIONS, NOTES: notesOf(fleet) })
const record = (fleet: Fleet, id: string): Promise<WorkerRecord> => fleet.ok('GET', `${SLOW}/workers/${id}`)
const submit = async (fleet: Fleet, ms = 0): Promise<string> => (await fleet.ok<Submitted>('POST', `${SLOW}/tasks`, { payload: { ms } })).task_id
const isGone = async (fleet: Fleet, id: string): Promise<boolean> => (await fleet.call('GET', `${SLOW}/tasks/${id}`)).status === 404
const lengthOf = async (fleet: Fleet, path: string): Promise<number> => (await fleet.ok<{ length: number }>('GET', path)).length

/** The ids of the tasks that workers of this fleet began, once for each start. */
function startsOf(fleet: Fleet): string[] {
  if (!existsSync(notesOf(fleet))) return []
  return readFileSync(notesOf(fleet), 'utf8').trim().split('\n').map((line) => line.split(' ')[1] ?? '')
}

/** Submits one task after the other until it is told to end, and keeps what was answered. */
function load(fleet: Fleet): { acknowledged: string[]; refused: { status: number; retryAfter: string | null }[]; end: () => Promise<void> } {
  const acknowledged: string[] = []
  const refused: { status: number; retryAfter: string | null }[] = []
  const ended = new AbortController()
  const submitting = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      const answer = await fleet.call<Submitted>('POST', `${SLOW}/tasks`, { payload: { ms: 1 } }).catch(() => null)
      if (answer === null) return // The master is gone.
      if (answer.status === 200) acknowledged.push(answer.body.task_id)
      else refused.push({ status: answer.status, retryAfter: answer.headers.get('retry-after') })
    }
  }
  const all = Promise.all([submitting(), submitting(), submitting(), submitting()])
  return {
    acknowledged, refused,
    end: async () => {
      ended.abort()
      await all
    },
  }
}

/** Waits until each of them has left the store; none is a dead letter. */
async function allDone(fleet: Fleet, ids: readonly string[], withinMs = 60_000): Promise<void> {
  const left = [...ids]
  await until('everything acknowledged is done', async () => {
    while (left.length > 0) {
      if (!(await isGone(fleet, left.at(-1) ?? ''))) return false
      left.pop()
    }
    return true
  }, () => `${left.length} of ${ids.length} are left`, withinMs)
  expect(await lengthOf(fleet, `${SLOW}/dead`)).toBe(0)
}

withRedisServer('a fleet on a Redis', () => {
  describe('a fleet on a Redis', () => {
    it('does every task exactly once, each with its output (G1, G2)', async () => {
      const { fleet } = await masterOn(await redisOf({ appendfsync: 'always' }))
      expect(await fleet.ok('GET', '/me')).toMatchObject({ backend: { scheme: 'kvstore', durable: true, shared: true, pubsub: true } })
      for (const id of ['w-1', 'w-2']) workerOf(fleet, id)
      for (const id of ['w-1', 'w-2']) await fleet.configure('slow', id, { enabled: true, slots: 16 })
      const ids: string[] = []
      for (let batch = 0; batch < 20; batch += 1) {
        const { results } = await fleet.ok<{ results: Submitted[] }>('POST', `${SLOW}/tasks/batch`, { tasks: Array.from({ length: 100 }, () => ({ payload: { ms: 1 } })) })
        ids.push(...results.map(({ task_id }) => task_id))
      }
      await until('every task has its output', async () => (await lengthOf(fleet, `${SLOW}/output/length`)) >= 2_000, () => `${startsOf(fleet).length} begun`)
      await allDone(fleet, ids)
      expect(startsOf(fleet).toSorted()).toEqual(ids.toSorted())
      const outputs = await fleet.ok<{ payload: Submitted }[]>('POST', `${SLOW}/output/pop`, { n: 10_000 })
      expect(outputs.map(({ payload }) => payload.task_id).toSorted()).toEqual(ids.toSorted())
    }, 120_000)

    it('names a new epoch after a restart of Redis that may have lost something (D46, D47)', async () => {
      const redis = await redisOf({})
      const { fleet } = await masterOn(redis)
      const epoch = async (): Promise<string | null> => (await fleet.call('GET', '/me')).headers.get('muster-epoch')
      const before = await epoch()
      await redis.kill()
      await redis.start()
      await until('another epoch is named', async () => (await epoch()) !== before, () => '', 15_000)
    }, 60_000)

    it('answers 503 with Retry-After while Redis is away, loses nothing it acknowledged, and serves again within 10 s (G1, G18)', async () => {
      const redis = await redisOf({ appendfsync: 'always' })
      const { fleet } = await masterOn(redis)
      workerOf(fleet, 'w-1')
      await fleet.configure('slow', 'w-1', { enabled: true, slots: 8 })
      const { headers } = await fleet.call('GET', '/me')
      const { acknowledged, refused, end } = load(fleet)
      await until('some hundred tasks are acknowledged', async () => acknowledged.length > 300)
      await redis.kill()
      await until('submits are refused', async () => refused.length >= 8)
      await until('the master is not ready', async () => (await fetch(`${fleet.url}/readyz`)).status === 503, () => '', 5_000)

      await redis.start()
      const restarted = performance.now()
      const before = acknowledged.length
      await until('tasks are acknowledged again', async () => acknowledged.length > before)
      await until('the master is ready', async () => (await fetch(`${fleet.url}/readyz`)).status === 200)
      const later = acknowledged.at(-1) ?? ''
      await until('a new task is begun', async () => startsOf(fleet).includes(later))
      expect(performance.now() - restarted).toBeLessThan(10_000)

      await until('some hundred more are acknowledged', async () => acknowledged.length > before + 300)
      await end()
      await allDone(fleet, acknowledged)
      const begun = new Set(startsOf(fleet))
      expect(acknowledged.filter((id) => !begun.has(id))).toEqual([])
      expect(refused.filter(({ status, retryAfter }) => status !== 503 || retryAfter === null)).toEqual([])
      expect((await fleet.call('GET', '/me')).headers.get('muster-epoch')).toBe(headers.get('muster-epoch'))
    }, 120_000)
  })

  describe('two masters on one Redis', () => {
    async function twoMasters(): Promise<{ a: Fleet; b: Fleet; masterA: Proc }> {
      const redis = await redisOf({ appendfsync: 'always' })
      const [{ fleet: a, master: masterA }, { fleet: b }] = await Promise.all([masterOn(redis), masterOn(redis)])
      return { a, b, masterA }
    }

    it('bring a PATCH, a task and a drain from the one to a worker of the other in under a second (D15, D33, G14)', async () => {
      const { a, b } = await twoMasters()
      const worker = workerOf(b, 'w-b')
      await a.configure('slow', 'w-b', { enabled: true, slots: 1 })
      await until('a first task is done', ((id) => async () => isGone(a, await id))(submit(a)))

      const gen = await a.configure('slow', 'w-b', { slots: 3 })
      await until('the config is applied', async () => (await record(a, 'w-b')).applied_config_gen === gen, worker.output, 1_000)

      const task = await submit(a)
      await until('the task is begun', async () => startsOf(b).includes(task), worker.output, 1_000)

      const running = await submit(a, 1_500)
      await until('it runs', async () => startsOf(b).includes(running))
      await a.ok('POST', `${SLOW}/workers/w-b/drain`)
      await until('the worker knows', async () => worker.output().includes('drain'), worker.output, 1_000)
      const later = await submit(a)
      expect(await worker.exited).toBe(0)
      expect(await isGone(b, running)).toBe(true)
      expect(await b.ok('GET', `${SLOW}/queue`)).toMatchObject({ length: 1, items: [{ id: later }] })
    }, 60_000)

    it('lose nothing when one is killed: the other goes on, and the worker comes back with its master (G1)', async () => {
      const { a, b, masterA } = await twoMasters()
      const [workerA] = [workerOf(a, 'w-a'), workerOf(b, 'w-b')]
      await b.configure('slow', 'w-a', { enabled: true, slots: 4 })
      await a.configure('slow', 'w-b', { enabled: true, slots: 4 })
      const { acknowledged, end } = load(a)
      await until('both workers are at it, some hundred tasks are acknowledged', async () => acknowledged.length > 300 && startsOf(a).length > 0 && startsOf(b).length > 0)
      masterA.child.kill('SIGKILL')
      await Promise.all([masterA.exited, end()])

      await allDone(b, acknowledged) // The leases of the other worker run out meanwhile.
      const begun = new Set([...startsOf(a), ...startsOf(b)])
      expect(acknowledged.filter((id) => !begun.has(id))).toEqual([])
      await until('its worker is seen to be away', async () => !(await record(b, 'w-a')).connected, () => '', 20_000)

      await a.startMaster(AUTOMATIONS)
      await until('its worker is back', async () => (await record(b, 'w-a')).connected, workerA.output, 60_000)
      const [first, count] = [startsOf(a).length, 20]
      const more = await Promise.all(Array.from({ length: count }, () => submit(b, 200)))
      await allDone(b, more)
      expect(startsOf(a).length).toBeGreaterThan(first)
    }, 150_000)
  })
})
