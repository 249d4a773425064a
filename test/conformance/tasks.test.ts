/** Tasks from submit to their end. Workers use the rpc route, like the workers of this project. */
import { expect, it } from '@jest/globals'
import { API, onEachStore, SECOND, type Json, type ConformanceFixture } from './fixture.ts'
import { eventually } from '../kit/index.ts'

const MINUTE = 60 * SECOND

onEachStore('tasks', (open) => {
  const withWorker = async (options = {}): Promise<ConformanceFixture> => {
    const world = await open(options)
    await world.worker('w-1')
    await world.worker('b-1', { type: 'brief' })
    return world
  }
  const queue = (world: ConformanceFixture, query = '', type = 'mailer'): Promise<Json> =>
    world.ok('GET', `/${type}/queue${query}`)
  const names = (items: Json[]): string[] => items.map(({ id, task_id: taskId }) => id ?? taskId)

  it('route/submit, task/submit, task/task_id, task/priority-default: queues a task with a generated id', async () => {
    const world = await withWorker()
    const answer = await world.submit({})
    expect(answer).toEqual({ task_id: expect.stringMatching(/^[0-9a-f]{32}$/), queued: true, priority: 0 })
    expect(await world.submit({ task_id: 'mine', priority: 7 })).toEqual({ task_id: 'mine', queued: true, priority: 7 })
  })

  it('task/payload, submit/invalid, error/422-payload: rejects an invalid payload before queueing', async () => {
    const world = await withWorker()
    for (const body of [
      { payload: {} },
      { payload: { to: 7 } },
      { payload: { to: 'x', colour: 'red' } },
      {},
      { payload: 'x' },
    ]) {
      const answer = await world.call('POST', `${API}/automations/mailer/tasks`, { body })
      expect([answer.status, Array.isArray(answer.body.detail)]).toEqual([422, true])
      expect(answer.body.detail[0].path).toMatch(/^\/payload/)
    }
    expect(await queue(world)).toEqual({ length: 0, items: [] })
  })

  it('submit/not-batch, error/400-not-batch, submit/unknown-type: is 400 for a type without TaskPayload, 404 for an unknown type', async () => {
    const world = await withWorker()
    const { status, body } = await world.call('POST', `${API}/automations/probe/tasks`, { body: { payload: {} } })
    expect([status, typeof body.detail]).toEqual([400, 'string'])
    expect(await world.status('POST', '/nowhere/tasks', { payload: {} })).toBe(404)
  })

  it('task/duplicate, task/idempotency_key, submit/idempotency, limits/idempotency: returns the first id for a second submit with one key, for 24 hours', async () => {
    const world = await withWorker()
    const first = await world.submit({ idempotency_key: 'k' })
    expect(await world.submit({ idempotency_key: 'k', payload: { to: 'another' } })).toEqual({
      task_id: first.task_id,
      queued: false,
      duplicate: true,
    })
    expect((await world.submit({ idempotency_key: 'k' }, 'brief')).queued).toBe(true)
    world.time.jump(86_399 * SECOND)
    expect(await world.submit({ idempotency_key: 'k' })).toMatchObject({ duplicate: true })
    world.time.jump(2 * SECOND)
    expect(await world.submit({ idempotency_key: 'k' })).toMatchObject({ queued: true })
    expect((await queue(world)).length).toBe(2)
  })

  it('submit/idempotency-setting: uses the configured window', async () => {
    const world = await withWorker({ idempotencyTtlSeconds: 10 })
    await world.submit({ idempotency_key: 'k' })
    world.time.jump(11 * SECOND)
    expect(await world.submit({ idempotency_key: 'k' })).toMatchObject({ queued: true })
  })

  it('D27: reports a client id that is pending, in flight, scheduled or dead as a duplicate', async () => {
    const world = await withWorker()
    const again = async (): Promise<Json> => world.submit({ task_id: 'mine' })
    await world.submit({ task_id: 'mine' })
    expect(await again()).toEqual({ task_id: 'mine', queued: false, duplicate: true })
    const [task] = await world.reserve('w-1')
    expect(await again()).toMatchObject({ duplicate: true })
    await world.settle('w-1', 'nack', task, { retry_in_ms: 1_000 })
    expect(await again()).toMatchObject({ duplicate: true })
    world.time.jump(1_000)
    const [last] = await world.reserve('w-1')
    await world.settle('w-1', 'nack', last, { permanent: true })
    expect(await again()).toMatchObject({ duplicate: true })
    await world.ok('DELETE', '/mailer/dead')
    expect(await again()).toMatchObject({ queued: true })
  })

  it('task/reserve, task/priority, inspect/order, D29b: drains and lists high, then normal, then low, first in, first out within each tier', async () => {
    const world = await withWorker()
    for (const [id, priority] of [
      ['low', -5],
      ['n1', 0],
      ['high1', 1],
      ['n2', 0],
      ['high2', 900],
      ['low2', -1],
    ] as const)
      await world.submit({ task_id: id, priority })
    const order = ['high1', 'high2', 'n1', 'n2', 'low', 'low2']
    const { length, items } = await queue(world)
    expect([length, names(items), items[0].priority]).toEqual([6, order, 1])
    expect(names(await world.reserve('w-1', 10))).toEqual(order)
  })

  it('queue-item/fields, route/queue, inspect/not-consuming, limits/n-queue, D9e: returns 20 items without n, and removes none', async () => {
    const world = await withWorker()
    for (let i = 0; i < 25; i += 1) await world.submit({ task_id: `t-${i}` })
    const { length, items } = await queue(world)
    expect([length, items.length]).toEqual([25, 20])
    expect(items[0]).toEqual({ id: 't-0', payload: { to: 'x' }, attempt: 0, submitted_at: world.now, priority: 0 })
    expect([(await queue(world, '?n=3')).items.length, (await queue(world)).length]).toEqual([3, 25])
  })

  it('task/ack, D24b, D60b: removes an acked task, and accepts a repeated ack', async () => {
    const world = await withWorker()
    const { task_id: id } = await world.submit({})
    const [task] = await world.reserve('w-1')
    expect(await world.place(id)).toBe('in_flight')
    for (let time = 0; time < 2; time += 1) expect(await world.settle('w-1', 'ack', task)).toEqual({ ok: true })
    expect(await world.place(id)).toBe('gone')
  })

  it('task/nack-attempts-left, D26a, D28a, D60d: schedules a failed task, and leases it again when it is due', async () => {
    const world = await withWorker()
    const { task_id: id } = await world.submit({})
    const [task] = await world.reserve('w-1')
    expect(task.attempt).toBe(0)
    expect(await world.settle('w-1', 'nack', task, { retry_in_ms: 5_000 })).toEqual({ ok: true, outcome: 'scheduled' })
    expect([await world.place(id), await world.reserve('w-1')]).toEqual(['scheduled', []])
    world.time.jump(5_000)
    expect(await world.reserve('w-1')).toMatchObject([{ task_id: id, attempt: 1 }])
  })

  it('task/nack-promoted-by-sweep: moves a due retry back to pending even without a reserve', async () => {
    const world = await withWorker()
    const { task_id: id } = await world.submit({})
    const [task] = await world.reserve('w-1')
    await world.settle('w-1', 'nack', task, { retry_in_ms: 1_000 })
    await world.pass(12 * SECOND)
    await eventually(async () => (await world.place(id)) === 'pending')
  })

  it('D28b: appends a due retry to its own tier', async () => {
    const world = await withWorker()
    await world.submit({ task_id: 'retried', priority: 3 })
    const [task] = await world.reserve('w-1')
    await world.settle('w-1', 'nack', task, { retry_in_ms: 1_000 })
    for (const [id, priority] of [
      ['normal', 0],
      ['high', 1],
    ] as const)
      await world.submit({ task_id: id, priority })
    world.time.jump(1_000)
    expect(names(await world.reserve('w-1', 5))).toEqual(['high', 'retried', 'normal'])
  })

  it('D25c: computes retry delays with base 1 s, factor 2 and full jitter', async () => {
    const world = await withWorker()
    await world.patch('w-1', { max_attempts: 100 })
    await Promise.all(Array.from({ length: 60 }, () => world.submit({})))
    for (const task of await world.reserve('w-1', 60)) await world.settle('w-1', 'nack', task)
    world.time.jump(250)
    const early = await world.reserve('w-1', 60)
    world.time.jump(751)
    const late = await world.reserve('w-1', 60)
    expect([early.length + late.length, early.length > 0, late.length > 0]).toEqual([60, true, true])
  })

  it("task/nack-exhausted, task/max_attempts, D26b: moves a task to the dead letters at its own max_attempts or the worker's", async () => {
    const world = await withWorker()
    await world.patch('w-1', { max_attempts: 2 })
    for (const [id, more, attempts] of [
      ['own', { max_attempts: 1 }, 1],
      ['of-the-worker', {}, 2],
    ] as const) {
      await world.submit({ task_id: id, ...more })
      for (let attempt = 1; attempt <= attempts; attempt += 1) {
        const [task] = await world.reserve('w-1')
        expect([task.attempt, task.max_attempts]).toEqual([attempt - 1, attempts])
        expect(await world.settle('w-1', 'nack', task, { retry_in_ms: 0 })).toEqual({
          ok: true,
          outcome: attempt === attempts ? 'dead' : 'scheduled',
        })
      }
      expect(await world.place(id)).toBe('dead')
    }
  })

  it('task/visibility, limits/sweep, D25a, D26c: puts a task back to the front of its tier when its deadline has passed', async () => {
    const world = await withWorker()
    const { task_id: id } = await world.submit({})
    const [first] = await world.reserve('w-1')
    expect(first.expires_at).toBe(world.now + 60)
    await world.submit({ task_id: 'behind' })
    await world.pass(55 * SECOND)
    expect(await world.place(id)).toBe('in_flight')
    await world.pass(16 * SECOND)
    await eventually(async () => (await world.place(id)) === 'pending')
    const [again] = await world.reserve('w-1')
    expect([again.task_id, again.attempt, again.token > first.token]).toEqual([id, 0, true])
  })

  it('D24a: rejects every operation with an older token, and changes nothing', async () => {
    const world = await withWorker()
    const { task_id: id } = await world.submit({})
    const [stale] = await world.reserve('w-1')
    await world.pass(72 * SECOND)
    await eventually(async () => (await world.place(id)) === 'pending')
    const [current] = await world.reserve('w-1')
    for (const verb of ['ack', 'nack', 'extend', 'release'] as const)
      expect(await world.settle('w-1', verb, stale)).toEqual({ ok: false, error: 'lease_lost' })
    expect(await world.place(id)).toBe('in_flight')
    expect(await world.settle('w-1', 'ack', current)).toEqual({ ok: true })
  })

  it('D25d: uses the visibility timeout and backoff that an automation declares', async () => {
    const world = await withWorker()
    await world.submit({}, 'brief')
    const [task] = await world.reserve('b-1', 1, 'brief')
    expect(task.expires_at).toBe(world.now + 5)
  })

  it('D26d, limits/sweep: moves a task that lost too many leases to the dead letters', async () => {
    const world = await withWorker({ maxLostLeases: 2 })
    const { task_id: id } = await world.submit({}, 'brief')
    for (const place of ['pending', 'dead']) {
      expect(await world.reserve('b-1', 1, 'brief')).toMatchObject([{ attempt: 0 }])
      await world.pass(16 * SECOND)
      await eventually(async () => (await world.place(id, 'brief')) === place)
    }
  })

  it('task/ttl, task/ttl_seconds: drops a task older than its TTL when it is reserved', async () => {
    const world = await withWorker()
    await world.submit({ task_id: 'short', ttl_seconds: 10 })
    await world.submit({ task_id: 'long', ttl_seconds: 100 })
    world.time.jump(11 * SECOND)
    expect(names(await world.reserve('w-1', 5))).toEqual(['long'])
    expect([await world.place('short'), (await world.ok('GET', '/mailer/dead')).length]).toEqual(['gone', 0])
  })

  it('D55a: moves a permanently failed task to the dead letters immediately', async () => {
    const world = await withWorker()
    expect(await world.place(await world.dead('w-1'))).toBe('dead')
  })

  it('D23c, D60c: puts a task back with release, and extends its lease with extend', async () => {
    const world = await withWorker()
    await world.submit({ task_id: 'a' })
    const [task] = await world.reserve('w-1')
    world.time.jump(30 * SECOND)
    expect(await world.settle('w-1', 'extend', task)).toEqual({ ok: true, expires_at: world.now + 60 })
    expect(await world.settle('w-1', 'release', task)).toEqual({ ok: true })
    expect(await world.reserve('w-1')).toMatchObject([{ task_id: 'a', attempt: 0 }])
  })

  it('D29c: returns the state of a task', async () => {
    const world = await withWorker()
    await world.submit({ task_id: 'a' })
    expect(await world.ok('GET', '/mailer/tasks/a')).toEqual({ task_id: 'a', place: 'pending' })
    expect(await world.status('GET', '/mailer/tasks/b')).toBe(404)
  })

  it('D38a, D61a: returns the results of a batch in order, each like that of a single submit', async () => {
    const world = await withWorker()
    const { results } = await world.ok('POST', '/mailer/tasks/batch', {
      tasks: [{ payload: { to: 'x' }, task_id: 'a' }, { payload: {} }, { payload: { to: 'x' }, task_id: 'a' }],
    })
    expect(results).toEqual([
      { task_id: 'a', queued: true, priority: 0 },
      { error: { status: 422, detail: [expect.objectContaining({ path: expect.stringMatching(/^\/payload/) })] } },
      { task_id: 'a', queued: false, duplicate: true },
    ])
    for (const tasks of [[], Array.from({ length: 1_001 }, () => ({ payload: { to: 'x' } })), 'x'])
      expect(await world.status('POST', '/mailer/tasks/batch', { tasks })).toBe(422)
  })

  it('D54b: is 503 with Retry-After when the queue is full', async () => {
    const world = await withWorker({ maxQueueLength: 2 })
    for (let i = 0; i < 2; i += 1) await world.submit({})
    const { status, headers, body } = await world.call('POST', `${API}/automations/mailer/tasks`, {
      body: { payload: { to: 'x' } },
    })
    expect([status, body.detail]).toEqual([503, expect.stringContaining('the queue is full')])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('D56a, D56b, D56c: enforces the bounds of names, priority and ttl_seconds', async () => {
    const world = await withWorker()
    const status = (task: object): Promise<number> =>
      world.status('POST', '/mailer/tasks', { payload: { to: 'x' }, ...task })
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
    const world = await withWorker()
    const waiting = world.rpc('w-1', 'tasks.reserve', { limit: 1, wait_ms: 30_000 })
    await world.submit({ task_id: 'late' })
    expect((await waiting).tasks).toEqual([
      {
        task_id: 'late',
        token: expect.any(Number),
        payload: { to: 'x' },
        attempt: 0,
        max_attempts: 3,
        priority: 0,
        submitted_at: world.now,
        expires_at: world.now + MINUTE / SECOND,
      },
    ])
  })
})
