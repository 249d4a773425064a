import { afterEach, describe, expect, it } from '@jest/globals'
import { MAX_WAITERS, Waiters } from '../../../src/master/queue/waiters.ts'
import { FleetError } from '../../../src/protocol/index.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { UNAVAILABLE, settled, QueueFixture, type QueueFixtureOptions } from './fixture.ts'
import { Watched } from './watched.ts'

let fixture: QueueFixture
async function open(
  options: QueueFixtureOptions = {},
  workers: readonly string[] = ['w', 'v', 'u'],
): Promise<QueueFixture> {
  fixture = await QueueFixture.open(options)
  await fixture.workers(workers)
  return fixture
}
afterEach(() => fixture.close())

/** A long poll. `seen` shows its outcome as soon as it is known. */
function poll(worker: string, { limit = 1, waitMs = 30_000, signal = new AbortController().signal } = {}) {
  const seen: { ids: string[] | null; error: unknown } = { ids: null, error: null }
  const done = fixture.queue.reserve('mailer', { worker, limit, waitMs, signal }).then(
    (leases) => void (seen.ids = leases.map(({ id }) => id)),
    (error: unknown) => void (seen.error = error),
  )
  return { seen, done }
}

describe('a reserve', () => {
  it('returns pending tasks immediately: high, normal, low, first in, first out within a tier', async () => {
    await open()
    for (const [task_id, priority] of [
      ['n1', 0],
      ['l1', -5],
      ['h1', 5],
      ['n2', 0],
      ['h2', 1],
    ] as const)
      await fixture.submit('a@b', { task_id, priority })
    expect((await fixture.take('w', 10)).map(({ task_id }) => task_id)).toEqual(['h1', 'h2', 'n1', 'n2', 'l1'])
  })

  it('returns empty immediately without wait_ms, and at its deadline with wait_ms', async () => {
    await open()
    expect(await fixture.take('w')).toEqual([])
    const { seen } = poll('w', { waitMs: 5_000 })
    await fixture.time.advance(4_999)
    expect(seen.ids).toBeNull()
    await fixture.time.advance(1)
    expect(seen.ids).toEqual([])
  })

  it('that waits gets the task of a submit immediately', async () => {
    await open()
    const { seen } = poll('w')
    await fixture.time.advance(500)
    const id = await fixture.submit()
    await settled(fixture)
    expect(seen.ids).toEqual([id])
  })

  it('returns at most 500 tasks, whatever its limit (D60)', async () => {
    await open()
    const tasks = Array.from({ length: 600 }, () => ({ payload: { to: 'a@b' } }))
    await fixture.call('POST', '/automations/mailer/tasks/batch', { body: { tasks } })
    expect(await fixture.take('w', 10_000)).toHaveLength(500)
    expect(await fixture.take('w', 10_000)).toHaveLength(100)
  })

  it('serves waiting workers in the order of their arrival', async () => {
    await open()
    const polls = [poll('w'), poll('v'), poll('u')]
    await settled(fixture)
    const ids = [await fixture.submit(), await fixture.submit()]
    await settled(fixture)
    expect(polls.map(({ seen }) => seen.ids)).toEqual([[ids[0]], [ids[1]], null])
  })

  it('leases a task for the visibility timeout of its automation (D25)', async () => {
    await open()
    await fixture.submit()
    const [lease] = await fixture.take('w')
    expect(lease?.expires_at).toBe(fixture.time.wallMs() / 1_000 + 60)
  })

  it('gets a due retry at its due time, without a sweep (D28)', async () => {
    await open()
    const id = await fixture.submit()
    const [lease] = await fixture.take('w')
    await fixture.rpc('w', 'tasks.nack', {
      tasks: [{ task_id: id, token: lease?.token ?? 0, error: 'x', retry_in_ms: 3_210 }],
    })
    const { seen } = poll('w')
    await fixture.time.advance(3_209)
    expect(seen.ids).toBeNull()
    await fixture.time.advance(15)
    expect(seen.ids).toEqual([id])
  })

  it('gets a delayed task when it is due, also if it is submitted while it waits (D104)', async () => {
    await open()
    const { seen } = poll('w')
    await settled(fixture)
    const now = fixture.time.wallMs()
    const late = await fixture.submit('a@b', { delay_seconds: 5 })
    const soon = await fixture.submit('a@b', { not_before: (now + 1_234) / 1_000 })
    expect([await fixture.place(late), await fixture.place(soon)]).toEqual(['scheduled', 'scheduled'])
    await fixture.time.advance(1_233)
    expect(seen.ids).toBeNull()
    await fixture.time.advance(15)
    expect(seen.ids).toEqual([soon])
    const next = poll('w')
    await fixture.time.advance(5_000 - 1_248 - 1)
    expect(next.seen.ids).toBeNull()
    await fixture.time.advance(15)
    expect(next.seen.ids).toEqual([late])
  })

  it('gets its task when the paused queue is resumed, and waits until then (D106)', async () => {
    await open()
    const { seen } = poll('w')
    await settled(fixture)
    await fixture.call('PUT', '/automations/mailer/queue/pause', {})
    const id = await fixture.submit()
    await fixture.time.advance(10_000)
    expect(seen.ids).toBeNull()
    expect(await fixture.take('v')).toEqual([])
    await fixture.call('DELETE', '/automations/mailer/queue/pause')
    await settled(fixture)
    expect(seen.ids).toEqual([id])
  })

  it('gets its task when the pause ends by time (D106)', async () => {
    await open()
    const until = fixture.time.wallMs() / 1_000 + 5.25
    await fixture.call('PUT', '/automations/mailer/queue/pause', { body: { until } })
    const { seen } = poll('w')
    await settled(fixture)
    const id = await fixture.submit()
    await fixture.time.advance(5_249)
    expect(seen.ids).toBeNull()
    await fixture.time.advance(15)
    expect(seen.ids).toEqual([id])
  })

  it('gets a retry that is scheduled while it waits', async () => {
    await open()
    const id = await fixture.submit()
    const [lease] = await fixture.take('w')
    const { seen } = poll('v')
    await settled(fixture)
    await fixture.rpc('w', 'tasks.nack', {
      tasks: [{ task_id: id, token: lease?.token ?? 0, error: 'x', retry_in_ms: 100 }],
    })
    await fixture.time.advance(101)
    expect(seen.ids).toEqual([id])
  })

  it('is woken by a release', async () => {
    await open()
    const id = await fixture.submit()
    const [lease] = await fixture.take('w')
    const first = poll('v')
    await settled(fixture)
    await fixture.rpc('w', 'tasks.release', { tasks: [{ task_id: id, token: lease?.token ?? 0 }] })
    await settled(fixture)
    expect(first.seen.ids).toEqual([id])
  })

  it('gets a task that became ready without a notification within a second (G3)', async () => {
    await open()
    const { seen } = poll('w')
    await settled(fixture)
    await fixture.deps.backend.tasks.submit('mailer', 60_000, [
      {
        id: 'elsewhere',
        ownId: true,
        key: null,
        tier: 1,
        ttlMs: null,
        maxAttempts: null,
        submittedAtMs: 0,
        body: '{"payload":{}}',
      },
    ])
    await fixture.time.advance(1_001)
    expect(seen.ids).toEqual(['elsewhere'])
  })

  it('reserves again immediately when a store call reached its limit', async () => {
    await open()
    const tasks = Array.from({ length: 600 }, () => ({ payload: { to: 'a@b' } }))
    await fixture.call('POST', '/automations/mailer/tasks/batch', { body: { tasks } })
    const polls = [poll('w', { limit: 500 }), poll('v', { limit: 500 })]
    await settled(fixture)
    expect(polls.map(({ seen }) => seen.ids?.length)).toEqual([500, 100])
  })

  it('serves every waiter when a reserve for one of them promoted retries for more', async () => {
    await open()
    await Promise.all([fixture.submit(), fixture.submit()])
    const leases = await fixture.take('w', 2)
    await fixture.rpc('w', 'tasks.nack', {
      tasks: leases.map(({ task_id, token }) => ({ task_id, token, error: 'x', retry_in_ms: 500 })),
    })
    const polls = [poll('w'), poll('v'), poll('u')]
    await settled(fixture)
    fixture.time.jump(600) // After the due time, before its timer fires.
    await fixture.submit()
    await settled(fixture)
    expect(polls.map(({ seen }) => seen.ids?.length)).toEqual([1, 1, 1])
  })

  it('skips any number of tasks whose ttl has passed, and counts them', async () => {
    await open()
    const stale = Array.from({ length: 1_000 }, () => ({ payload: { to: 'a@b' }, ttl_seconds: 1 }))
    for (let batch = 0; batch < 2; batch += 1)
      await fixture.call('POST', '/automations/mailer/tasks/batch', { body: { tasks: stale } })
    const id = await fixture.submit()
    await fixture.time.advance(2_000)
    const { seen } = poll('w')
    await settled(fixture)
    expect(seen.ids).toEqual([id])
    expect(await fixture.metric('svc_tasks_expired_total')).toMatch(/ 2000$/)
  })
})

describe('the attempt limit of a task', () => {
  it('is its own, or that of the worker that reserves it, also after a change of its Config (D26)', async () => {
    await open()
    await fixture.workers(['x'], { max_attempts: 7 })
    const limitOf = async (worker: string, more: object = {}): Promise<number | undefined> => {
      await fixture.submit('a@b', more)
      return (await fixture.take(worker))[0]?.max_attempts
    }
    expect(await limitOf('w')).toBe(3)
    expect(await limitOf('x')).toBe(7)
    expect(await limitOf('x', { max_attempts: 2 })).toBe(2)
    await fixture.deps.backend.configs.put({
      type: 'mailer',
      id: 'x',
      expectGen: 0,
      config: '{"max_attempts":9}',
      changed: ['max_attempts'],
      actor: 'admin',
    })
    expect(await limitOf('x')).toBe(9)
  })
})

describe('the records of workers', () => {
  const configReads = (store: Watched): readonly unknown[] =>
    store.named('configs.get').flatMap(([refs]) => refs as unknown[])

  it('are not read for a reserve: the config is read once, and again after a change', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    for (let i = 0; i < 5; i += 1) {
      await fixture.submit()
      for (const worker of ['w', 'v']) await fixture.take(worker)
    }
    expect([store.named('workers.get'), configReads(store)]).toEqual([
      [],
      [
        { type: 'mailer', id: 'w' },
        { type: 'mailer', id: 'v' },
      ],
    ])
    await fixture.deps.backend.configs.put({
      type: 'mailer',
      id: 'w',
      expectGen: 0,
      config: '{"max_attempts":9}',
      changed: ['max_attempts'],
      actor: 'admin',
    })
    await Promise.all([fixture.submit(), fixture.submit()])
    expect(
      (await Promise.all(['w', 'v'].map((worker) => fixture.take(worker)))).map(([lease]) => lease?.max_attempts),
    ).toEqual([9, 3])
    expect(configReads(store).slice(2)).toEqual([{ type: 'mailer', id: 'w' }])
  })

  it('that change while their workers wait delay no reserve, with or without a wait', async () => {
    await open()
    const waiting = [poll('w'), poll('v')]
    await settled(fixture)
    for (const id of ['w', 'v', 'u']) await fixture.deps.backend.configs.raise([{ type: 'mailer', id, above: 6 }])
    const ids = [await fixture.submit(), await fixture.submit(), await fixture.submit()]
    const hasty = poll('u', { waitMs: 0 })
    await settled(fixture)
    expect([...waiting, hasty].map(({ seen }) => seen.ids)).toEqual(ids.map((id) => [id]))
  })

  it('stay separate for more workers than the cache can hold', async () => {
    const crew = Array.from({ length: 11_000 }, (_, i) => `w${i}`)
    await open({}, crew)
    const polls = crew.map((worker) => poll(worker))
    await settled(fixture)
    expect(polls.filter(({ seen }) => seen.error !== null || seen.ids !== null)).toEqual([])
    await fixture.drain('w0')
    expect((await fixture.tryRpc('w0', 'tasks.reserve', { limit: 1, wait_ms: 30_000 })).result).toEqual({ tasks: [] })
  })
})

describe('a worker that may not take tasks', () => {
  it('gets unknown_worker when it is not registered (D7)', async () => {
    await open()
    expect((await fixture.tryRpc('unregistered', 'tasks.reserve', { limit: 1, wait_ms: 30_000 })).error).toMatchObject({
      code: -32_002,
      data: { code: 'unknown_worker' },
    })
  })

  it('gets an empty result immediately while it drains, and takes no task from others (G14)', async () => {
    await open()
    await fixture.drain('w')
    const id = await fixture.submit()
    const { seen } = poll('w')
    const other = poll('v')
    await settled(fixture)
    expect(seen.ids).toEqual([])
    expect(other.seen.ids).toEqual([id])
  })

  it('gets an empty result when its drain is requested, and no other worker does (G14)', async () => {
    await open()
    const [mine, other] = [poll('w'), poll('v')]
    await settled(fixture)
    await fixture.drain('w')
    await settled(fixture)
    expect(mine.seen.ids).toEqual([])
    expect(other.seen.ids).toBeNull()
    const id = await fixture.submit()
    await settled(fixture)
    expect(other.seen.ids).toEqual([id])
  })

  it('gets an empty result within a second when another master acknowledged its drain (G14)', async () => {
    await open()
    const { seen } = poll('w')
    await settled(fixture)
    await fixture.deps.backend.workers.drain([{ type: 'mailer', id: 'w' }]) // This master gets no signal.
    const id = await fixture.submit()
    await settled(fixture)
    expect([seen.ids, await fixture.place(id)]).toEqual([[], 'pending'])
    expect((await fixture.take('v')).map(({ task_id }) => task_id)).toEqual([id])
    const quiet = poll('u')
    await settled(fixture)
    await fixture.deps.backend.workers.drain([{ type: 'mailer', id: 'u' }])
    await fixture.time.advance(1_000)
    expect(quiet.seen.ids).toEqual([])
  })

  it.each(['configs.get', 'tasks.reserve'])(
    'gets no task when its drain is acknowledged while its reserve is at %s (G14)',
    async (at) => {
      const store = new Watched()
      await open({ backend: store.wrap })
      const id = await fixture.submit()
      let letGo = (): void => {}
      const held = new Promise<void>((resolve) => (letGo = resolve))
      store.gate = (name) => (name === at ? held : undefined)
      const { seen } = poll('w')
      await settled(fixture)
      store.gate = () => undefined
      await fixture.drain('w')
      letGo()
      await settled(fixture)
      expect(seen.ids).toEqual([])
      expect(await fixture.place(id)).toBe('pending')
      expect((await fixture.take('v')).map(({ task_id, attempt }) => [task_id, attempt])).toEqual([[id, 0]])
    },
  )
})

describe('a client that disconnects', () => {
  it('stops waiting, and nothing is leased for it', async () => {
    await open()
    const client = new AbortController()
    const { seen } = poll('w', { signal: client.signal })
    await settled(fixture)
    client.abort()
    const id = await fixture.submit()
    await settled(fixture)
    expect(seen.ids).toEqual([])
    expect(await fixture.place(id)).toBe('pending')
    expect(await fixture.metric('svc_reserve_waiters')).toMatch(/ 0$/)
  })

  it('immediately releases the task that was being leased for it, attempt unchanged (S13)', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    const id = await fixture.submit()
    let letGo = (): void => {}
    const held = new Promise<void>((resolve) => (letGo = resolve))
    store.gate = (name) => (name === 'tasks.reserve' ? held : undefined)
    const client = new AbortController()
    const { seen } = poll('w', { signal: client.signal })
    const next = poll('v')
    await settled(fixture)
    client.abort()
    store.gate = () => undefined
    letGo()
    await settled(fixture)
    expect(seen.ids).toEqual([])
    expect(next.seen.ids).toEqual([id])
  })
})

describe('waiting reserves', () => {
  it('above 20,000 in total are rejected with a time to retry (G17)', async () => {
    await open()
    const time = new VirtualTime()
    const reasons: string[] = []
    const waiters = new Waiters({
      capacity: { taken: MAX_WAITERS },
      timers: time,
      clock: time,
      onRefused: (reason) => reasons.push(reason),
    })
    const refused = waiters.wait({ worker: 'w', limit: 1, waitMs: 1, signal: new AbortController().signal }, () => {})
    await expect(refused).rejects.toEqual(expect.objectContaining({ code: 'OVERLOADED', retryAfterSeconds: 1 }))
    expect(reasons).toEqual(['in_all'])
  })
})

describe('while the store is unavailable', () => {
  it('waiting workers keep waiting, and are served within 2 s of its recovery (G3, G18)', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    const id = await fixture.submit()
    store.failure = (name) => (name === 'tasks.reserve' ? UNAVAILABLE : undefined)
    const { seen } = poll('w')
    await fixture.time.advance(10_000)
    expect(seen).toEqual({ ids: null, error: null })
    store.failure = () => undefined
    await fixture.time.advance(2_000)
    expect(seen.ids).toEqual([id])
    expect(fixture.log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1)
  })

  it('workers that do not wait get the error immediately, the others at their deadline (G18)', async () => {
    const store = new Watched()
    await open({ backend: store.wrap })
    store.failure = (name) => (name === 'tasks.reserve' ? UNAVAILABLE : undefined)
    const hasty = poll('w', { waitMs: 0 })
    const patient = poll('v', { waitMs: 2_500 })
    await settled(fixture)
    expect(hasty.seen.error).toBe(UNAVAILABLE)
    expect(patient.seen.error).toBeNull()
    await fixture.time.advance(2_500)
    expect(patient.seen.error).toBeInstanceOf(FleetError)
  })
})

describe('a master that stops', () => {
  it('returns an empty result to every waiter, and to those that arrive later', async () => {
    await open()
    const before = poll('w')
    await settled(fixture)
    fixture.queue.close()
    const after = poll('v')
    await Promise.all([before.done, after.done])
    expect([before.seen.ids, after.seen.ids]).toEqual([[], []])
  })
})
