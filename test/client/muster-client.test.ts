import { describe, expect, it } from '@jest/globals'
import { defineContinuous, Type } from '../../src/automation/index.ts'
import { MusterClient, MusterError, type FleetEvent } from '../../src/client/public.ts'
import { eventually, freePort } from '../kit/index.ts'
import { runMaster, TOKENS } from '../kit/running-master.ts'
import { throughProxy } from './fixture.ts'
import { emit, makeDead } from './fixture.ts'
import { failureOf, mailer, published, publishedClient } from './published-fixture.ts'

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

describe('submit', () => {
  it('queues a task with all its options', async () => {
    const { mails, master } = await published()
    const soon = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 60_000)
    const labels = { tenant: 'acme' }
    const extras = {
      labels,
      retry: { baseSeconds: 2, factor: 3, capSeconds: 4 },
      traceparent: TRACE,
      tracestate: 'v=1',
    }
    const task = await mails.submit({ to: 'ada' }, { priority: 7, ttlSeconds: 60, maxAttempts: 2, ...extras })
    expect(task).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/),
      isDuplicate: false,
    })
    await mails.submit({ to: 'bob' }, { notBefore: soon, id: 'later' })
    await mails.submit({ to: 'cyd' }, { delaySeconds: 0.5, id: 'soon' })
    expect(await mails.getTask('later')).toMatchObject({ id: 'later', place: 'scheduled' })
    expect(await mails.getTask('soon')).toMatchObject({ id: 'soon', place: 'scheduled' })
    const { length, items } = await mails.queue({ limit: 5 })
    expect([length, items]).toEqual([
      1,
      [
        {
          id: task.id,
          payload: { to: 'ada' },
          attempt: 0,
          priority: 7,
          submittedAt: expect.any(Date),
          notBefore: null,
          labels,
        },
      ],
    ])
    const { json } = await master.call('GET', '/api/v1/automations/mailer/queue')
    expect(json).toMatchObject({
      items: [{ retry: { base_seconds: 2, factor: 3, cap_seconds: 4 }, traceparent: TRACE, tracestate: 'v=1' }],
    })
    expect(Math.abs((items[0]?.submittedAt.getTime() ?? 0) - Date.now())).toBeLessThan(60_000)
  })

  it('shows the pause of a queue while it lasts (D106)', async () => {
    const { mails, master } = await published()
    expect((await mails.queue()).paused).toBeNull()
    const put = await fetch(`${master.url}/api/v1/automations/mailer/queue/pause`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${TOKENS.admin}`, 'content-type': 'application/json', 'muster-actor': 'ada' },
      body: '{"note":"deploy","seconds":3600}',
    })
    expect(put.status).toBe(200)
    const { paused } = await mails.queue()
    expect(paused).toMatchObject({ note: 'deploy', actor: 'admin ada' })
    expect((paused?.until?.getTime() ?? 0) - (paused?.since.getTime() ?? 0)).toBeGreaterThan(3_599_000)
  })

  it('reports a duplicate of an id or of an idempotency key, with the id of the first task', async () => {
    const { mails } = await published()
    const first = await mails.submit({ to: 'ada' }, { idempotencyKey: 'k', idempotencyTtlSeconds: 60 })
    expect(await mails.submit({ to: 'bob' }, { idempotencyKey: 'k' })).toEqual({ id: first.id, isDuplicate: true })
    await mails.submit({ to: 'ada' }, { id: 'mine' })
    expect(await mails.submit({ to: 'ada' }, { id: 'mine' })).toEqual({ id: 'mine', isDuplicate: true })
    await mails.submit({ to: 'ada' }, { id: 'a', uniqueKey: 'u' })
    expect(await mails.submit({ to: 'bob' }, { uniqueKey: 'u' })).toEqual({ id: 'a', isDuplicate: true })
    const replacing = { id: 'b', uniqueKey: 'u', uniqueUntil: 'finished', onConflict: 'replace' } as const
    expect(await mails.submit({ to: 'bob' }, replacing)).toEqual({ id: 'b', isDuplicate: false, replacedId: 'a' })
    expect((await mails.queue()).length).toBe(3)
  })

  it('sends the group of a task, which an automation without groups refuses (D119)', async () => {
    const { mails } = await published()
    const error = await failureOf(mails.submit({ to: 'ada' }, { groupKey: 'acme' }))
    expect(error.faults.map(({ field }) => field)).toEqual(['/group_key'])
  })

  it('queues an id again after its task is finished: its own key is drawn for each submit', async () => {
    const { master, mails } = await published()
    await mails.submit({ to: 'ada' }, { id: 'mine' })
    await makeDead(master, ['mine'])
    await mails.deadLetters.deleteAll()
    expect(await mails.submit({ to: 'ada' }, { id: 'mine' })).toMatchObject({ isDuplicate: false })
  })

  it('names every fault of a task, and settles the tasks beside it', async () => {
    const { mails } = await published()
    const wrong = { to: 7 } as unknown as { to: string }
    const outcomes = await mails.submitMany([
      { payload: { to: 'ada' }, id: 'good' },
      { payload: wrong, priority: 0.5 },
      { payload: { to: 'bob' }, id: 'good' },
    ])
    expect(outcomes).toMatchObject([
      { kind: 'submitted', task: { id: 'good', isDuplicate: false } },
      { kind: 'failed', error: expect.any(MusterError) },
      { kind: 'submitted', task: { id: 'good', isDuplicate: true } },
    ])
    const error = await failureOf(mails.submit(wrong, { priority: 0.5 }))
    expect(error).toMatchObject({ code: 'INVALID', outcome: 'not_done', retryable: false })
    expect(error.requestId).toMatch(/./)
    expect(error.faults.map(({ field }) => field).toSorted()).toEqual(['/payload/to', '/priority'])
    expect(error.faults[0]?.problem).toMatch(/./)
  })

  it('cancels tasks, with one outcome per id (D109)', async () => {
    const { master, mails } = await published()
    await makeDead(master, ['dead'])
    const { id } = await mails.submit({ to: 'ada' })
    const later = await mails.submit({ to: 'bob' }, { delaySeconds: 60 })
    expect(await mails.cancel([id, 'dead', later.id, 'none'])).toEqual([
      { id, outcome: 'cancelled' },
      { id: 'dead', outcome: 'dead' },
      { id: later.id, outcome: 'cancelled' },
      { id: 'none', outcome: 'not_found' },
    ])
    expect((await mails.queue()).length).toBe(0)
    expect(await failureOf(mails.getTask(later.id))).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('rejects a payload that is not JSON, and sends nothing', async () => {
    const { mails, batches } = await published()
    await expect(mails.submit({ to: 1n as unknown as string })).rejects.toThrow(TypeError)
    expect(batches).toEqual([])
  })
})

describe('dead letters', () => {
  it('are listed, replayed and deleted', async () => {
    const { master, mails } = await published()
    const { deadLetters } = mails
    await makeDead(master, ['a', 'b', 'c', 'd'])
    const { length, items } = await deadLetters.list({ limit: 1 })
    expect([length, items]).toMatchObject([4, [{ id: 'a', payload: { to: 'a' }, lastError: 'no such address: a' }]])
    expect(items[0]?.diedAt).toBeInstanceOf(Date)
    expect(await deadLetters.replay(['c', 'x'])).toEqual([
      { id: 'c', outcome: 'replayed' },
      { id: 'x', outcome: 'not_dead' },
    ])
    expect(await deadLetters.delete(['d'])).toEqual([{ id: 'd', outcome: 'removed' }])
    expect([await deadLetters.replayOldest(1), await deadLetters.deleteAll()]).toEqual([1, 1])
    expect((await mails.queue()).items.map(({ id }) => id)).toEqual(['c', 'a'])
  })
})

describe('outputs', () => {
  it('continue after a cursor, and report entries that were removed', async () => {
    const { master, mails } = await published()
    await emit(master, [1, 2, 3])
    const seen: unknown[] = []
    for await (const output of mails.outputs({ last: 2 })) {
      if (output.gap) continue
      seen.push(output)
      if (seen.length === 2) break
    }
    expect(seen).toMatchObject([
      { gap: false, slotId: 2, payload: { sent: true }, emittedAt: new Date(1_000) },
      { gap: false, slotId: 3 },
    ])
    const { id: cursor } = (await mails.peek(1))[0] ?? { id: '' }
    expect((await mails.pop(2)).map(({ slotId }) => slotId)).toEqual([1, 2])
    await emit(master, [4])
    const later: unknown[] = []
    for await (const output of mails.outputs({ after: cursor })) {
      later.push(output.gap ? 'gap' : output.slotId)
      if (later.length === 3) break
    }
    expect(later).toEqual(['gap', 3, 4])
  })

  it('end when the signal aborts, and begin with new entries without a cursor', async () => {
    const { master, mails } = await published()
    await emit(master, [1])
    const end = new AbortController()
    const seen: number[] = []
    let next = 1
    const done = (async () => {
      for await (const output of mails.outputs({ signal: end.signal })) {
        if (!output.gap) seen.push(output.slotId)
        end.abort()
      }
    })()
    await eventually(async () => {
      next += 1
      await emit(master, [next])
      return seen.length === 1
    })
    await done
    expect(seen[0]).toBeGreaterThan(1)
  })

  it('throw when the master rejects the request', async () => {
    const { client } = await published()
    expect(await failureOf(client.automation('nowhere').outputs().next())).toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('events', () => {
  it('resume after the last one, and report a position that is gone as a reset (D31)', async () => {
    const { client, mails } = await published()
    const take = async (lastEventId?: string): Promise<FleetEvent> => {
      const end = new AbortController()
      const events = client.events({ lastEventId, signal: end.signal })
      const next = events.next()
      const submits = setInterval(() => void mails.submit({ to: 'ada' }), 50)
      const { value } = await next.finally(() => clearInterval(submits))
      end.abort()
      return value as FleetEvent
    }
    const first = await take()
    expect(first).toMatchObject({ kind: 'event', name: 'queue.totals', data: { type: 'mailer' } })
    expect(await take(first.id)).toMatchObject({ kind: 'event', name: 'queue.totals' })
    expect(await take('another-epoch.7')).toMatchObject({ kind: 'reset' })
  })

  it('report a reset when the stream broke before its first event', async () => {
    const { proxy } = await throughProxy([
      (response) =>
        response.writeHead(200, { 'content-type': 'text/event-stream', 'muster-epoch': 'e' }).end(': hello\n\n'),
    ])
    const events = publishedClient(proxy.url).events()
    expect((await events.next()).value).toEqual({ kind: 'reset', id: '' })
    expect(proxy.seen).toHaveLength(2)
    await events.return()
  })

  it('throw when the token is wrong', async () => {
    const { url } = await runMaster()
    const events = publishedClient(url, { token: 'wrong' }).events()
    expect(await failureOf(events.next())).toMatchObject({ code: 'FORBIDDEN', outcome: 'not_done' })
  })
})

describe('a client', () => {
  it('reads its token for every request, also asynchronously', async () => {
    const { url } = await runMaster()
    const tokens = [TOKENS.admin, 'wrong']
    const { queue } = bound(publishedClient(url, { token: async () => tokens.shift() ?? '' }))
    expect((await queue()).length).toBe(0)
    expect(await failureOf(queue())).toMatchObject({ code: 'FORBIDDEN', retryable: false, outcome: 'not_done' })
  })

  it('rejects with the error of the token, and does not wait longer for it than for a response', async () => {
    const { url } = await runMaster()
    const broken = bound(publishedClient(url, { token: () => Promise.reject(new Error('no token today')) }))
    await expect(broken.queue()).rejects.toThrow('no token today')
    const slow = bound(publishedClient(url, { timeoutMs: 1_000, token: () => new Promise<string>(() => {}) }))
    expect(await failureOf(slow.queue())).toMatchObject({ code: 'TIMED_OUT' })
  })

  it('passes the reason of an aborted signal through, for each call', async () => {
    const { client, mails } = await published()
    const reason = new Error('the caller left')
    const signal = AbortSignal.abort(reason)
    const calls = [
      mails.submit({ to: 'a' }, { signal }),
      mails.getTask('a', { signal }),
      client.findTask('a', { signal }),
      mails.listTasks({ signal }).next(),
      mails.queue({ signal }),
      mails.peek(1, { signal }),
      mails.pop(1, { signal }),
      mails.deadLetters.list({ signal }),
      mails.cancel(['a'], { signal }),
      mails.deadLetters.replay(['a'], { signal }),
      mails.deadLetters.replayOldest(1, { signal }),
      mails.deadLetters.deleteAll({ signal }),
    ]
    for (const call of calls) await expect(call).rejects.toBe(reason)
  })

  it('says that nothing was sent when there is no master', async () => {
    const client = publishedClient(`http://127.0.0.1:${await freePort()}`, { timeoutMs: 1_000 })
    const error = await failureOf(client.automation('mailer').submit({}))
    expect(error).toMatchObject({ code: 'UNREACHABLE', outcome: 'not_sent', retryable: true, faults: [] })
  })

  it('checks its options', () => {
    expect(() => publishedClient('ftp://master')).toThrow(TypeError)
    expect(() => publishedClient('http://master', { timeoutMs: 0 })).toThrow('timeoutMs must be 1000 to 600000')
  })

  it('records its actor with every change (D39)', async () => {
    const { proxy } = await throughProxy([])
    const mails = publishedClient(proxy.url, { actor: 'shop' }).automation('mailer')
    await mails.deadLetters.deleteAll()
    await mails.queue()
    expect(proxy.seen.map(({ headers }) => headers['muster-actor'])).toEqual(['shop', undefined])
  })
})

/** Methods of the type `mailer`, apart from their object. */
function bound(client: MusterClient) {
  const mails = client.automation<typeof mailer>('mailer')
  return { queue: () => mails.queue() }
}

const ticker = defineContinuous({ type: 'ticker', output: Type.Object({ at: Type.Number() }), run: () => {} })

/** Code that must not compile. tsc checks this function; a missing error fails the check. It is never called. */
export async function typesOf(client: MusterClient): Promise<void> {
  const mails = client.automation<typeof mailer>('mailer')
  await mails.submit({ to: 'ada' })
  // @ts-expect-error the payload has no such field
  await mails.submit({ from: 'ada' })
  // @ts-expect-error the field is a string
  await mails.submitMany([{ payload: { to: 7 } }])
  const to: string | undefined = (await mails.queue()).items[0]?.payload.to
  const [entry] = await mails.peek(1)
  const sent: boolean | undefined = entry?.payload.sent
  // @ts-expect-error the output has no such field
  void entry?.payload.bytes
  for await (const output of mails.outputs()) {
    // @ts-expect-error a gap has no payload
    void output.payload
    if (!output.gap) void (output.payload.sent satisfies boolean)
  }
  await client.automation(mailer).submit({ to: 'bob' })
  // @ts-expect-error inferred from the value too
  await client.automation(mailer).submit({})
  const ticks = client.automation<typeof ticker>('ticker')
  const at: number | undefined = (await ticks.peek(1))[0]?.payload.at
  // @ts-expect-error a continuous automation has no tasks
  await ticks.submit({})
  const any = client.automation('mailer')
  await any.submit({ what: 'ever' })
  const unknown: unknown = (await any.peek(1))[0]?.payload['bytes']
  // @ts-expect-error a payload is an object
  await any.submit('text')
  void [to, sent, at, unknown]
}
