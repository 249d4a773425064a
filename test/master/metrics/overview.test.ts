import { describe, expect, it } from '@jest/globals'
import type { OverviewBody, ReportedState } from '../../../src/protocol/index.ts'
import type { Backend } from '../../../src/storage/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { onEachStore } from '../stores.ts'

const PATH = '/api/v1/overview'
const FRESH_MS = 5_000
type Automations = OverviewBody['automations']

interface Seen {
  readonly state?: ReportedState
  readonly slots?: number
  readonly gen?: number
  readonly patched?: boolean
  readonly isDisconnected?: boolean
}

/** Records a worker as a master does. */
async function record(
  { workers, configs }: Backend,
  masterId: string,
  id: string,
  { state, slots, gen = 0, patched = false, isDisconnected = false }: Seen,
): Promise<void> {
  const ref = { type: 'mailer', id }
  const conn = { ...ref, conn: `${masterId}/${id}` }
  await workers.register([{ ...conn, instance: id, hardware: '{}', defaults: '{}' }])
  if (patched) await configs.put({ ...ref, expectGen: 0, config: '{}', changed: [], actor: 'admin' })
  const stats =
    slots === undefined ? [] : [`{"slots":${slots},"cpu_pct":1,"rss_mb":1,"ts":1,"per_slot":[],"metrics":{}}`]
  if (state !== undefined) await workers.beat([{ ...conn, state: { state, gen, lastError: null }, stats }])
  if (isDisconnected) await workers.disconnect([conn])
}

const overview = async (master: TestMaster, token: string = TOKENS.admin): Promise<OverviewBody> =>
  (await master.call('GET', PATH, { token })).json as OverviewBody

onEachStore('the overview', (open) => {
  it('counts workers, slots, tasks and outputs of each type (D48)', async () => {
    const { master } = await open()
    const { backend } = master
    await backend.meta.beat('m')
    await record(backend, 'm', 'a', { state: 'RUNNING', slots: 4 })
    await record(backend, 'm', 'b', { state: 'RUNNING', slots: 2, patched: true })
    await record(backend, 'm', 'c', { state: 'ERROR', slots: 1, patched: true, gen: 1 })
    await record(backend, 'm', 'd', { state: 'RUNNING', slots: 9, isDisconnected: true })
    await record(backend, 'm', 'e', { state: 'RUNNING', slots: 3 })
    await record(backend, 'm', 'f', {})
    await record(backend, 'm', 'g', { state: 'ERROR', isDisconnected: true })
    await backend.workers.drain([{ type: 'mailer', id: 'e' }])
    const tasks = [2, 0, 0, -1].map((priority) => ({ payload: { to: 'x' }, priority }))
    await master.call('POST', '/api/v1/automations/mailer/tasks/batch', { body: { tasks } })
    await backend.streams.push('probe', 'p', 1, ['{"slot_id":0,"ts":1,"payload":{}}'])
    const body = await overview(master)
    const submittedAt = body.automations['mailer']?.queue?.oldest_submitted_at
    expect(body).toEqual({
      ts: submittedAt,
      automations: {
        mailer: {
          kind: 'BatchAutomation',
          workers: {
            total: 7,
            connected: 5,
            behind: 1,
            IDLE: 1,
            RUNNING: 3,
            ERROR: 2,
            DRAINING: 1,
            connected_in_error: 1,
          },
          slots: 10,
          queue: {
            high: 1,
            normal: 2,
            low: 1,
            in_flight: 0,
            scheduled: 0,
            dead: 0,
            oldest_submitted_at: expect.any(Number),
          },
          stream: { length: 0 },
        },
        probe: {
          kind: 'ContinuousAutomation',
          workers: {
            total: 0,
            connected: 0,
            behind: 0,
            IDLE: 0,
            RUNNING: 0,
            ERROR: 0,
            DRAINING: 0,
            connected_in_error: 0,
          },
          slots: 0,
          queue: null,
          stream: { length: 1 },
        },
      },
    })
  })

  it('is at most 5 s old, contains its time, and costs one read of the store for all clients', async () => {
    const { master, advance } = await open()
    const first = await overview(master)
    await master.call('POST', '/api/v1/automations/mailer/tasks', { body: { payload: { to: 'x' } } })
    expect(await Promise.all([overview(master), overview(master)])).toEqual([first, first])
    await advance(FRESH_MS)
    const later = await overview(master)
    expect(later.automations['mailer']?.queue).toMatchObject({ normal: 1 })
    expect(later.ts - first.ts).toBe(5)
  })
})

describe('the overview of a token', () => {
  const types = (automations: Automations): readonly string[] => Object.keys(automations).toSorted()

  it('contains only its types (D48, S2)', async () => {
    const master = await runMaster()
    expect(types((await overview(master, TOKENS.mailer)).automations)).toEqual(['mailer'])
    expect(types((await overview(master, TOKENS.probe)).automations)).toEqual(['probe'])
    for (const token of [TOKENS.admin, TOKENS.everyType])
      expect(types((await overview(master, token)).automations)).toEqual(['mailer', 'probe'])
  })

  it('is refused for a worker token', async () => {
    expect((await (await runMaster()).call('GET', PATH, { token: TOKENS.worker })).status).toBe(403)
  })

  it('returns 503 with Retry-After while the store is unavailable', async () => {
    const master = await runMaster()
    await master.backend.close()
    const { status, headers } = await master.call('GET', PATH)
    expect([status, headers.has('retry-after')]).toEqual([503, true])
  })
})
