import { afterEach, describe, expect, it } from '@jest/globals'
import { UNAVAILABLE, entryOf, QueueFixture, type QueueFixtureOptions } from './fixture.ts'
import { Watched } from './watched.ts'

const TASKS = '/automations/mailer/tasks'
const BATCH = `${TASKS}/batch`
const mail = (more: object = {}): object => ({ payload: { to: 'a@b' }, ...more })

let fixture: QueueFixture
const open = async (options: QueueFixtureOptions = {}): Promise<QueueFixture> =>
  (fixture = await QueueFixture.open(options))
afterEach(() => fixture.close())

describe('submitting a task', () => {
  it('queues it under a UUID of 32 hex digits that begins with the time, and returns its priority', async () => {
    await open()
    const { status, json } = await fixture.call('POST', TASKS, { body: mail() })
    expect(status).toBe(200)
    expect(json).toEqual({
      task_id: expect.stringMatching(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/),
      queued: true,
      priority: 0,
    })
    expect(parseInt((json as { task_id: string }).task_id.slice(0, 12), 16)).toBe(fixture.time.wallMs())
  })

  it('keeps the id and the priority of the request', async () => {
    await open()
    const { json } = await fixture.call('POST', TASKS, {
      body: mail({ task_id: 'invoice 7/ü', priority: -2_147_483_648 }),
    })
    expect(json).toEqual({ task_id: 'invoice 7/ü', queued: true, priority: -2_147_483_648 })
    expect(await fixture.place('invoice 7/ü')).toBe('pending')
  })

  it('retains the outcome as long as the type says, unless the task says otherwise (D110)', async () => {
    await open({ entries: [entryOf('mailer', { retainMs: 90_500 })] })
    const body = { tasks: [{}, { retain_seconds: null }, { retain_seconds: 0 }, { retain_seconds: 5 }].map(mail) }
    expect(await fixture.call('POST', BATCH, { body })).toMatchObject({ status: 200 })
    await fixture.submit('a@b')
    const { json } = await fixture.call('GET', '/automations/mailer/queue')
    const { items } = json as { items: readonly { retain_seconds?: number }[] }
    expect(items.map(({ retain_seconds: seconds }) => seconds)).toEqual([90.5, 90.5, undefined, 5, 90.5])
  })

  it('stores the group behind the unique key, whatever it contains (D119)', async () => {
    await open({ entries: [entryOf('mailer', { groups: { maxInFlight: null, rate: null } })] })
    await fixture.workers(['w'])
    const group = '","group_key":"b"},{é\\'
    await fixture.submit('a@b', { retain_seconds: 5, labels: { a: 'b' }, group_key: group, unique_key: 'k"' })
    await fixture.submit('b@c', { group_key: null })
    const leased = await fixture.take('w', 2)
    expect(leased.map(({ group_key: key }) => key)).toEqual([undefined, group]) // The group without a name is first.
    expect(Object.keys(leased[1] ?? {}).slice(-7, -3)).toEqual(['retain_seconds', 'unique_key', 'group_key', 'labels'])
  })

  it('rejects a group for a type without groups, and names the way out (D119)', async () => {
    await open()
    const faults = [expect.objectContaining({ path: '/group_key', message: expect.stringContaining('add "groups"') })]
    const body = mail({ group_key: 'a' })
    expect(await fixture.call('POST', TASKS, { body })).toMatchObject({ status: 422, json: { detail: faults } })
    const { json } = await fixture.call('POST', `${TASKS}/validate`, { body })
    expect(json).toMatchObject({ valid: false, errors: faults })
    expect((await fixture.call('POST', BATCH, { body: { tasks: [mail(), body] } })).json).toMatchObject({
      results: [{ queued: true }, { error: { status: 422, detail: faults } }],
    })
  })

  it('stores payload, priority and submission time, in seconds of the wall clock', async () => {
    await open()
    const submittedAt = fixture.time.wallMs() / 1_000
    const id = await fixture.submit('é"\u2028@b', { priority: 3 })
    const { json } = await fixture.call('GET', '/automations/mailer/queue')
    expect(json).toEqual({
      length: 1,
      items: [{ id, attempt: 0, payload: { to: 'é"\u2028@b' }, priority: 3, submitted_at: submittedAt }],
    })
  })

  it('rejects a payload that violates its schema, with a pointer for every fault (D14)', async () => {
    await open()
    const { status, json } = await fixture.call('POST', TASKS, {
      body: { payload: { to: 'x', lines: [1], extra: true } },
    })
    expect(status).toBe(422)
    expect((json as { detail: { path: string }[] }).detail.map(({ path }) => path).toSorted()).toEqual([
      '/payload/extra',
      '/payload/lines/0',
      '/payload/to',
    ])
    expect(await fixture.metric('svc_submits_refused_total')).toContain('reason="invalid"} 1')
  })

  it.each([
    ['priority', 1.5],
    ['priority', 2 ** 31],
    ['priority', '5'],
    ['ttl_seconds', 0],
    ['ttl_seconds', 31_536_001],
    ['ttl_seconds', -1],
    ['delay_seconds', -0.001],
    ['delay_seconds', 31_536_001],
    ['delay_seconds', '5'],
    ['not_before', -1],
    ['not_before', '2030-01-31T08:00:00Z'],
    ['not_before', 99_999_999_999],
    ['max_attempts', 0],
    ['max_attempts', 1_001],
    ['task_id', ''],
    ['task_id', 'x'.repeat(257)],
    ['task_id', 'a\nb'],
    ['task_id', 'a\ud800'],
    ['idempotency_key', ''],
    ['idempotency_key', '\ud800'],
    ['group_key', ''],
    ['group_key', 7],
    ['group_key', 'a\nb'],
    ['group_key', 'x'.repeat(257)],
    ['payload', []],
    ['payload', 'x'],
    ['unknown', 1],
  ])('refuses %s = %j and names the field (D56)', async (field, value) => {
    await open()
    const { status, json } = await fixture.call('POST', TASKS, { body: { ...mail(), [field]: value } })
    expect(status).toBe(422)
    expect((json as { detail: { path: string }[] }).detail[0]?.path).toBe(`/${field}`)
    expect((await fixture.call('GET', '/automations/mailer/queue')).json).toMatchObject({ length: 0 })
  })

  it('accepts any names of up to 256 characters as plain data (S9)', async () => {
    await open()
    for (const id of ['x'.repeat(256), '{a}*:"\'', '__proto__', 'constructor', '😀'.repeat(256)])
      expect(await fixture.submit('a@b', { task_id: id, idempotency_key: id })).toBe(id)
    expect(await fixture.place('__proto__')).toBe('pending')
  })

  it('keeps keys like __proto__ in a payload as plain data', async () => {
    const anything = entryOf('mailer', { validatePayload: () => [] })
    await open({ entries: [anything] })
    await fixture.call('POST', TASKS, {
      body: JSON.parse('{"payload":{"__proto__":{"a":1},"constructor":2}}') as unknown,
    })
    await fixture.workers(['w'])
    const { json } = await fixture.post('w', { jsonrpc: '2.0', id: 1, method: 'tasks.reserve', params: { limit: 1 } })
    expect(JSON.stringify(json)).toContain('"payload":{"__proto__":{"a":1},"constructor":2}')
  })

  it('is rejected with 400 for a type that is not a batch automation', async () => {
    await open()
    for (const [path, body] of [
      ['/automations/feed/tasks', mail()],
      ['/automations/feed/tasks/batch', { tasks: [mail()] }],
    ] as const) {
      const { status, json } = await fixture.call('POST', path, { body })
      expect(status).toBe(400)
      expect(json).toEqual({ detail: expect.stringContaining('not a batch automation') })
    }
  })

  it('returns 503 with Retry-After when the queue is full, dead tasks included; duplicates succeed (D54)', async () => {
    await open({ settings: { maxQueueLength: 2 } })
    await fixture.workers(['w'])
    const key = await fixture.submit('a@b', { idempotency_key: 'k' })
    const [lease] = await fixture.take('w')
    await fixture.rpc('w', 'tasks.nack', {
      tasks: [{ task_id: key, token: lease?.token ?? 0, error: 'no', permanent: true }],
    })
    await fixture.submit('b@c')
    const refused = await fixture.call('POST', TASKS, { body: mail({ idempotency_key: 'other' }) })
    expect(refused).toMatchObject({
      status: 503,
      headers: { 'retry-after': expect.stringMatching(/^[1-9]/) },
      json: { detail: expect.stringContaining('the queue is full') },
    })
    expect((await fixture.call('POST', TASKS, { body: mail({ idempotency_key: 'k' }) })).json).toEqual({
      task_id: key,
      queued: false,
      duplicate: true,
    })
  })

  it('returns 503 while the store is unavailable, and queues nothing (G18)', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    store.failure = (name) => (name === 'tasks.submit' ? UNAVAILABLE : undefined)
    expect(await fixture.call('POST', TASKS, { body: mail() })).toMatchObject({
      status: 503,
      headers: { 'retry-after': '2' },
    })
    store.failure = () => undefined
    expect((await fixture.call('GET', '/automations/mailer/queue')).json).toEqual({ length: 0, items: [] })
  })

  it('sends the submits of one tick to the store in one call', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    const ids = await Promise.all(['a@b', 'b@c', 'c@d'].map((to) => fixture.submit(to)))
    expect(store.named('tasks.submit').map(([, , tasks]) => (tasks as { id: string }[]).map(({ id }) => id))).toEqual([
      ids,
    ])
  })
})

describe('an idempotency key', () => {
  it('identifies one task: a second submit returns the first id, whatever its body (G7)', async () => {
    await open()
    const id = await fixture.submit('a@b', { idempotency_key: 'k' })
    const { json } = await fixture.call('POST', TASKS, {
      body: { payload: { to: 'other' }, idempotency_key: 'k', priority: 9, task_id: 'mine' },
    })
    expect(json).toEqual({ task_id: id, queued: false, duplicate: true })
    expect(await fixture.place('mine')).toBe('gone')
  })

  it('queues one task out of 50 concurrent submits (G7)', async () => {
    await open()
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => fixture.call('POST', TASKS, { body: mail({ idempotency_key: 'k' }) })),
    )
    const ids = new Set(replies.map(({ json }) => (json as { task_id: string }).task_id))
    expect(ids.size).toBe(1)
    expect(replies.filter(({ json }) => (json as { queued: boolean }).queued)).toHaveLength(1)
  })

  it('can be used again after its window, which a duplicate does not extend', async () => {
    await open({ settings: { idempotencyTtlSeconds: 60 } })
    const first = await fixture.submit('a@b', { idempotency_key: 'k' })
    await fixture.time.advance(59_000)
    expect(await fixture.submit('a@b', { idempotency_key: 'k' })).toBe(first)
    await fixture.time.advance(2_000)
    expect(await fixture.submit('a@b', { idempotency_key: 'k' })).not.toBe(first)
  })

  it('is not used up by a rejected submit (G7)', async () => {
    await open({ settings: { submitRpsPerToken: 1 } })
    expect((await fixture.call('POST', TASKS, { body: { payload: { to: 1 }, idempotency_key: 'k' } })).status).toBe(422)
    expect((await fixture.call('POST', TASKS, { body: mail({ idempotency_key: 'k' }) })).status).toBe(429)
    await fixture.time.advance(1_000)
    expect((await fixture.call('POST', TASKS, { body: mail({ idempotency_key: 'k' }) })).json).toMatchObject({
      queued: true,
    })
  })
})

describe('a task id of the client', () => {
  it('is a duplicate wherever the task is: pending, in flight, scheduled or dead (D27)', async () => {
    await open()
    await fixture.workers(['w'])
    const again = async (): Promise<unknown> =>
      (await fixture.call('POST', TASKS, { body: mail({ task_id: 'x' }) })).json
    const duplicate = { task_id: 'x', queued: false, duplicate: true }
    expect(await again()).toMatchObject({ queued: true })
    expect(await again()).toEqual(duplicate)
    const token = async (): Promise<number> => (await fixture.take('w'))[0]?.token ?? 0
    const first = await token()
    expect(await fixture.place('x')).toBe('in_flight')
    expect(await again()).toEqual(duplicate)
    await fixture.rpc('w', 'tasks.nack', { tasks: [{ task_id: 'x', token: first, error: 'no', retry_in_ms: 5_000 }] })
    expect(await fixture.place('x')).toBe('scheduled')
    expect(await again()).toEqual(duplicate)
    await fixture.time.advance(5_000)
    await fixture.rpc('w', 'tasks.nack', {
      tasks: [{ task_id: 'x', token: await token(), error: 'no', permanent: true }],
    })
    expect(await fixture.place('x')).toBe('dead')
    expect(await again()).toEqual(duplicate)
    await fixture.call('DELETE', '/automations/mailer/dead')
    expect(await again()).toMatchObject({ queued: true })
  })
})

describe('a batch of tasks', () => {
  it('returns one result per task in order, errors beside successes (D38)', async () => {
    await open({ settings: { maxQueueLength: 3 } })
    const { status, json } = await fixture.call('POST', BATCH, {
      body: {
        tasks: [
          mail({ task_id: 'a', priority: 4 }),
          { payload: { to: 1 }, priority: 'x' },
          mail({ idempotency_key: 'k', task_id: 'b' }),
          7,
          mail({ idempotency_key: 'k' }),
          mail({ task_id: 'c' }),
          mail({ task_id: 'd' }),
          mail({ task_id: 'a' }),
        ],
      },
    })
    expect(status).toBe(200)
    expect(json).toEqual({
      results: [
        { task_id: 'a', queued: true, priority: 4 },
        {
          error: {
            status: 422,
            detail: [expect.objectContaining({ path: '/priority' }), expect.objectContaining({ path: '/payload/to' })],
          },
        },
        { task_id: 'b', queued: true, priority: 0 },
        { error: { status: 422, detail: [expect.objectContaining({ path: '' })] } },
        { task_id: 'b', queued: false, duplicate: true },
        { task_id: 'c', queued: true, priority: 0 },
        { error: { status: 503, detail: expect.stringContaining('the queue is full') } },
        { task_id: 'a', queued: false, duplicate: true },
      ],
    })
  })

  it.each([
    [{ tasks: [] }],
    [{ tasks: Array.from({ length: 1_001 }, () => ({ payload: { to: 'a@b' } })) }],
    [{}],
    [{ tasks: [{}], more: 1 }],
  ])('is rejected as a whole outside of 1..1000 tasks (D38)', async (body) => {
    await open()
    expect((await fixture.call('POST', BATCH, { body })).status).toBe(422)
  })

  it('of 1,000 tasks is split for the store, with the results in order', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    const tasks = Array.from({ length: 1_000 }, (_, at) => mail({ task_id: `t${at}` }))
    const { json } = await fixture.call('POST', BATCH, { body: { tasks } })
    expect((json as { results: { task_id: string }[] }).results.map((each) => each.task_id)).toEqual(
      tasks.map((_, at) => `t${at}`),
    )
    expect(store.named('tasks.submit').map(([, , items]) => (items as unknown[]).length)).toEqual([500, 500])
  })

  it('returns an error for each task that the store rejected, and 503 when it rejected all', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    const tasks = Array.from({ length: 501 }, () => mail())
    let submits = 0
    store.failure = (name) => (name === 'tasks.submit' && ++submits === 2 ? UNAVAILABLE : undefined)
    const { json } = await fixture.call('POST', BATCH, { body: { tasks } })
    expect((json as { results: unknown[] }).results[500]).toEqual({
      error: { status: 503, detail: 'the store is unavailable; nothing was changed' },
    })
    expect((json as { results: unknown[] }).results[0]).toMatchObject({ queued: true })
    store.failure = () => UNAVAILABLE
    expect(await fixture.call('POST', BATCH, { body: { tasks: [mail()] } })).toMatchObject({
      status: 503,
      headers: { 'retry-after': '2' },
    })
  })
})

describe('the rate limit', () => {
  it('returns 429 with Retry-After, per token; a batch counts as its length (D21, D38)', async () => {
    await open({ settings: { submitRpsPerToken: 4 } })
    expect((await fixture.call('POST', BATCH, { body: { tasks: [mail(), mail(), mail()] } })).status).toBe(200)
    expect((await fixture.call('POST', TASKS, { body: mail() })).status).toBe(200)
    expect(await fixture.call('POST', TASKS, { body: mail() })).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
    })
    expect((await fixture.call('POST', TASKS, { body: mail(), key: 'another token' })).status).toBe(200)
    await fixture.time.advance(1_000)
    expect((await fixture.call('POST', TASKS, { body: mail() })).status).toBe(200)
  })
})
