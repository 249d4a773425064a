/** Two masters on one Redis: summed over their pods, the metrics count the fleet once (D93, D134). */
import { once } from 'node:events'
import { WebSocket } from 'ws'
import { afterEach, describe, expect, it } from '@jest/globals'
import { seededRandom, systemTime, VirtualTime } from '../../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../../src/storage/redis/index.ts'
import { startRedis, withRedisServer, type RedisServer } from '../../kit/redis-server.ts'
import { startTestMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { eventually } from '../../kit/index.ts'

const HARDWARE = { cores: 1, ram_gb: 1, hostname: 'test', kernel: 'x' }
/** Series that describe the whole store. */
const FLEET = /^svc_(?:workers_total|stream_.*|queue_.*|tasks_(?:in_flight|scheduled)|slots|pool_size|worker_.*)$/

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const end of open.splice(0).toReversed()) await end()
})

/** A master with its own clock, so that one process can stall while the others continue. */
interface Member {
  readonly master: TestMaster
  readonly time: VirtualTime
}

class Fleet {
  readonly server: RedisServer
  readonly #members: Member[] = []

  private constructor(server: RedisServer) {
    this.server = server
  }

  static async start(): Promise<Fleet> {
    const server = await startRedis()
    open.push(() => server.close())
    return new Fleet(server)
  }

  async master(): Promise<Member> {
    const time = new VirtualTime()
    const random = seededRandom(this.#members.length + 1)
    const url = parseStoreUrl(this.server.url)
    const backend = new RedisBackend({ url, time: systemTime, random, clock: time })
    const master = await startTestMaster({ backend, clock: time, timers: time, random })
    open.push(() => master.stop())
    const member = { master, time }
    this.#members.push(member)
    return member
  }

  /**
   * Advances the time, so that heartbeats are written and the snapshots of the scrapes are outdated.
   *
   * @param except A stalled master: its clock moves on, but none of its timers fires.
   */
  async pass(ms = 15_000, except?: Member): Promise<void> {
    for (let left = ms; left > 0; left -= 5_000) {
      for (const member of this.#members) {
        if (member === except) member.time.jump(5_000)
        else await member.time.advance(5_000)
      }
      await systemTime.sleep(50) // Lets Redis reply.
    }
  }
}

const isLeading = async ({ master }: Member): Promise<boolean> =>
  [...(await scraped([master])).keys()].some((name) => name.startsWith('svc_queue_size'))

async function leaderOf(members: readonly Member[]): Promise<Member> {
  for (const member of members) if (await isLeading(member)) return member
  throw new Error('no master leads')
}

async function worker(master: TestMaster, id: string): Promise<WebSocket> {
  const url = `${master.url.replace('http', 'ws')}/api/v1/automations/mailer/workers/${id}/control`
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${TOKENS.worker}` } })
  open.push(() => socket.terminate())
  await once(socket, 'open')
  const send = (frame: object): void => socket.send(JSON.stringify(frame))
  send({ type: 'register', worker_id: id, automation_type: 'mailer', protocol_version: 1, hardware: HARDWARE })
  send({ type: 'stats', ts: 1, slots: 4, cpu_pct: 1, rss_mb: 80, metrics: {}, per_slot: [] })
  const path = `/api/v1/automations/mailer/workers/${id}`
  const hasStats = async (): Promise<boolean> => {
    const { json } = await master.call('GET', path)
    return (json as { current_stats?: object | null }).current_stats?.constructor === Object
  }
  await eventually(hasStats)
  return socket
}

/** For each series: the value of `sum without (pod)` over these masters, and how many of them export it. */
async function scraped(masters: readonly TestMaster[]): Promise<Map<string, { sum: number; exporters: number }>> {
  const series = new Map<string, { sum: number; exporters: number }>()
  for (const master of masters) {
    const { text } = await master.call('GET', '/metrics', { token: '' })
    for (const line of text.split('\n')) {
      const [name = '', value = ''] = line.split(' ')
      if (line.startsWith('#') || !FLEET.test(name.replace(/\{.*/, ''))) continue
      const { sum, exporters } = series.get(name) ?? { sum: 0, exporters: 0 }
      series.set(name, { sum: sum + Number(value), exporters: exporters + 1 })
    }
  }
  return series
}

/** @param connected The workers that are connected. */
async function expectOnce(masters: readonly TestMaster[], connected: number): Promise<void> {
  const series = await scraped(masters)
  expect([...series].filter(([, { exporters }]) => exporters !== 1)).toEqual([])
  const mailer = (name: string, labels = ''): string => `svc_${name}{automation_type="mailer"${labels}}`
  const slotsOf = (id: string): string => mailer('worker_slots', `,worker_id="${id}"`)
  const names = [
    mailer('queue_size'),
    mailer('tasks_in_flight'),
    mailer('tasks_scheduled'),
    mailer('stream_length'),
    'svc_pool_size{pool="accounts"}',
    mailer('workers_total', ',state="IDLE"'),
    slotsOf('w-1'),
    slotsOf('w-2'),
    slotsOf('w-3'),
  ]
  expect(names.map((name) => series.get(name)?.sum)).toEqual([2, 1, 1, 0, 0, 3, 4, 4, 4])
  expect(series.get(mailer('slots'))?.sum).toBe(4 * connected)
  expect(series.get(mailer('queue_oldest_seconds'))?.sum).toBeGreaterThan(0)
}

/** Submits four tasks, of which one is scheduled and one is leased. */
async function queueTasks({ master }: Member): Promise<void> {
  const tasks = [{}, {}, {}, { delay_seconds: 3_600 }].map((fields) => ({ payload: { to: 'x' }, ...fields }))
  await master.call('POST', '/api/v1/automations/mailer/tasks/batch', { body: { tasks } })
  const { json } = await master.call('POST', '/api/v1/automations/mailer/workers/w-1/rpc', {
    token: TOKENS.worker,
    body: { jsonrpc: '2.0', id: 1, method: 'tasks.reserve', params: { limit: 1 } },
  })
  expect(json).toMatchObject({ result: { tasks: [{}] } })
}

withRedisServer('metrics of several masters', () => {
  describe('metrics of several masters', () => {
    it('contain each series of the fleet once, also after the leading master has ended', async () => {
      const fleet = await Fleet.start()
      const members = [await fleet.master(), await fleet.master()] as const
      const masters = members.map(({ master }) => master)
      const [first, second] = members
      const sockets = [
        await worker(first.master, 'w-1'),
        await worker(second.master, 'w-2'),
        await worker(second.master, 'w-3'),
      ]
      await queueTasks(first)
      await fleet.pass()
      await expectOnce(masters, 3)
      const namesOf = async (master: TestMaster): Promise<string[]> => [...(await scraped([master])).keys()]
      const exported = await Promise.all(masters.map(namesOf))
      const ofWorkers = exported.map((names) => names.filter((name) => name.startsWith('svc_worker_slots')))
      expect(ofWorkers.map(({ length }) => length)).toEqual([1, 2])
      sockets[2]?.terminate() // From now on the leading master exports it.
      await fleet.pass()
      await expectOnce(masters, 2)
      const leader = await leaderOf(members)
      const other = leader === first ? second : first
      await leader.master.stop()
      await fleet.pass()
      await expectOnce([other.master], 1)
    }, 60_000)

    it('are exported by no master for at most 20 s after the leader was killed, and never twice (D134)', async () => {
      const fleet = await Fleet.start()
      const members = [await fleet.master(), await fleet.master()] as const
      await fleet.pass()
      const leader = await leaderOf(members)
      const other = leader === members[0] ? members[1] : members[0]
      const leading: boolean[] = []
      for (let waited = 0; waited < 20_000; waited += 5_000) {
        await fleet.pass(5_000, leader)
        leading.push(await isLeading(other))
      }
      expect(leading).toEqual([false, false, leading[2], true])
    }, 60_000)

    it('are exported once when a leader that stalled for a while continues (D134)', async () => {
      const fleet = await Fleet.start()
      const members = [await fleet.master(), await fleet.master()] as const
      await fleet.pass()
      const stalled = await leaderOf(members)
      const other = stalled === members[0] ? members[1] : members[0]
      await fleet.pass(20_000, stalled)
      const leaders = async (): Promise<number> => (await Promise.all(members.map(isLeading))).filter(Boolean).length
      expect([await isLeading(other), await leaders()]).toEqual([true, 1])
      await stalled.time.advance(1) // Its heartbeat, which the other master has not read yet.
      await systemTime.sleep(50)
      await stalled.time.advance(1_000) // Its next text.
      expect(await leaders()).toBe(1)
      await fleet.pass()
      expect([await isLeading(stalled), await leaders()]).toEqual([true, 1])
    }, 60_000)
  })
})
