/** Tasks from submit to their end. Workers use the rpc route, like the workers of this project. */
import { expect, it } from '@jest/globals'
import { API, onEachStore, SECOND, type Json, type ConformanceFixture } from './fixture.ts'
import { eventually } from '../kit/index.ts'

const MINUTE = 60 * SECOND

onEachStore('tasks', (open) => {
  const withWorker = async (options = {}): Promise<ConformanceFixture> => {
    const fixture = await open(options)
    await fixture.worker('w-1')
    await fixture.worker('b-1', { type: 'brief' })
    return fixture
  }
  const queue = (fixture: ConformanceFixture, query = '', type = 'mailer'): Promise<Json> =>
    fixture.ok('GET', `/${type}/queue${query}`)
  const names = (items: Json[]): string[] => items.map(({ id, task_id: taskId }) => id ?? taskId)

  it('route/submit, task/submit, task/task_id, task/priority-default: queues a task with a generated id', async () => {
    const fixture = await withWorker()
    const answer = await fixture.submit({})
    expect(answer).toEqual({ task_id: expect.stringMatching(/^[0-9a-f]{32}$/), queued: true, priority: 0 })
    expect(await fixture.submit({ task_id: 'mine', priority: 7 })).toEqual({
      task_id: 'mine',
      queued: true,
      priority: 7,
    })
  })

  it('task/payload, submit/invalid, error/422-payload: rejects an invalid payload before queueing', async () => {
    const fixture = await withWorker()
    for (const body of [
      { payload: {} },
      { payload: { to: 7 } },
      { payload: { to: 'x', colour: 'red' } },
      {},
      { payload: 'x' },
    ]) {
      const answer = await fixture.call('POST', `${API}/automations/mailer/tasks`, { body })
      expect([answer.status, Array.isArray(answer.body.detail)]).toEqual([422, true])
      expect(answer.body.detail[0].path).toMatch(/^\/payload/)
    }
    expect(await queue(fixture)).toEqual({ length: 0, items: [] })
  })

  it(
    'submit/not-batch, error/400-not-batch, submit/unknown-type: ' +
      'is 400 for a type without TaskPayload, 404 for an unknown type',
    async () => {
      const fixture = await withWorker()
      const { status, body } = await fixture.call('POST', `${API}/automations/probe/tasks`, { body: { payload: {} } })
      expect([status, typeof body.detail]).toEqual([400, 'string'])
      expect(await fixture.status('POST', '/nowhere/tasks', { payload: {} })).toBe(404)
    },
  )

  it(
    'task/duplicate, task/idempotency_key, submit/idempotency, limits/idempotency: ' +
      'returns the first id for a second submit with one key, for 24 hours',
    async () => {
      const fixture = await withWorker()
      const first = await fixture.submit({ idempotency_key: 'k' })
      expect(await fixture.submit({ idempotency_key: 'k', payload: { to: 'another' } })).toEqual({
        task_id: first.task_id,
        queued: false,
        duplicate: true,
      })
      expect((await fixture.submit({ idempotency_key: 'k' }, 'brief')).queued).toBe(true)
      fixture.time.jump(86_399 * SECOND)
      expect(await fixture.submit({ idempotency_key: 'k' })).toMatchObject({ duplicate: true })
      fixture.time.jump(2 * SECOND)
      expect(await fixture.submit({ idempotency_key: 'k' })).toMatchObject({ queued: true })
      expect((await queue(fixture)).length).toBe(2)
    },
  )

  it('D104a, D104b: schedules a task with delay_seconds or not_before, and delivers it when it is due', async () => {
    const fixture = await withWorker()
    const { task_id: later } = await fixture.submit({ delay_seconds: 60.5 })
    const { task_id: soon } = await fixture.submit({ not_before: fixture.now + 30, priority: 1 })
    const { task_id: now } = await fixture.submit({ not_before: fixture.now - 30 })
    expect([await fixture.place(later), await fixture.place(soon), await fixture.place(now)]).toEqual([
      'scheduled',
      'scheduled',
      'pending',
    ])
    expect(await queue(fixture)).toMatchObject({ length: 1, items: [{ id: now, not_before: fixture.now - 30 }] })
    expect(names(await fixture.reserve('w-1', 10))).toEqual([now])
    const at = fixture.now
    fixture.time.jump(30 * SECOND)
    const [urgent] = await fixture.reserve('w-1', 10)
    expect(urgent).toMatchObject({ task_id: soon, not_before: at + 30, submitted_at: at })
    fixture.time.jump(30.5 * SECOND)
    expect(names(await fixture.reserve('w-1', 10))).toEqual([later])
  })

  it('D104c: counts ttl_seconds from the delay, and delayed tasks towards the bound of the queue', async () => {
    const fixture = await withWorker({ maxQueueLength: 2 })
    for (let i = 0; i < 2; i += 1) await fixture.submit({ delay_seconds: 60, ttl_seconds: 10 })
    expect(await fixture.status('POST', '/mailer/tasks', { payload: { to: 'x' } })).toBe(503)
    fixture.time.jump(69 * SECOND)
    expect(await fixture.reserve('w-1', 1)).toHaveLength(1)
    fixture.time.jump(2 * SECOND)
    expect(await fixture.reserve('w-1', 1)).toEqual([])
    expect((await queue(fixture)).length).toBe(0)
  })

  it('D104d: rejects both times together, and bad ones, in a submit, a batch item and a dry run', async () => {
    const fixture = await withWorker()
    const good = { payload: { to: 'x' } }
    const bad = [
      { ...good, delay_seconds: 1, not_before: 1 },
      { ...good, delay_seconds: -1 },
      { ...good, delay_seconds: 31_536_001 },
      { ...good, not_before: fixture.now + 31_536_100 },
    ]
    for (const body of bad) {
      expect(await fixture.status('POST', '/mailer/tasks', body)).toBe(422)
      expect(await fixture.ok('POST', '/mailer/tasks/validate', body)).toMatchObject({ valid: false })
    }
    const tasks = [...bad, { ...good, delay_seconds: 31_536_000 }, { ...good, delay_seconds: null, not_before: null }]
    const { results } = await fixture.ok('POST', '/mailer/tasks/batch', { tasks })
    expect((results as Json[]).map(({ error, queued }) => error?.status ?? queued)).toEqual([
      422,
      422,
      422,
      422,
      true,
      true,
    ])
    expect((await queue(fixture)).length).toBe(1)
  })

  it('submit/idempotency-setting: uses the configured window', async () => {
    const fixture = await withWorker({ idempotencyTtlSeconds: 10 })
    await fixture.submit({ idempotency_key: 'k' })
    fixture.time.jump(11 * SECOND)
    expect(await fixture.submit({ idempotency_key: 'k' })).toMatchObject({ queued: true })
  })

  it('D105a: shortens the window of one key with idempotency_ttl_seconds', async () => {
    const fixture = await withWorker()
    const both = async (): Promise<boolean[]> => {
      const tasks = [{ idempotency_key: 'short', idempotency_ttl_seconds: 60 }, { idempotency_key: 'long' }]
      const body = { tasks: tasks.map((task) => ({ payload: { to: 'a@b' }, ...task })) }
      const { results } = await fixture.ok('POST', '/mailer/tasks/batch', body)
      return (results as { queued: boolean }[]).map(({ queued }) => queued)
    }
    expect(await both()).toEqual([true, true])
    fixture.time.jump(59 * SECOND)
    expect(await both()).toEqual([false, false])
    fixture.time.jump(2 * SECOND)
    expect(await both()).toEqual([true, false])
  })

  it('D105b: rejects a window without a key, of 0, and above the setting', async () => {
    const fixture = await withWorker({ idempotencyTtlSeconds: 600 })
    const good = { payload: { to: 'a@b' }, idempotency_key: 'k' }
    for (const window of [0, 1.5, 601, '60'])
      expect(await fixture.status('POST', '/mailer/tasks', { ...good, idempotency_ttl_seconds: window })).toBe(422)
    const keyless = { payload: { to: 'a@b' }, idempotency_ttl_seconds: 60 }
    const { body } = await fixture.call('POST', `${API}/automations/mailer/tasks/validate`, { body: keyless })
    expect(body.errors).toMatchObject([{ path: '/idempotency_ttl_seconds', message: 'needs idempotency_key' }])
    const tasks = [keyless, { ...good, idempotency_ttl_seconds: 600 }, { ...good, idempotency_ttl_seconds: null }]
    const { results } = await fixture.ok('POST', '/mailer/tasks/batch', { tasks })
    expect((results as Json[]).map(({ error, queued }) => error?.status ?? queued)).toEqual([422, true, false])
  })

  it('D27: reports a client id that is pending, in flight, scheduled or dead as a duplicate', async () => {
    const fixture = await withWorker()
    const again = async (): Promise<Json> => fixture.submit({ task_id: 'mine' })
    await fixture.submit({ task_id: 'mine' })
    expect(await again()).toEqual({ task_id: 'mine', queued: false, duplicate: true })
    const [task] = await fixture.reserve('w-1')
    expect(await again()).toMatchObject({ duplicate: true })
    await fixture.settle('w-1', 'nack', task, { retry_in_ms: 1_000 })
    expect(await again()).toMatchObject({ duplicate: true })
    fixture.time.jump(1_000)
    const [last] = await fixture.reserve('w-1')
    await fixture.settle('w-1', 'nack', last, { permanent: true })
    expect(await again()).toMatchObject({ duplicate: true })
    await fixture.ok('DELETE', '/mailer/dead')
    expect(await again()).toMatchObject({ queued: true })
  })

  it(
    'task/reserve, task/priority, inspect/order, D29b: ' +
      'drains and lists high, then normal, then low, first in, first out within each tier',
    async () => {
      const fixture = await withWorker()
      for (const [id, priority] of [
        ['low', -5],
        ['n1', 0],
        ['high1', 1],
        ['n2', 0],
        ['high2', 900],
        ['low2', -1],
      ] as const)
        await fixture.submit({ task_id: id, priority })
      const order = ['high1', 'high2', 'n1', 'n2', 'low', 'low2']
      const { length, items } = await queue(fixture)
      expect([length, names(items), items[0].priority]).toEqual([6, order, 1])
      expect(names(await fixture.reserve('w-1', 10))).toEqual(order)
    },
  )

  it(
    'queue-item/fields, route/queue, inspect/not-consuming, limits/n-queue, D9e: ' +
      'returns 20 items without n, and removes none',
    async () => {
      const fixture = await withWorker()
      for (let i = 0; i < 25; i += 1) await fixture.submit({ task_id: `t-${i}` })
      const { length, items } = await queue(fixture)
      expect([length, items.length]).toEqual([25, 20])
      expect(items[0]).toEqual({ id: 't-0', payload: { to: 'x' }, attempt: 0, submitted_at: fixture.now, priority: 0 })
      expect([(await queue(fixture, '?n=3')).items.length, (await queue(fixture)).length]).toEqual([3, 25])
    },
  )

  it('task/ack, D24b, D60b: removes an acked task, and accepts a repeated ack', async () => {
    const fixture = await withWorker()
    const { task_id: id } = await fixture.submit({})
    const [task] = await fixture.reserve('w-1')
    expect(await fixture.place(id)).toBe('in_flight')
    for (let time = 0; time < 2; time += 1) expect(await fixture.settle('w-1', 'ack', task)).toEqual({ ok: true })
    expect(await fixture.place(id)).toBe('gone')
  })

  it('task/nack-attempts-left, D26a, D28a, D60d: schedules a failed task, and leases it again when due', async () => {
    const fixture = await withWorker()
    const { task_id: id } = await fixture.submit({})
    const [task] = await fixture.reserve('w-1')
    expect(task.attempt).toBe(0)
    expect(await fixture.settle('w-1', 'nack', task, { retry_in_ms: 5_000 })).toEqual({
      ok: true,
      outcome: 'scheduled',
    })
    expect([await fixture.place(id), await fixture.reserve('w-1')]).toEqual(['scheduled', []])
    fixture.time.jump(5_000)
    expect(await fixture.reserve('w-1')).toMatchObject([{ task_id: id, attempt: 1 }])
  })

  it('task/nack-promoted-by-sweep: moves a due retry back to pending even without a reserve', async () => {
    const fixture = await withWorker()
    const { task_id: id } = await fixture.submit({})
    const [task] = await fixture.reserve('w-1')
    await fixture.settle('w-1', 'nack', task, { retry_in_ms: 1_000 })
    await fixture.pass(12 * SECOND)
    await eventually(async () => (await fixture.place(id)) === 'pending')
  })

  it('D28b: appends a due retry to its own tier', async () => {
    const fixture = await withWorker()
    await fixture.submit({ task_id: 'retried', priority: 3 })
    const [task] = await fixture.reserve('w-1')
    await fixture.settle('w-1', 'nack', task, { retry_in_ms: 1_000 })
    for (const [id, priority] of [
      ['normal', 0],
      ['high', 1],
    ] as const)
      await fixture.submit({ task_id: id, priority })
    fixture.time.jump(1_000)
    expect(names(await fixture.reserve('w-1', 5))).toEqual(['high', 'retried', 'normal'])
  })

  it('D25c: computes retry delays with base 1 s, factor 2 and full jitter', async () => {
    const fixture = await withWorker()
    await fixture.patch('w-1', { max_attempts: 100 })
    await Promise.all(Array.from({ length: 60 }, () => fixture.submit({})))
    for (const task of await fixture.reserve('w-1', 60)) await fixture.settle('w-1', 'nack', task)
    fixture.time.jump(250)
    const early = await fixture.reserve('w-1', 60)
    fixture.time.jump(751)
    const late = await fixture.reserve('w-1', 60)
    expect([early.length + late.length, early.length > 0, late.length > 0]).toEqual([60, true, true])
  })

  it(
    'task/nack-exhausted, task/max_attempts, D26b: ' +
      "moves a task to the dead letters at its own max_attempts or the worker's",
    async () => {
      const fixture = await withWorker()
      await fixture.patch('w-1', { max_attempts: 2 })
      for (const [id, more, attempts] of [
        ['own', { max_attempts: 1 }, 1],
        ['of-the-worker', {}, 2],
      ] as const) {
        await fixture.submit({ task_id: id, ...more })
        for (let attempt = 1; attempt <= attempts; attempt += 1) {
          const [task] = await fixture.reserve('w-1')
          expect([task.attempt, task.max_attempts]).toEqual([attempt - 1, attempts])
          expect(await fixture.settle('w-1', 'nack', task, { retry_in_ms: 0 })).toEqual({
            ok: true,
            outcome: attempt === attempts ? 'dead' : 'scheduled',
          })
        }
        expect(await fixture.place(id)).toBe('dead')
      }
    },
  )

  it('task/visibility, limits/sweep, D25a, D26c: returns a task to the front of its tier at its deadline', async () => {
    const fixture = await withWorker()
    const { task_id: id } = await fixture.submit({})
    const [first] = await fixture.reserve('w-1')
    expect(first.expires_at).toBe(fixture.now + 60)
    await fixture.submit({ task_id: 'behind' })
    await fixture.pass(55 * SECOND)
    expect(await fixture.place(id)).toBe('in_flight')
    await fixture.pass(16 * SECOND)
    await eventually(async () => (await fixture.place(id)) === 'pending')
    const [again] = await fixture.reserve('w-1')
    expect([again.task_id, again.attempt, again.token > first.token]).toEqual([id, 0, true])
  })

  it('D24a: rejects every operation with an older token, and changes nothing', async () => {
    const fixture = await withWorker()
    const { task_id: id } = await fixture.submit({})
    const [stale] = await fixture.reserve('w-1')
    await fixture.pass(72 * SECOND)
    await eventually(async () => (await fixture.place(id)) === 'pending')
    const [current] = await fixture.reserve('w-1')
    for (const verb of ['ack', 'nack', 'extend', 'release'] as const)
      expect(await fixture.settle('w-1', verb, stale)).toEqual({ ok: false, error: 'lease_lost' })
    expect(await fixture.place(id)).toBe('in_flight')
    expect(await fixture.settle('w-1', 'ack', current)).toEqual({ ok: true })
  })

  it('D25d: uses the visibility timeout and backoff that an automation declares', async () => {
    const fixture = await withWorker()
    await fixture.submit({}, 'brief')
    const [task] = await fixture.reserve('b-1', 1, 'brief')
    expect(task.expires_at).toBe(fixture.now + 5)
  })

  it('D26d, limits/sweep: moves a task that lost too many leases to the dead letters', async () => {
    const fixture = await withWorker({ maxLostLeases: 2 })
    const { task_id: id } = await fixture.submit({}, 'brief')
    for (const place of ['pending', 'dead']) {
      expect(await fixture.reserve('b-1', 1, 'brief')).toMatchObject([{ attempt: 0 }])
      await fixture.pass(16 * SECOND)
      await eventually(async () => (await fixture.place(id, 'brief')) === place)
    }
  })

  it('task/ttl, task/ttl_seconds: drops a task older than its TTL when it is reserved', async () => {
    const fixture = await withWorker()
    await fixture.submit({ task_id: 'short', ttl_seconds: 10 })
    await fixture.submit({ task_id: 'long', ttl_seconds: 100 })
    fixture.time.jump(11 * SECOND)
    expect(names(await fixture.reserve('w-1', 5))).toEqual(['long'])
    expect([await fixture.place('short'), (await fixture.ok('GET', '/mailer/dead')).length]).toEqual(['gone', 0])
  })

  it('D55a: moves a permanently failed task to the dead letters immediately', async () => {
    const fixture = await withWorker()
    expect(await fixture.place(await fixture.dead('w-1'))).toBe('dead')
  })

  it('D23c, D60c: puts a task back with release, and extends its lease with extend', async () => {
    const fixture = await withWorker()
    await fixture.submit({ task_id: 'a' })
    const [task] = await fixture.reserve('w-1')
    fixture.time.jump(30 * SECOND)
    expect(await fixture.settle('w-1', 'extend', task)).toEqual({ ok: true, expires_at: fixture.now + 60 })
    expect(await fixture.settle('w-1', 'release', task)).toEqual({ ok: true })
    expect(await fixture.reserve('w-1')).toMatchObject([{ task_id: 'a', attempt: 0 }])
  })

  it('D29c: returns the state of a task', async () => {
    const fixture = await withWorker()
    await fixture.submit({ task_id: 'a' })
    expect(await fixture.ok('GET', '/mailer/tasks/a')).toEqual({ task_id: 'a', place: 'pending' })
    expect(await fixture.status('GET', '/mailer/tasks/b')).toBe(404)
  })

  it('D38a, D61a: returns the results of a batch in order, each like that of a single submit', async () => {
    const fixture = await withWorker()
    const { results } = await fixture.ok('POST', '/mailer/tasks/batch', {
      tasks: [{ payload: { to: 'x' }, task_id: 'a' }, { payload: {} }, { payload: { to: 'x' }, task_id: 'a' }],
    })
    expect(results).toEqual([
      { task_id: 'a', queued: true, priority: 0 },
      { error: { status: 422, detail: [expect.objectContaining({ path: expect.stringMatching(/^\/payload/) })] } },
      { task_id: 'a', queued: false, duplicate: true },
    ])
    for (const tasks of [[], Array.from({ length: 1_001 }, () => ({ payload: { to: 'x' } })), 'x'])
      expect(await fixture.status('POST', '/mailer/tasks/batch', { tasks })).toBe(422)
  })

  it('D54b: is 503 with Retry-After when the queue is full', async () => {
    const fixture = await withWorker({ maxQueueLength: 2 })
    for (let i = 0; i < 2; i += 1) await fixture.submit({})
    const { status, headers, body } = await fixture.call('POST', `${API}/automations/mailer/tasks`, {
      body: { payload: { to: 'x' } },
    })
    expect([status, body.detail]).toEqual([503, expect.stringContaining('the queue is full')])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('D56a, D56b, D56c: enforces the bounds of names, priority and ttl_seconds', async () => {
    const fixture = await withWorker()
    const status = (task: object): Promise<number> =>
      fixture.status('POST', '/mailer/tasks', { payload: { to: 'x' }, ...task })
    for (const good of [
      { task_id: 'x'.repeat(256) },
      { priority: 2 ** 31 - 1 },
      { priority: -(2 ** 31) },
      { ttl_seconds: 1 },
      { ttl_seconds: 31_536_000 },
      { idempotency_key: 'x'.repeat(256) },
      { max_attempts: 1_000 },
    ])
      expect([good, await status(good)]).toEqual([good, 200])
    for (const bad of [
      { task_id: '' },
      { task_id: 'x'.repeat(257) },
      { task_id: 'a\u0000b' },
      { priority: 2 ** 31 },
      { priority: 0.5 },
      { ttl_seconds: 0 },
      { ttl_seconds: 31_536_001 },
      { idempotency_key: '' },
      { max_attempts: 0 },
      { colour: 'red' },
    ])
      expect([bad, await status(bad)]).toEqual([bad, 422])
  })

  it('about/long-poll, D60a: keeps a reserve waiting until the next task arrives', async () => {
    const fixture = await withWorker()
    const waiting = fixture.rpc('w-1', 'tasks.reserve', { limit: 1, wait_ms: 30_000 })
    await fixture.submit({ task_id: 'late' })
    expect((await waiting).tasks).toEqual([
      {
        task_id: 'late',
        token: expect.any(Number),
        payload: { to: 'x' },
        attempt: 0,
        max_attempts: 3,
        priority: 0,
        submitted_at: fixture.now,
        expires_at: fixture.now + MINUTE / SECOND,
      },
    ])
  })
})
