/** `GET …/runs` (D151). */
import { describe, expect, it } from '@jest/globals'
import type { ReportedState, RunsBody } from '../../../src/protocol/index.ts'
import { systemRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { runMaster, TOKENS } from '../../kit/running-master.ts'

const TYPE = '/api/v1/automations/mailer'
const LONGER_THAN_A_SNAPSHOT_MS = 6_000

interface Reported {
  readonly gen?: number
  readonly ok?: number
  readonly failed?: number
  readonly died?: number
  readonly state?: ReportedState
  readonly error?: string | null
}

async function fixture() {
  const time = new VirtualTime()
  const backend = new MemoryBackend({ clock: time, random: systemRandom })
  const master = await runMaster({ backend, clock: time, timers: time })
  await backend.meta.beat('m')
  await time.advance(0)
  const connOf = (id: string) => ({ type: 'mailer', id, conn: `m/${id}` })
  const register = (...ids: readonly string[]) =>
    backend.workers.register(ids.map((id) => ({ ...connOf(id), instance: id, hardware: '{}', defaults: '{}' })))
  const report = async (id: string, reported: Reported = {}): Promise<void> => {
    const { gen = 0, ok = 0, failed = 0, died = 0, state = 'RUNNING', error = null } = reported
    const metrics = {
      'counter.muster.runs_ok': ok,
      'counter.muster.runs_failed': failed,
      'counter.muster.runs_died': died,
      'counter.muster.last_error_runs': failed,
      'gauge.muster.config_gen': gen,
    }
    const frame = { slots: 1, cpu_pct: 1, rss_mb: 1, ts: time.wallMs() / 1_000, per_slot: [], metrics }
    await backend.meta.beat('m')
    await backend.workers.beat([
      { ...connOf(id), state: { state, gen, lastError: error }, stats: [JSON.stringify(frame)] },
    ])
  }
  const get = async (query = '', token: string = TOKENS.viewer) => {
    const { status, json } = await master.call('GET', `${TYPE}/runs${query}`, { token })
    return { status, body: json as RunsBody }
  }
  return { time, backend, master, register, report, get }
}

describe('GET of the runs', () => {
  it('names the workers that fail most, with their error and their last config change (D151)', async () => {
    const { time, master, register, report, get } = await fixture()
    await register('good', 'bad', 'flaky')
    await report('good', { ok: 100 })
    const patched = await master.call('PATCH', `${TYPE}/workers/bad/config`, {
      body: { host: 'old.invalid' },
      headers: { 'muster-actor': 'dashboard:ana' },
    })
    expect(patched.status).toBe(200)
    await time.advance(15_000)
    await report('good', { ok: 160 })
    await report('flaky', { ok: 50, failed: 2 })
    await report('bad', { gen: 1, failed: 30, died: 20, state: 'ERROR', error: 'ENOTFOUND old.invalid' })
    const { body } = await get()
    expect(body.workers.map(({ worker_id: id, done, failed }) => [id, done, failed])).toEqual([
      ['bad', 0, 30],
      ['flaky', 50, 2],
    ])
    expect(body.workers[0]).toEqual({
      worker_id: 'bad',
      done: 0,
      failed: 30,
      died: 20,
      window_seconds: 15,
      config_gen: 1,
      config_done: 0,
      config_failed: 30,
      config_changed_at: expect.any(Number),
      config_changed_by: 'admin dashboard:ana',
      config_changed: ['host'],
      last_error: 'ENOTFOUND old.invalid',
      last_error_runs: 30,
    })
  })

  it('counts the runs of the type by the samples of the load', async () => {
    const { time, master, get } = await fixture()
    expect((await get()).body).toMatchObject({ window_seconds: 0, done: null, failed: null, died: null, workers: [] })
    expect((await master.call('POST', `${TYPE}/tasks`, { body: { payload: { to: 'a' } } })).status).toBe(200)
    await time.advance(90_000)
    expect((await get()).body).toMatchObject({ window_seconds: 60, done: 0, failed: 0, died: 0 })
  })

  it('shows one worker on request, and rejects an unknown one', async () => {
    const { time, register, report, get } = await fixture()
    await register('good', 'silent')
    await report('good', { ok: 100 })
    await time.advance(15_000)
    await report('good', { ok: 160 })
    expect((await get('?worker_id=good')).body.workers).toMatchObject([{ worker_id: 'good', done: 60, failed: 0 }])
    expect((await get('?worker_id=silent')).body.workers).toMatchObject([
      { worker_id: 'silent', done: 0, failed: 0, died: null, window_seconds: 0, last_error: null },
    ])
    expect((await get('?worker_id=ghost')).status).toBe(404)
    expect((await get('?worker_id=')).status).toBe(422)
  })

  it('reads at most 20 workers of a large type, those that are worst, and lists 10', async () => {
    const { time, backend, register, report, get } = await fixture()
    const ids = Array.from({ length: 60 }, (_, n) => `w-${String(n).padStart(2, '0')}`)
    await register(...ids)
    for (const [n, id] of ids.entries()) await report(id, { ok: 100, failed: n })
    await report('w-00', { state: 'ERROR', error: 'x'.repeat(2_000), failed: 500 })
    let reads = 0
    const read = backend.stats.read.bind(backend.stats)
    backend.stats.read = (...call) => {
      reads += 1
      return read(...call)
    }
    const { body } = await get()
    expect([reads, body.workers.length, body.workers[0]?.worker_id]).toEqual([20, 10, 'w-00'])
    expect(body.workers[0]?.last_error?.length).toBe(512)
    await get()
    expect(reads).toBe(20)
    await time.advance(LONGER_THAN_A_SNAPSHOT_MS)
    await backend.meta.beat('m')
    await get()
    expect(reads).toBe(40)
  })

  it('lists no worker that is offline', async () => {
    const { time, register, report, get } = await fixture()
    await register('gone')
    await report('gone', { failed: 9, state: 'ERROR', error: 'x' })
    await time.advance(60_000)
    expect((await get()).body.workers).toEqual([])
  })
})
