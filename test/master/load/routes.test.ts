/** `GET …/load` and the token of autoscalers (D139, D140). */
import { describe, expect, it } from '@jest/globals'
import { systemRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { eventually } from '../../kit/index.ts'
import { runMaster, TOKENS } from '../../kit/running-master.ts'

const LOAD = '/api/v1/automations/mailer/load'

async function fixture() {
  const time = new VirtualTime()
  const backend = new MemoryBackend({ clock: time, random: systemRandom })
  const master = await runMaster({ backend, clock: time, timers: time })
  await time.advance(0)
  const get = (query = '', token: string = TOKENS.scaler) => master.call('GET', `${LOAD}${query}`, { token })
  return { time, backend, master, get }
}

describe('GET of the load', () => {
  it('returns the counters of the queue to the token of autoscalers (D139, D140)', async () => {
    const { master, get } = await fixture()
    expect((await get()).json).toMatchObject({ pending: 0, backlog: 0, wanted_slots: 0, wanted_workers: 0 })
    const url = '/api/v1/automations/mailer/tasks'
    expect((await master.call('POST', url, { body: { payload: { to: 'a' } } })).status).toBe(200)
    const { status, json } = await get('?target_wait_seconds=0.5&slots_per_worker=4')
    expect([status, Object.keys(json as object)]).toEqual([
      200,
      [
        'ts',
        'window_seconds',
        'pending',
        'in_flight',
        'scheduled_due',
        'backlog',
        'oldest_wait_seconds',
        'arrivals_per_second',
        'completions_per_second',
        'mean_run_seconds',
        'slots',
        'workers',
        'wanted_slots',
        'wanted_workers',
      ],
    ])
  })

  it.each([
    ['target_wait_seconds=0', '/target_wait_seconds'],
    ['target_wait_seconds=-1', '/target_wait_seconds'],
    ['target_wait_seconds=soon', '/target_wait_seconds'],
    ['target_wait_seconds=86401', '/target_wait_seconds'],
    ['slots_per_worker=0', '/slots_per_worker'],
    ['slots_per_worker=1.5', '/slots_per_worker'],
    ['slots_per_worker=10001', '/slots_per_worker'],
    ['slots_per_worker=1&slots_per_worker=2', '/slots_per_worker'],
  ])('rejects ?%s', async (query, path) => {
    const { get } = await fixture()
    const { status, json } = await get(`?${query}`)
    expect([status, json]).toMatchObject([422, { detail: [{ path }] }])
  })

  it('returns 404 for a continuous automation, and 503 if the counts are older than 15 s', async () => {
    const { time, backend, master, get } = await fixture()
    const probe = await master.call('GET', '/api/v1/automations/probe/load', { token: TOKENS.scaler })
    expect([probe.status, probe.json]).toMatchObject([404, { detail: expect.stringContaining('continuous') }])
    const body = { payload: { to: 'a' }, not_before: time.wallMs() / 1_000 + 3_600 }
    expect((await master.call('POST', '/api/v1/automations/mailer/tasks', { body })).status).toBe(200)
    backend.tasks.countDue = () => Promise.reject(new Error('store'))
    await time.advance(15_000)
    expect((await get()).status).toBe(200)
    await time.advance(5_000)
    const { status, headers } = await get()
    expect([status, headers.get('retry-after')]).toEqual([503, '5'])
  })

  it('is exported as svc_wanted_slots by the leading master (D139)', async () => {
    const { time, master } = await fixture()
    const metric = async (): Promise<string | undefined> =>
      (await master.call('GET', '/metrics')).text.split('\n').find((line) => line.startsWith('svc_wanted_slots{'))
    await time.advance(15_000)
    await eventually('it is exported', async () => (await metric()) !== undefined)
    expect(await metric()).toBe('svc_wanted_slots{automation_type="mailer"} 0')
  })
})
