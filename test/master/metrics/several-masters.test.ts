/** Two masters on one Redis: summed over their pods, the metrics count the fleet once (D93). */
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
const FLEET = /^svc_(?:workers_total|stream_length|queue_size|queue_dlq_length|pool_size|worker_.*)$/

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const end of open.splice(0).toReversed()) await end()
})

class Fleet {
  readonly time = new VirtualTime()
  readonly server: RedisServer
  #seed = 0

  private constructor(server: RedisServer) {
    this.server = server
  }

  static async start(): Promise<Fleet> {
    const server = await startRedis()
    open.push(() => server.close())
    return new Fleet(server)
  }

  async master(): Promise<TestMaster> {
    const random = seededRandom((this.#seed += 1))
    const url = parseStoreUrl(this.server.url)
    const backend = new RedisBackend({ url, time: systemTime, random, clock: this.time })
    const master = await startTestMaster({ backend, clock: this.time, timers: this.time, random })
    open.push(() => master.stop())
    return master
  }

  /** Advances the time, so that heartbeats are written and the snapshots of the scrapes are outdated. */
  async pass(ms = 15_000): Promise<void> {
    for (let left = ms; left > 0; left -= 5_000) {
      await this.time.advance(5_000)
      await systemTime.sleep(50) // Lets Redis reply.
    }
  }
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

async function expectOnce(masters: readonly TestMaster[]): Promise<void> {
  const series = await scraped(masters)
  expect([...series].filter(([, { exporters }]) => exporters !== 1)).toEqual([])
  const idle = 'svc_workers_total{automation_type="mailer",state="IDLE"}'
  const slots = (id: string): string => `svc_worker_slots{automation_type="mailer",worker_id="${id}"}`
  const names = [
    'svc_queue_size{automation_type="mailer"}',
    'svc_stream_length{automation_type="mailer"}',
    'svc_pool_size{pool="accounts"}',
    idle,
    slots('w-1'),
    slots('w-2'),
    slots('w-3'),
  ]
  expect(names.map((name) => series.get(name)?.sum)).toEqual([3, 0, 0, 3, 4, 4, 4])
}

withRedisServer('metrics of several masters', () => {
  describe('metrics of several masters', () => {
    it('contain each series of the fleet once, also after the leading master has ended', async () => {
      const fleet = await Fleet.start()
      const [first, second] = [await fleet.master(), await fleet.master()]
      const sockets = [await worker(first, 'w-1'), await worker(second, 'w-2'), await worker(second, 'w-3')]
      for (let n = 0; n < 3; n += 1) {
        await first.call('POST', '/api/v1/automations/mailer/tasks', { body: { payload: { to: 'x' } } })
      }
      await fleet.pass()
      await expectOnce([first, second])
      const namesOf = async (master: TestMaster): Promise<string[]> => [...(await scraped([master])).keys()]
      const exported = await Promise.all([first, second].map(namesOf))
      const ofWorkers = exported.map((names) => names.filter((name) => name.startsWith('svc_worker_slots')))
      expect(ofWorkers.map(({ length }) => length)).toEqual([1, 2])
      const firstLeads = exported[0]?.some((name) => name.startsWith('svc_queue_size'))
      sockets[2]?.terminate() // From now on the leading master exports it.
      await fleet.pass()
      await expectOnce([first, second])
      await (firstLeads === true ? first : second).stop()
      await fleet.pass(30_000)
      await expectOnce([firstLeads === true ? second : first])
    }, 60_000)
  })
})
