import { describe, expect, it } from '@jest/globals'
import { gauge } from '../../../src/master/metrics/exposition.ts'
import { fleetSnapshots } from '../../../src/master/metrics/fleet-snapshot.ts'
import { seededRandom, VirtualTime } from '../../../src/runtime/index.ts'
import type { Backend } from '../../../src/storage/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { runMaster, testCatalog, type TestMaster } from '../../kit/running-master.ts'

const STATS = '{"slots":4,"cpu_pct":12.5,"rss_mb":80,"ts":5,"metrics":{},"per_slot":[]}'

async function withWorker(backend: Backend, id = 'w-1'): Promise<void> {
  const ref = { type: 'mailer', id, conn: `test/${id}` }
  await backend.workers.register([{ ...ref, instance: '', hardware: '{}', defaults: '{}' }])
  await backend.workers.beat([{ ...ref, state: { state: 'RUNNING', gen: 0, lastError: null }, stats: [STATS] }])
}
const scrape = async (master: TestMaster): Promise<string> => (await master.call('GET', '/metrics', { token: '' })).text
const value = (text: string, series: string): string | undefined =>
  text
    .split('\n')
    .find((line) => line.startsWith(`${series} `))
    ?.slice(series.length + 1)

describe('metrics', () => {
  it('contain every metric of the specification, and need no token', async () => {
    const master = await runMaster()
    await withWorker(master.backend)
    await master.call('POST', '/api/v1/automations/mailer/tasks', { body: { payload: { to: 'x' }, priority: 5 } })
    const text = await scrape(master)
    const worker = '{automation_type="mailer",worker_id="w-1"}'
    expect({
      up: value(text, 'svc_master_up'),
      running: value(text, 'svc_workers_total{automation_type="mailer",state="RUNNING"}'),
      idle: value(text, 'svc_workers_total{automation_type="probe",state="IDLE"}'),
      slots: value(text, `svc_worker_slots${worker}`),
      cpu: value(text, `svc_worker_cpu_pct${worker}`),
      rss: value(text, `svc_worker_rss_mb${worker}`),
      stream: value(text, 'svc_stream_length{automation_type="probe"}'),
      queue: value(text, 'svc_queue_size{automation_type="mailer"}'),
      dead: value(text, 'svc_queue_dlq_length{automation_type="mailer"}'),
      pool: value(text, 'svc_pool_size{pool="accounts"}'),
    }).toEqual({
      up: '1',
      running: '1',
      idle: '0',
      slots: '4',
      cpu: '12.5',
      rss: '80',
      stream: '0',
      queue: '1',
      dead: '0',
      pool: '0',
    })
    expect(Number(value(text, `svc_worker_last_seen_age_seconds${worker}`))).toBeLessThan(5)
    expect(text).toContain('svc_store_info{backend="memory",profile="')
    expect(value(text, 'svc_queue_size{automation_type="probe"}')).toBeUndefined()
  })

  it('contain the slots, and the tasks by where they are (D134)', async () => {
    const time = new VirtualTime()
    const backend = new MemoryBackend({ clock: time, random: seededRandom(1) })
    const master = await runMaster({ backend, clock: time, timers: time })
    const numbers = async (): Promise<readonly (string | undefined)[]> => {
      await time.advance(5_000)
      const text = await scrape(master)
      const names = ['slots', 'queue_size', 'queue_oldest_seconds', 'tasks_in_flight', 'tasks_scheduled']
      return names.map((name) => value(text, `svc_${name}{automation_type="mailer"}`))
    }
    expect(await numbers()).toEqual(['0', '0', '0', '0', '0'])
    await backend.meta.beat('test')
    await withWorker(backend)
    const tasks = [{}, {}, { delay_seconds: 60 }].map((fields) => ({ payload: { to: 'x' }, ...fields }))
    await master.call('POST', '/api/v1/automations/mailer/tasks/batch', { body: { tasks } })
    const reserve = { worker: 'w-1', limit: 1, gen: 0, defaultMaxAttempts: 3 }
    await backend.tasks.reserve('mailer', 60_000, [reserve])
    expect(await numbers()).toEqual(['4', '1', '5', '1', '1'])
    await backend.tasks.reserve('mailer', 60_000, [reserve])
    expect(await numbers()).toEqual(['4', '0', '0', '2', '1'])
  })

  it('contain no series of a forgotten worker (S18)', async () => {
    const master = await runMaster()
    await withWorker(master.backend)
    await master.backend.workers.forget([{ type: 'mailer', id: 'w-1' }])
    expect(await scrape(master)).not.toContain('w-1')
  })

  it('contain svc_master_up also while the store is unavailable', async () => {
    const master = await runMaster()
    await master.backend.close()
    const text = await scrape(master)
    expect([value(text, 'svc_master_up'), value(text, 'svc_store_up')]).toEqual(['1', '0'])
    expect(text).not.toContain('svc_workers_total')
  })

  it('contain every metric name once', async () => {
    const names = (await scrape(await runMaster()))
      .split('\n')
      .filter((line) => line.startsWith('# TYPE '))
      .map((line) => line.split(' ')[2])
    expect(new Set(names).size).toBe(names.length)
  })
})

describe('the text format', () => {
  it('escapes special characters of a worker id', () => {
    expect(gauge('g', 'Help.', [{ labels: { worker_id: 'a"b\\c\nd' }, value: 1 }])).toBe(
      '# HELP g Help.\n# TYPE g gauge\ng{worker_id="a\\"b\\\\c\\nd"} 1\n',
    )
  })
})

describe('the snapshot', () => {
  async function snapshots() {
    const time = new VirtualTime()
    const backend = new MemoryBackend({ clock: time, random: seededRandom(1) })
    await backend.open(new AbortController().signal)
    return { time, backend, snapshot: fleetSnapshots({ backend, catalog: testCatalog(), clock: time }) }
  }

  it('is shared for 5 s', async () => {
    const { time, backend, snapshot } = await snapshots()
    expect((await snapshot()).types[0]?.workers).toHaveLength(0)
    await withWorker(backend)
    expect((await snapshot()).types[0]?.workers).toHaveLength(0)
    time.jump(5_000)
    expect((await snapshot()).types[0]?.workers).toHaveLength(1)
  })

  it('is read again immediately after a failure', async () => {
    const { backend, snapshot } = await snapshots()
    await backend.close()
    await expect(snapshot()).rejects.toThrow()
    await backend.open(new AbortController().signal)
    expect((await snapshot()).types).toHaveLength(2)
  })

  it('contains every worker of a type, read page by page', async () => {
    const { backend, snapshot } = await snapshots()
    for (let worker = 0; worker < 2_500; worker += 1) await withWorker(backend, `w-${worker}`)
    expect((await snapshot()).types[0]?.workers).toHaveLength(2_500)
  })

  it('reads the numbers of a frame with another order of fields', async () => {
    const { backend, snapshot } = await snapshots()
    const ref = { type: 'mailer', id: 'w-1', conn: 'test/1' }
    await backend.workers.register([{ ...ref, instance: '', hardware: '{}', defaults: '{}' }])
    await backend.workers.beat([{ ...ref, stats: ['{"ts":5,"metrics":{},"rss_mb":80,"cpu_pct":1e-7,"slots":4}'] }])
    expect((await snapshot()).types[0]?.workers[0]?.stats).toEqual({ ts: 5, slots: 4, cpuPct: 1e-7, rssMb: 80 })
  })
})
