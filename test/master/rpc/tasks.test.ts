import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { QueueFixture } from '../queue/fixture.ts'

let fixture: QueueFixture
beforeEach(async () => {
  fixture = await QueueFixture.open()
  await fixture.workers(['w', 'v'])
})
afterEach(() => fixture.close())

interface Taken {
  task_id: string
  token: number
}
const ref = ({ task_id, token }: Taken): Taken => ({ task_id, token })
const LOST = { ok: false, error: 'lease_lost' }

async function taken(worker = 'w'): Promise<Taken> {
  await fixture.submit()
  const [lease] = await fixture.take(worker)
  if (lease === undefined) throw new Error('nothing to take')
  return ref(lease)
}

describe('tasks.reserve', () => {
  it('returns a task with its text as stored and with times in seconds (D60)', async () => {
    const submittedAt = fixture.time.wallMs() / 1_000
    const id = await fixture.submit('é"\\@b', { priority: -2, max_attempts: 9 })
    await fixture.time.advance(250)
    expect(await fixture.take('w')).toEqual([
      {
        task_id: id,
        token: expect.any(Number),
        payload: { to: 'é"\\@b' },
        attempt: 0,
        max_attempts: 9,
        priority: -2,
        submitted_at: submittedAt,
        expires_at: submittedAt + 60.25,
      },
    ])
  })

  it.each([
    [{}],
    [{ limit: 0 }],
    [{ limit: 10_001 }],
    [{ limit: 1.5 }],
    [{ limit: 1, wait_ms: -1 }],
    [{ limit: 1, wait_ms: 30_001 }],
    [{ limit: 1, worker_id: 'v' }],
  ])('refuses %j (D60)', async (params) => {
    expect((await fixture.tryRpc('w', 'tasks.reserve', params)).error?.code).toBe(-32_602)
  })

  it('reaches only the type in the path (S13)', async () => {
    await fixture.submit()
    await fixture.workers(['w'], {}, 'feed')
    expect((await fixture.rpc('w', 'tasks.reserve', { limit: 5 }, { type: 'feed' })).tasks).toEqual([])
  })
})

describe('a lease', () => {
  it('ends with ack: the task is gone, and a repeated ack succeeds (D24, G2)', async () => {
    const lease = await taken()
    for (let round = 0; round < 2; round += 1)
      expect(await fixture.rpc('w', 'tasks.ack', { tasks: [lease] })).toEqual({ results: [{ ok: true }] })
    expect(await fixture.place(lease.task_id)).toBe('gone')
    expect(await fixture.rpc('w', 'tasks.extend', { tasks: [lease] })).toEqual({ results: [LOST] })
  })

  it('returns to the front on release, attempt unchanged; the next token is greater (G5, G8)', async () => {
    const lease = await taken()
    const later = await fixture.submit()
    expect(await fixture.rpc('w', 'tasks.release', { tasks: [lease] })).toEqual({ results: [{ ok: true }] })
    const again = await fixture.take('v', 2)
    expect(again.map(({ task_id, attempt }) => [task_id, attempt])).toEqual([
      [lease.task_id, 0],
      [later, 0],
    ])
    expect(again[0]?.token).toBeGreaterThan(lease.token)
  })

  it('that was issued again is lost for its first holder in every call (D24, G5)', async () => {
    const stale = await taken('w')
    await fixture.time.advance(72_000)
    const [fresh] = await fixture.take('v')
    for (const method of ['tasks.ack', 'tasks.release', 'tasks.extend'] as const)
      expect(await fixture.rpc('w', method, { tasks: [stale] })).toEqual({ results: [LOST] })
    expect(await fixture.rpc('w', 'tasks.nack', { tasks: [{ ...stale, error: 'late' }] })).toEqual({ results: [LOST] })
    expect(await fixture.rpc('v', 'tasks.ack', { tasks: [ref(fresh ?? stale)] })).toEqual({ results: [{ ok: true }] })
  })

  it('with a guessed token, or of a task that never existed, is lost (S13)', async () => {
    const { task_id, token } = await taken()
    const tasks = [
      { task_id, token: token + 1 },
      { task_id, token: 0 },
      { task_id: 'never', token },
      { task_id: '__proto__', token: 1 },
    ]
    for (const method of ['tasks.ack', 'tasks.release', 'tasks.extend'] as const)
      expect((await fixture.rpc('w', method, { tasks })).results).toEqual([LOST, LOST, LOST, LOST])
    expect(await fixture.place(task_id)).toBe('in_flight')
  })

  it('with a token the store has not issued is lost, and counted and logged as a store regression (G26)', async () => {
    const { task_id, token } = await taken()
    const tasks = [{ task_id, token: token + 5 }]
    for (const method of ['tasks.ack', 'tasks.release', 'tasks.extend'] as const)
      expect((await fixture.rpc('w', method, { tasks })).results).toEqual([LOST])
    expect(
      (
        await fixture.rpc('w', 'tasks.nack', {
          tasks: [
            { task_id, token: token + 5, error: 'x' },
            { task_id, token: 1, error: 'x' },
          ],
        })
      ).results,
    ).toEqual([LOST, LOST])
    expect(await fixture.metric('svc_store_regressions_total')).toMatch(/ 4$/)
    expect(fixture.log.lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: expect.stringContaining('lost recent changes'), fields: { task_id, token: token + 5 } },
    ])
  })

  it('is extended to the visibility timeout of the automation, counted from the call (D25)', async () => {
    const lease = await taken()
    for (let third = 0; third < 12; third += 1) {
      await fixture.time.advance(20_000)
      expect(await fixture.rpc('w', 'tasks.extend', { tasks: [lease] })).toEqual({
        results: [{ ok: true, expires_at: fixture.time.wallMs() / 1_000 + 60 }],
      })
    }
    expect(await fixture.take('v')).toEqual([])
    expect(await fixture.rpc('w', 'tasks.ack', { tasks: [lease] })).toEqual({ results: [{ ok: true }] })
  })

  it('is settled by nack: scheduled with backoff while attempts are left, then dead (D26, G8)', async () => {
    await fixture.submit('a@b', { task_id: 'x', max_attempts: 3 })
    const outcomes: unknown[] = []
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const [lease] = await fixture.take('w')
      expect(lease?.attempt).toBe(attempt)
      outcomes.push(
        ...(
          await fixture.rpc('w', 'tasks.nack', {
            tasks: [{ task_id: 'x', token: lease?.token ?? 0, error: `run ${attempt}` }],
          })
        ).results,
      )
      await fixture.time.advance(2 ** attempt * 1_000)
    }
    expect(outcomes).toEqual([
      { ok: true, outcome: 'scheduled' },
      { ok: true, outcome: 'scheduled' },
      { ok: true, outcome: 'dead' },
    ])
    const { json } = await fixture.call('GET', '/automations/mailer/dead')
    expect(json).toMatchObject({ items: [{ id: 'x', attempt: 3, max_attempts: 3, last_error: 'run 2' }] })
  })

  it('nacked as permanent is dead immediately (D55)', async () => {
    const lease = await taken()
    expect(await fixture.rpc('w', 'tasks.nack', { tasks: [{ ...lease, error: 'never', permanent: true }] })).toEqual({
      results: [{ ok: true, outcome: 'dead' }],
    })
  })

  it('nacked with retry_in_ms returns after exactly that time, with 0 immediately (D56)', async () => {
    const lease = await taken()
    await fixture.rpc('w', 'tasks.nack', { tasks: [{ ...lease, error: 'wait', retry_in_ms: 86_400_000 }] })
    await fixture.time.advance(86_399_000)
    expect(await fixture.take('w')).toEqual([])
    await fixture.time.advance(1_000)
    const [again] = await fixture.take('w')
    expect(again).toMatchObject({ task_id: lease.task_id, attempt: 1 })
    await fixture.rpc('w', 'tasks.nack', { tasks: [{ ...ref(again ?? lease), error: 'now', retry_in_ms: 0 }] })
    expect(await fixture.take('w')).toMatchObject([{ task_id: lease.task_id, attempt: 2 }])
  })

  it('has its error text cut at 4,096 characters, never inside a character', async () => {
    const lease = await taken()
    await fixture.rpc('w', 'tasks.nack', {
      tasks: [{ ...lease, error: `${'x'.repeat(4_095)}😀 and more`, permanent: true }],
    })
    const { json } = await fixture.call('GET', '/automations/mailer/dead')
    const { last_error: text } = (json as { items: { last_error: string }[] }).items[0] ?? { last_error: '' }
    expect(text).toHaveLength(4_095)
    expect(text.isWellFormed()).toBe(true)
  })
})

describe('settling many tasks in one call', () => {
  it('returns successes and errors in order, for up to 1,000 tasks (D60)', async () => {
    const tasks = Array.from({ length: 1_000 }, () => ({ payload: { to: 'a@b' } }))
    await fixture.call('POST', '/automations/mailer/tasks/batch', { body: { tasks } })
    const leases = [...(await fixture.take('w', 500)), ...(await fixture.take('w', 500))].map(ref)
    const mixed = leases.map((lease, at) => (at % 2 === 0 ? lease : { ...lease, token: lease.token + 10_000 }))
    const { results } = await fixture.rpc('w', 'tasks.ack', { tasks: mixed })
    expect(results).toEqual(leases.map((_, at) => (at % 2 === 0 ? { ok: true } : LOST)))
  })

  it.each([
    [[]],
    [Array.from({ length: 1_001 }, () => ({ task_id: 'x', token: 1 }))],
    [[{ task_id: 'x' }]],
    [[{ task_id: '', token: 1 }]],
    [[{ task_id: 'x', token: -1 }]],
    [[{ task_id: 'a\ud800', token: 1 }]],
  ])('rejects a list that is not 1..1000 leases or contains an invalid one', async (tasks) => {
    for (const method of ['tasks.ack', 'tasks.release', 'tasks.extend', 'tasks.nack'] as const)
      expect((await fixture.tryRpc('w', method, { tasks })).error?.code).toBe(-32_602)
  })

  it('refuses a retry_in_ms outside 0..86,400,000 (D56)', async () => {
    for (const retry_in_ms of [-1, 86_400_001, 0.5]) {
      const { error } = await fixture.tryRpc('w', 'tasks.nack', {
        tasks: [{ task_id: 'x', token: 1, error: '', retry_in_ms }],
      })
      expect(error?.data['errors']).toMatchObject([{ path: '/tasks/0/retry_in_ms' }])
    }
  })
})
