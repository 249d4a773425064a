import { describe, expect, it } from '@jest/globals'
import { onEachStore } from '../stores.ts'
import { MAX_DRY_RUNS_PER_SECOND } from '../../../src/protocol/index.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'

const MAILER = '/api/v1/automations/mailer'
const validate = (master: TestMaster, body: unknown) => master.call('POST', `${MAILER}/tasks/validate`, { body })

const GOOD: readonly object[] = [
  { payload: { to: 'x' } },
  { payload: { to: 'x', more: 1 }, task_id: 't', priority: -5, ttl_seconds: 1, max_attempts: 1, idempotency_key: 'k' },
  { payload: { to: '' }, ttl_seconds: null },
  { payload: { to: 'x' }, delay_seconds: 0.25, not_before: null },
  { payload: { to: 'x' }, delay_seconds: null, not_before: 1.5 },
]
const BAD: readonly object[] = [
  {},
  { payload: [] },
  { payload: { to: 5 } },
  { payload: {} },
  { payload: { to: 'x' }, priority: 1.5 },
  { payload: { to: 'x' }, ttl_seconds: 0, max_attempts: 1_001 },
  { payload: { to: 'x' }, task_id: '' },
  { payload: { to: 'x' }, idempotency_key: 'a\nb' },
  { payload: { to: 'x' }, unknown: 1 },
  { payload: { to: 5 }, delay_seconds: 1, not_before: 1 },
]

onEachStore('tasks/validate', (open) => {
  it('returns the same faults as a submit, and queues nothing (D49)', async () => {
    const { master } = await open()
    for (const body of GOOD)
      expect(await validate(master, body)).toMatchObject({ status: 200, json: { valid: true, errors: [] } })
    for (const body of BAD) {
      const submitted = await master.call('POST', `${MAILER}/tasks`, { body })
      expect(submitted.status).toBe(422)
      expect(await validate(master, body)).toMatchObject({
        status: 200,
        json: { valid: false, errors: (submitted.json as { detail: unknown }).detail },
      })
    }
    expect((await master.call('GET', `${MAILER}/queue`)).json).toEqual({ length: 0, items: [] })
    for (const body of GOOD)
      expect(await master.call('POST', `${MAILER}/tasks`, { body })).toMatchObject({
        status: 200,
        json: { queued: true },
      })
  })
})

describe('dry runs', () => {
  it('have their own limit per token, shared by tasks and configs, and do not count as submits (D71)', async () => {
    const time = new VirtualTime()
    const master = await runMaster({ clock: time, timers: time })
    for (let n = 0; n < MAX_DRY_RUNS_PER_SECOND; n += 1) expect((await validate(master, GOOD[0])).status).toBe(200)
    const refused = await validate(master, GOOD[0])
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect((await master.call('POST', `${MAILER}/workers/w/config/validate`, { body: {} })).status).toBe(429)
    expect(
      (await master.call('POST', `${MAILER}/tasks/validate`, { body: GOOD[0], token: TOKENS.mailer })).status,
    ).toBe(200)
    expect((await master.call('POST', `${MAILER}/tasks`, { body: GOOD[0] })).status).toBe(200)
    await time.advance(1_000)
    expect((await validate(master, GOOD[0])).status).toBe(200)
  })
})

describe('tasks/validate', () => {
  it('lists the faults of body and payload together', async () => {
    const master = await runMaster()
    const { json } = await validate(master, { payload: { to: 5 }, priority: 'high', task_id: '' })
    expect((json as { errors: { path: string }[] }).errors.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/payload/to', '/priority', '/task_id']),
    )
  })

  it('counts against no limit and in no metric (D49)', async () => {
    const master = await runMaster({
      settings: {
        submitRpsPerToken: 1,
        idempotencyTtlSeconds: 3_600,
        maxBodyBytes: 131_072,
        maxLostLeases: 10,
        maxQueueLength: 1,
        maxSockets: 1_000,
      },
    })
    for (let n = 0; n < 20; n += 1) expect((await validate(master, n % 2 === 0 ? GOOD[0] : BAD[0])).status).toBe(200)
    expect((await master.call('POST', `${MAILER}/tasks`, { body: GOOD[0] })).status).toBe(200)
    expect((await master.call('GET', '/metrics')).text).not.toMatch(/^svc_submits_refused_total\{/m)
  })

  it('rejects a body that is not an object, and an automation without tasks, like a submit', async () => {
    const master = await runMaster()
    const responses = await Promise.all(['[]', '{', '1'].map((body) => validate(master, body)))
    expect(responses.map(({ status }) => status)).toEqual([400, 400, 400])
    expect((await master.call('POST', '/api/v1/automations/probe/tasks/validate', { body: GOOD[0] })).status).toBe(400)
    expect(
      (await master.call('POST', `${MAILER}/tasks/validate`, { body: '{}', headers: { 'content-type': 'text/plain' } }))
        .status,
    ).toBe(415)
    expect((await validate(master, { payload: { to: 'x'.repeat(131_072) } })).status).toBe(413)
  })
})
