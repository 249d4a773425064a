/** Rollout reports over HTTP: stored, listed, bounded, and announced when they are news (D148). */
import { describe, expect, it } from '@jest/globals'
import type { RolloutBody } from '../../../src/protocol/index.ts'
import { MAX_ROLLOUT_BYTES, MAX_ROLLOUTS, ROLLOUT_BOUNDS } from '../../../src/protocol/index.ts'
import { eventually } from '../../kit/index.ts'
import { rolloutReport } from '../../kit/rollout-report.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'

const ROLLOUTS = '/api/v1/automations/mailer/rollouts'
const AT = `${ROLLOUTS}/set-1`

const FULL: RolloutBody = rolloutReport({
  managed_by: 'kubernetes:prod/fleetworkersets/crawlers#1a2b3c4d',
  current_revision: 'r1',
  cause: 'edit',
  paused: true,
  held: true,
  stage_list: [
    { workers: 1, bake_seconds: 0, approval: 'Auto' },
    { workers: '10%', bake_seconds: 120, approval: 'Manual' },
  ],
  limit: 24,
  started_at: 1_767_225_000.5,
  gates: [
    {
      name: 'failureRate',
      verdict: 'Failed',
      updated: '31.0 %',
      current: '2.1 %',
      allowed: '+2.0 points',
      updated_runs: 412,
      current_runs: 9871,
      message: '31.0 % of 412 runs failed',
    },
  ],
  worst: [{ worker: 'crawler-17', reason: 'WorkerError', message: 'depth must be at most 5' }],
  changed_fields: ['/depth', '/proxy/timeout_seconds'],
  failed: [{ revision: 'r2', attempts: 1, failed_at: 1_767_225_100, stage: 2, gate: 'errors', message: 'failed' }],
  next: { text: 'Change the config, or retry.', command: 'muster rollout retry -n prod crawlers' },
})

const list = async (master: TestMaster): Promise<readonly Record<string, unknown>[]> =>
  ((await master.call('GET', ROLLOUTS)).json as { rollouts: Record<string, unknown>[] }).rollouts

const eventsOf = async ({ backend }: TestMaster): Promise<readonly unknown[]> => {
  const read = await backend.events.read('', 1_000)
  const events = read.kind === 'events' ? read.events : []
  return events
    .filter(({ name }) => name === 'rollout.changed')
    .map(({ data, scope }) => ({ ...(JSON.parse(data) as object), scope }))
}

describe('the reports of a type', () => {
  it('store, list and remove a report, with the time at which the master received it', async () => {
    const master = await runMaster()
    expect(await list(master)).toEqual([])
    const put = await master.call('PUT', AT, { body: FULL })
    const shown = { rollout: 'set-1', reported_at: expect.any(Number), ...FULL }
    expect([put.status, put.json]).toEqual([200, shown])
    const { reported_at: at } = put.json as { reported_at: number }
    expect(Math.abs(at - Date.now() / 1_000)).toBeLessThan(60)
    await master.call('PUT', `${ROLLOUTS}/set-0`, { body: rolloutReport() })
    expect((await list(master)).map(({ rollout }) => rollout)).toEqual(['set-0', 'set-1'])
    expect((await list(master))[1]).toEqual(shown)
    const removed = await master.call('DELETE', AT)
    expect([removed.status, removed.json]).toEqual([200, { rollout: 'set-1', removed: true }])
    expect((await master.call('DELETE', AT)).status).toBe(404)
    expect(await list(master)).toHaveLength(1)
  })

  it('show null, false or an empty list for each field that was left out', async () => {
    const master = await runMaster()
    await master.call('PUT', AT, { body: rolloutReport() })
    expect((await list(master))[0]).toMatchObject({
      managed_by: null,
      current_revision: null,
      cause: null,
      paused: false,
      held: false,
      stage_list: [],
      limit: null,
      started_at: null,
      gates: [],
      worst: [],
      changed_fields: [],
      failed: [],
      next: { command: null },
    })
  })

  it.each([
    ['an unknown field', { extra: 1 }],
    ['an unknown field of a set', { set: { namespace: 'a', name: 'b', uid: 'c', config: {} } }],
    ['another phase', { phase: 'Done' }],
    ['a stage above the bound', { stage: ROLLOUT_BOUNDS.stages + 2 }],
    ['a negative count', { counts: { ...FULL.counts, updated: -1 } }],
    ['a count too few', { counts: { updated: 1 } }],
    ['a line break', { message: 'a\nb' }],
    ['half of a surrogate pair', { message: 'a\ud800' }],
    ['a message that is too long', { message: 'x'.repeat(ROLLOUT_BOUNDS.messageChars + 1) }],
    ['a value in place of a pointer', { changed_fields: ['depth=5'] }],
    ['too many fields', { changed_fields: Array.from({ length: 33 }, (_, n) => `/f${n}`) }],
    ['too many workers', { worst: Array.from({ length: 21 }, () => FULL.worst?.[0]) }],
    ['a percentage of 0', { stage_list: [{ workers: '0%', bake_seconds: 1, approval: 'Auto' }] }],
  ])('reject %s', async (_, more) => {
    const master = await runMaster()
    const { status } = await master.call('PUT', AT, { body: { ...FULL, ...more } })
    expect([status, await list(master)]).toEqual([422, []])
  })

  it('reject a report of more than 16 KiB, with its size and the bound', async () => {
    const master = await runMaster()
    const message = 'ü'.repeat(240)
    const workers = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ worker: `${'w'.repeat(250)}${n}`, reason: 'Offline', message }))
    expect((await master.call('PUT', AT, { body: { ...FULL, worst: workers(18) } })).status).toBe(200)
    const tooLarge = { ...FULL, worst: workers(20) }
    const { status, json } = await master.call('PUT', AT, { body: tooLarge })
    const bytes = Buffer.byteLength(JSON.stringify(tooLarge))
    expect(bytes).toBeGreaterThan(MAX_ROLLOUT_BYTES)
    expect([status, json]).toMatchObject([
      422,
      { detail: [{ path: '', message: `the report takes ${bytes} bytes, at most 16384 are allowed` }] },
    ])
    expect((await list(master))[0]).toMatchObject({ worst: { length: 18 } })
  })

  it('reject one report more than the maximum, and still replace the others', async () => {
    const master = await runMaster()
    for (let n = 0; n < MAX_ROLLOUTS; n += 1)
      expect((await master.call('PUT', `${ROLLOUTS}/s-${n}`, { body: rolloutReport() })).status).toBe(200)
    const { status, json } = await master.call('PUT', AT, { body: rolloutReport() })
    expect([status, json]).toMatchObject([
      422,
      { detail: [{ path: '/rollout', message: expect.stringContaining('has 64 rollout reports, its maximum') }] },
    ])
    expect((await master.call('PUT', `${ROLLOUTS}/s-9`, { body: rolloutReport() })).status).toBe(200)
  })

  it('reject a name that no revision could have', async () => {
    const master = await runMaster()
    for (const name of ['A', '-a', 'a%20b', 'a'.repeat(64)])
      expect((await master.call('PUT', `${ROLLOUTS}/${name}`, { body: rolloutReport() })).status).toBe(422)
  })

  it('survive a restart of the master', async () => {
    const first = await runMaster()
    await first.call('PUT', AT, { body: FULL })
    const second = await runMaster({ backend: first.backend })
    expect(await list(second)).toMatchObject([{ rollout: 'set-1', update_revision: 'r2' }])
  })
})

describe('the event rollout.changed', () => {
  it('follows another revision, attempt, phase, stage or pause, and a removal, but no other report', async () => {
    const master = await runMaster()
    const put = (more: Partial<RolloutBody>) => master.call('PUT', AT, { body: rolloutReport(more) })
    await put({})
    await put({ counts: { ...FULL.counts, updated: 7 }, message: 'more' })
    await put({ stage: 2 })
    await put({ stage: 2, phase: 'RollingBack' })
    await put({ stage: 2, phase: 'RollingBack', attempt: 2 })
    await put({ stage: 2, phase: 'RollingBack', attempt: 2, update_revision: 'r3' })
    await put({ stage: 2, phase: 'RollingBack', attempt: 2, update_revision: 'r3', paused: true })
    await put({ stage: 2, phase: 'RollingBack', attempt: 2, update_revision: 'r3', paused: true, held: true })
    await master.call('DELETE', AT)
    await eventually('the events are in the log', async () => (await eventsOf(master)).length >= 7)
    const of = (revision: string, phase: string, stage: number) => ({
      type: 'mailer',
      scope: 'mailer',
      ts: expect.any(Number),
      set: 'prod/crawlers',
      revision,
      phase,
      stage,
    })
    expect(await eventsOf(master)).toEqual([
      of('r2', 'Baking', 1),
      of('r2', 'Baking', 2),
      of('r2', 'RollingBack', 2),
      of('r2', 'RollingBack', 2),
      of('r3', 'RollingBack', 2),
      of('r3', 'RollingBack', 2),
      of('r3', 'Removed', 2),
    ])
  })
})

describe('the overview', () => {
  it('shows the rollouts of a type where there are any, and only types that the token covers', async () => {
    const master = await runMaster()
    const before = (await master.call('GET', '/api/v1/overview')).json as { automations: Record<string, object> }
    expect(Object.values(before.automations).some((each) => 'rollouts' in each)).toBe(false)
    const other = await runMaster()
    await other.call('PUT', AT, { body: FULL })
    const { json } = await other.call('GET', '/api/v1/overview', { token: TOKENS.everyType })
    const { automations } = json as { automations: Record<string, { rollouts?: unknown }> }
    expect(automations['mailer']?.rollouts).toEqual([
      {
        name: 'set-1',
        set: 'prod/crawlers',
        phase: 'Baking',
        paused: true,
        since: 1_767_225_600,
        stage: 1,
        stages: 3,
      },
    ])
    const { mailer: _, ...others } = automations
    expect(Object.values(others).some((each) => 'rollouts' in each)).toBe(false)
  })
})
