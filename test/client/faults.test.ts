/** Tests the client on an unreliable network: it repeats only the calls that may be repeated. */
import { describe, expect, it } from '@jest/globals'
import { MasterError, type ClientOptions, type MasterClient } from '../../src/client/index.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import type { Deed } from './faulty-proxy.ts'
import { advancing, clientOf, emit, makeDead, register, throughProxy } from './fixture.ts'

const failure = (call: Promise<unknown>): Promise<MasterError> =>
  call.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: unknown) => error as MasterError,
  )
const page = (status: number, headers: Record<string, string> = {}): Deed => ({
  status,
  headers: { 'content-type': 'text/html', ...headers },
  body: '<html><h1>Bad gateway</h1>\u001b[2J nginx</html>',
})
const unavailable = (status = 503, headers: Record<string, string> = {}): Deed => ({
  status,
  headers: { 'content-type': 'application/json', 'muster-epoch': 'e', ...headers },
  body: '{"detail":"later"}',
})

describe('a call that may be repeated', () => {
  it.each<[string, Deed]>([
    ['a reset', 'reset before'],
    ['a truncated response', 'cut'],
    ['a 503', unavailable()],
    ['a 502 of a proxy', page(502)],
    ['a 429', unavailable(429)],
  ])('succeeds despite %s', async (_, deed) => {
    const { proxy, client } = await throughProxy([deed, deed])
    expect((await client.me()).body.role).toBe('admin')
    expect(proxy.seen).toHaveLength(3)
  })

  it('fails after its attempts', async () => {
    const { proxy, client } = await throughProxy(
      Array.from({ length: 9 }, () => 'reset before' as const),
      { attempts: 2 },
    )
    expect(await failure(client.me())).toMatchObject({ code: 'BROKEN', isRetryable: true, outcome: 'unknown' })
    expect(proxy.seen).toHaveLength(2)
  })

  it('submits a task with an ID once: the repetition is reported as a duplicate', async () => {
    const { proxy, client } = await throughProxy(['reset after'])
    expect((await client.tasks.submit('mailer', { task_id: 't1', payload: { to: 'ada' } })).body).toEqual({
      task_id: 't1',
      queued: false,
      duplicate: true,
    })
    expect(proxy.seen).toHaveLength(2)
    expect((await client.tasks.queue('mailer')).body.length).toBe(1)
  })

  it('waits as long as Retry-After requests, and fails immediately if that is too long', async () => {
    const time = new VirtualTime()
    const { proxy, client } = await throughProxy([unavailable(503, { 'retry-after': '4' })], {
      clock: time,
      timers: time,
    })
    await advancing(time, client.me())
    expect(time.monotonicMs()).toBeGreaterThanOrEqual(4_000)
    expect(proxy.seen).toHaveLength(2)
    proxy.script.push(unavailable(503, { 'retry-after': '3600' }))
    const before = time.monotonicMs()
    expect(await failure(advancing(time, client.me()))).toMatchObject({ code: 'UNAVAILABLE', retryAfterMs: 30_000 })
    expect(time.monotonicMs() - before).toBeLessThan(15_000)
  })
})

describe('a call that may not be repeated', () => {
  const ACTS: Readonly<Record<string, (client: MasterClient) => Promise<unknown>>> = {
    pop: (client) => client.output.pop('mailer', { n: 1 }),
    replay: (client) => client.tasks.replay('mailer', { n: 1 }),
    cancel: (client) => client.tasks.cancel('mailer', ['a']),
    'clear of the dead': (client) => client.tasks.clearDead('mailer'),
    'config PATCH': (client) => client.workers.patchConfig('mailer', 'w1', { slots: 2 }),
    drain: (client) => client.workers.drain('mailer', 'w1'),
    forget: (client) => client.workers.forget('mailer', 'w1'),
    'submit without a name': (client) => client.tasks.submit('mailer', { payload: { to: 'ada' } }),
  }
  it.each(Object.keys(ACTS))('is sent once, and is unknown if its response is lost: %s', async (name) => {
    const { master, proxy, client } = await throughProxy([])
    await register(master, 'w1')
    await makeDead(master, ['a', 'b'])
    await emit(master, [1, 2])
    for (const deed of ['reset after', unavailable(), page(504)] as const) {
      proxy.seen.length = 0
      proxy.script.push(deed)
      expect(await failure((ACTS[name] as (client: MasterClient) => Promise<unknown>)(client))).toMatchObject({
        outcome: 'unknown',
      })
      expect(proxy.seen).toHaveLength(1)
    }
  })

  it('is sent again only after a 429, which means that nothing was done: a submit', async () => {
    const { proxy, client } = await throughProxy([unavailable(429), unavailable(429)])
    expect((await client.tasks.submit('mailer', { payload: { to: 'ada' } })).body).toMatchObject({ queued: true })
    expect(proxy.seen).toHaveLength(3)
  })
})

describe('a master that is slow or unavailable', () => {
  const patience: Partial<ClientOptions> = { headersMs: 1_000, callMs: 3_000, attempts: 1 }

  it('fails when the response does not start in time, or does not end', async () => {
    for (const [deed, sentence] of [
      ['hang', 'did not start its response within 1 s'],
      ['stall', 'no response from the master within 3 s'],
    ] as const) {
      const time = new VirtualTime()
      const { client } = await throughProxy([deed], { ...patience, clock: time, timers: time })
      expect(await failure(advancing(time, client.me()))).toMatchObject({
        code: 'TIMED_OUT',
        isRetryable: true,
        message: expect.stringContaining(sentence),
      })
      expect(time.pending).toBe(0)
    }
  })

  it('fails when the call with all attempts takes too long', async () => {
    const time = new VirtualTime()
    const { proxy, client } = await throughProxy(['hang', 'hang', 'hang', 'hang', 'hang'], {
      headersMs: 1_000,
      callMs: 2_500,
      attempts: 9,
      clock: time,
      timers: time,
    })
    expect(await failure(advancing(time, client.me()))).toMatchObject({ code: 'TIMED_OUT' })
    expect(time.monotonicMs()).toBeLessThanOrEqual(2_600)
    expect(proxy.seen.length).toBeGreaterThan(1)
  })

  it('is UNREACHABLE when nothing listens, and then nothing was done', async () => {
    const { proxy } = await throughProxy([])
    const { url } = proxy
    await proxy.stop()
    expect(await failure(clientOf(url).workers.drain('mailer', 'w1'))).toMatchObject({
      code: 'UNREACHABLE',
      outcome: 'not_done',
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })

  it('has an unknown outcome when an earlier attempt may have been carried out', async () => {
    const { client } = await throughProxy(['reset after', unavailable(429, {})], { attempts: 2 })
    const submit = client.tasks.submit('mailer', { payload: { to: 'a@b' }, task_id: 'mine' })
    expect(await failure(submit)).toMatchObject({ code: 'RATE_LIMITED', outcome: 'unknown' })
    expect((await client.tasks.get('mailer', 'mine')).body.place).toBe('pending')
  })

  it('is aborted when the caller aborts, with the reason of the caller', async () => {
    for (const deed of ['hang', 'stall', unavailable(503, { 'retry-after': '9' })] as const) {
      const { proxy, client } = await throughProxy([deed])
      const mine = new AbortController()
      const call = failure(client.me({ signal: mine.signal }))
      while (proxy.seen.length === 0) await new Promise((resolve) => setImmediate(resolve))
      mine.abort(new Error('mine'))
      expect((await call).message).toBe('mine')
    }
  })
})

describe('a response that is not from a master', () => {
  it.each<[string, Deed, string]>([
    ['a page', page(200), 'HTTP 200, text/html, "Bad gateway [2J nginx"'],
    ['a page with status 404', page(404), 'HTTP 404'],
    ['a page with status 401', page(401), 'HTTP 401'],
    [
      'JSON of another service',
      { status: 404, headers: { 'content-type': 'application/json' }, body: '{"error":"not here"}' },
      'HTTP 404, application/json',
    ],
    ['nothing', { status: 200, body: '' }, 'without a content type, empty'],
    [
      'a redirect',
      { status: 302, headers: { location: 'https://login.example/?secret=1' }, body: '' },
      'a redirect to login.example;',
    ],
  ])('is FOREIGN and named: %s', async (_, deed, words) => {
    const { client } = await throughProxy([deed])
    const error = await failure(client.workers.get('mailer', 'w1'))
    expect(error).toMatchObject({
      code: 'FOREIGN',
      isRetryable: false,
      message: expect.stringContaining('the response did not come from a Muster master'),
    })
    expect(error.message).toContain(words)
    expect(error.message).not.toContain('secret')
  })

  it('does not count as ready', async () => {
    const { client } = await throughProxy([
      page(503),
      {
        status: 503,
        headers: { 'content-type': 'application/json' },
        body: '{"status":"not ready","parts":{"backend":false}}',
      },
    ])
    expect(await failure(client.ready())).toMatchObject({ code: 'UNAVAILABLE' })
    expect((await client.ready()).body.status).toBe('not ready')
  })
})

it('a followed output continues after an outage of the master, and misses nothing', async () => {
  const { master, proxy, client } = await throughProxy([])
  await emit(master, [1])
  const end = new AbortController()
  const slots: number[] = []
  const lost: string[] = []
  const following = client.output.follow('mailer', {
    n: 1,
    signal: end.signal,
    onLost: (error) => lost.push(error.code),
  })
  for await (const { entries } of following) {
    slots.push(...entries.map((each) => each.slot_id))
    if (slots.length === 1) {
      proxy.script.push('reset before', 'reset before', 'reset before')
      await emit(master, [2, 3])
    } else end.abort()
  }
  expect([slots, lost]).toEqual([[1, 2, 3], ['BROKEN']])
})
