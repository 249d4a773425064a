import { describe, expect, it } from '@jest/globals'
import { eventually } from '../kit/index.ts'
import type { FaultyProxy } from './faulty-proxy.ts'
import { throughProxy } from './fixture.ts'
import { failureOf, mailer, published, publishedClient } from './published-fixture.ts'

const to = (n: number): { to: string } => ({ to: `${n}@example.com` })
const many = (n: number, from = 0) => Array.from({ length: n }, (_, at) => ({ payload: to(from + at) }))

/** Submits through a proxy with a script of faults. */
async function throughFaults(...script: Parameters<typeof throughProxy>[0]) {
  const { master, proxy } = await throughProxy(script)
  const mails = publishedClient(proxy.url).automation<typeof mailer>('mailer')
  return { master, proxy, mails }
}
const busy = (status: number, headers = {}) => ({
  status,
  headers: { 'content-type': 'application/json', 'muster-epoch': 'e', ...headers },
  body: '{"detail":"busy"}',
})

describe('the submits of one turn', () => {
  it('share a request, up to 1,000 tasks, in order', async () => {
    const { mails, batches } = await published()
    const outcomes = await mails.submitMany(many(2_300))
    expect(batches.map(({ tasks }) => tasks.length)).toEqual([1_000, 1_000, 300])
    const sent = batches.flatMap(({ tasks }) => tasks.map(({ task_id: id }) => id))
    expect(outcomes.map((outcome) => (outcome.kind === 'submitted' ? outcome.task.id : outcome))).toEqual(sent)
    expect((await mails.queue()).length).toBe(2_300)
  })

  it('are divided between two requests if they are many', async () => {
    const { mails, batches } = await published()
    await Promise.all(Array.from({ length: 200 }, (_, n) => mails.submit(to(n))))
    expect(batches.map(({ tasks }) => tasks.length)).toEqual([100, 100])
  })

  it('share one request if one call has submitted them', async () => {
    const { mails, batches } = await published()
    await mails.submitMany(many(200))
    expect(batches.map(({ tasks }) => tasks.length)).toEqual([200])
  })

  it('share a request while two are under way, with what was submitted meanwhile', async () => {
    const { proxy, mails } = await throughFaults()
    const held: (() => void)[] = []
    for (let n = 0; n < 2; n += 1)
      proxy.script.push((response) => {
        held.push(() => response.destroy()) // The batch is then repeated.
      })
    const submits: Promise<unknown>[] = []
    for (let n = 0; n < 5; n += 1) {
      submits.push(mails.submit(to(n)))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(sizes(proxy)).toEqual([1, 1])
    for (const end of held) end()
    await Promise.all(submits)
    expect(sizes(proxy).toSorted((a, b) => a - b)).toEqual([1, 1, 1, 1, 3])
  })

  it('are split below 900 KiB, and further if the master accepts less (413)', async () => {
    const { mails, batches } = await published({}, { maxBodyBytes: 131_072 })
    const text = 'é'.repeat(10_000)
    const outcomes = await mails.submitMany(Array.from({ length: 60 }, () => ({ payload: { to: text } })))
    expect(outcomes.filter(({ kind }) => kind === 'submitted')).toHaveLength(60)
    const bytes = batches.map((batch) => Buffer.byteLength(JSON.stringify(batch)))
    expect(Math.max(...bytes)).toBeLessThan(1_048_576)
    expect(bytes.filter((size) => size > 131_072).length).toBeLessThan(8)
    expect((await mails.queue({ limit: 1 })).length).toBe(60)
    const tooLarge = await failureOf(mails.submit({ to: 'x'.repeat(200_000) }))
    expect(tooLarge).toMatchObject({ code: 'TOO_LARGE', outcome: 'not_done', retryable: false })
  })

  it('are split if they have more values than the master accepts', async () => {
    const { mails } = await published({ fetch: rejectingMoreThan(400) })
    const outcomes = await mails.submitMany(many(1_000))
    expect(outcomes.filter(({ kind }) => kind === 'submitted')).toHaveLength(1_000)
  })
})

describe('an aborted submit', () => {
  it('is taken out of its batch while it waits', async () => {
    const { mails, batches } = await published()
    const end = new AbortController()
    const aborted = mails.submit(to(1), { signal: end.signal })
    const sent = mails.submit(to(2), { id: 'sent' })
    end.abort(new Error('changed my mind'))
    await expect(aborted).rejects.toThrow('changed my mind')
    await sent
    expect(batches.map(({ tasks }) => tasks.map(({ task_id: id }) => id))).toEqual([['sent']])
  })

  it('ends its request only if all submits of it were aborted', async () => {
    const { proxy, mails } = await throughFaults()
    let isClosed = false
    proxy.script.push((response) => void response.on('close', () => (isClosed = true)))
    const ends = [new AbortController(), new AbortController()]
    const submits = ends.map(({ signal }, n) => mails.submit(to(n), { signal }))
    for (const submit of submits) submit.catch(() => {}) // Awaited below.
    await eventually(() => bodies(proxy).length === 1)
    ends[0]?.abort(new Error('first'))
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(isClosed).toBe(false)
    ends[1]?.abort(new Error('second'))
    await expect(submits[0]).rejects.toThrow('first')
    await expect(submits[1]).rejects.toThrow('second')
    await eventually(() => isClosed)
  })
})

describe('a failed batch', () => {
  it('is repeated after a lost response, as the same tasks (G7)', async () => {
    const { proxy, mails } = await throughFaults('reset before', 'reset after', 'cut')
    const tasks = await Promise.all([mails.submit(to(1)), mails.submit(to(2), { id: 'mine' })])
    expect(tasks.map(({ id }) => id).includes('mine')).toBe(true)
    expect(tasks[0].isDuplicate).toBe(false)
    expect(new Set(bodies(proxy)).size).toBe(1)
    expect(bodies(proxy)).toHaveLength(4)
    expect((await mails.queue()).length).toBe(2)
  })

  it('is repeated not earlier than Retry-After', async () => {
    const { proxy, mails } = await throughFaults(busy(429, { 'retry-after': '1' }), busy(503, { 'retry-after': '1' }))
    const startedAt = performance.now()
    await mails.submit(to(1))
    expect(bodies(proxy)).toHaveLength(3)
    expect(performance.now() - startedAt).toBeGreaterThan(1_990)
  })

  it('rejects its submits at the deadline, with an unknown outcome if a request may have arrived', async () => {
    const { proxy } = await throughProxy(['reset after'])
    proxy.rule = () => busy(429, { 'retry-after': '1' })
    const mails = publishedClient(proxy.url, { timeoutMs: 1_000 }).automation<typeof mailer>('mailer')
    const submits = [mails.submit(to(1)), mails.submit(to(2))]
    for (const submit of submits)
      expect(await failureOf(submit)).toMatchObject({ code: 'RATE_LIMITED', outcome: 'unknown', retryable: true })
  })

  it('is not repeated after a lost response with dedupe: false', async () => {
    const { master, proxy } = await throughProxy(['reset after'])
    const mails = publishedClient(proxy.url, { dedupe: false }).automation<typeof mailer>('mailer')
    expect(await failureOf(mails.submit(to(1)))).toMatchObject({ code: 'BROKEN', outcome: 'unknown' })
    proxy.script.push('reset after')
    await mails.submit(to(2), { idempotencyKey: 'k' }) // Its own key makes it safe.
    expect((await publishedClient(master.url).automation('mailer').queue()).length).toBe(2)
    expect(JSON.parse(bodies(proxy)[0] ?? '').tasks[0]).not.toHaveProperty('idempotency_key')
  })

  it('is not repeated after a lost response if the key of a task may be forgotten by then', async () => {
    const { proxy, mails } = await throughFaults('reset after')
    const short = { idempotencyKey: 'k', idempotencyTtlSeconds: 59 }
    expect(await failureOf(mails.submit(to(1), short))).toMatchObject({ code: 'BROKEN', outcome: 'unknown' })
    expect(bodies(proxy)).toHaveLength(1)
    proxy.script.push('reset after')
    await mails.submit(to(2), { ...short, idempotencyKey: 'l', idempotencyTtlSeconds: 60 })
    expect(bodies(proxy)).toHaveLength(3)
  })

  it('names a key for twice the timeout, and for a minute at least', async () => {
    for (const [timeoutMs, seconds] of [
      [1_000, 60],
      [45_500, 91],
    ] as const) {
      const { mails, batches } = await published({ timeoutMs })
      const { id } = await mails.submit(to(1))
      expect(batches[0]?.tasks[0]).toMatchObject({ idempotency_key: id, idempotency_ttl_seconds: seconds })
    }
  })
})

describe('pop and replay', () => {
  it('are never repeated, since a repetition would take further entries', async () => {
    const { proxy, mails } = await throughFaults()
    for (const call of [
      () => mails.pop(1),
      () => mails.deadLetters.replayOldest(1),
      () => mails.deadLetters.replay(['a']),
    ]) {
      proxy.script.push('reset after')
      const before = bodies(proxy).length
      expect(await failureOf(call())).toMatchObject({ code: 'BROKEN', outcome: 'unknown', retryable: true })
      expect(bodies(proxy)).toHaveLength(before + 1)
    }
  })
})

/** The bodies of the changes that a proxy has seen; the kit reads the OpenAPI document as well. */
const bodies = (proxy: FaultyProxy): string[] =>
  proxy.seen.flatMap(({ method, body }) => (method === 'POST' ? [body] : []))

/** Numbers of tasks of the batches that a proxy has seen. */
const sizes = (proxy: FaultyProxy): number[] =>
  bodies(proxy).map((body) => (JSON.parse(body) as { tasks: unknown[] }).tasks.length)

/** Responds like a master to a body with too many values, for a batch above a number of tasks. */
const rejectingMoreThan =
  (limit: number): typeof fetch =>
  (url, init) => {
    const { tasks } = JSON.parse(init?.body as string) as { tasks: unknown[] }
    if (tasks.length <= limit) return fetch(url, init)
    const detail = [{ path: '', message: 'has more than 100000 values', keyword: 'maxValues', params: {} }]
    const headers = { 'muster-epoch': 'e' }
    return Promise.resolve(new Response(JSON.stringify({ detail }), { status: 422, headers }))
  }
