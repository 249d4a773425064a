/** Tests rpc requests that accept lines, and reserves that stream their leases (D125). */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { runMaster, TOKENS } from '../../kit/running-master.ts'
import { settled, QueueFixture } from '../queue/fixture.ts'

let fixture: QueueFixture
let client: AbortController
beforeEach(async () => {
  fixture = await QueueFixture.open()
  client = new AbortController()
  await fixture.workers(['w', 'v'])
})
afterEach(() => fixture.close())

const call = (id: number, method: string, params: object) => ({ jsonrpc: '2.0', id, method, params })
const stream = (limit: number, more: object = {}) =>
  call(2, 'tasks.reserve', { limit, wait_ms: 25_000, stream: true, ...more })

interface Line {
  readonly id?: number
  readonly params?: { readonly id: number; readonly tasks: readonly { readonly task_id: string }[] }
}
/** What the lines are: the ids of leased tasks, or the id of the call that has ended. */
const summary = (lines: readonly string[]): unknown[] =>
  lines
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
    .map(({ id, params }) => params?.tasks.map((task) => task.task_id) ?? id)

describe('a request that accepts lines', () => {
  it('begins with an empty line, and writes each response when its call has ended', async () => {
    const id = await fixture.submit()
    const [lease] = await fixture.take('w')
    const ack = call(1, 'tasks.ack', { tasks: [{ task_id: id, token: lease?.token }] })
    const { lines, ended } = await fixture.rpcLines('w', [stream(1), ack], client.signal)
    expect(lines).toEqual([''])
    await settled(fixture)
    expect(summary(lines)).toEqual([1])
    const next = await fixture.submit()
    await ended
    expect(summary(lines)).toEqual([1, [next], 2])
    expect(lines.at(-1)).toBe('{"jsonrpc":"2.0","id":2,"result":{"tasks":[]}}')
  })

  it('may be a single call, and has the errors of the usual response', async () => {
    const { lines, ended } = await fixture.rpcLines('w', call(7, 'no.method', {}), client.signal)
    await ended
    expect(lines.slice(1).map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { id: 7, error: { code: -32_601 } },
    ])
  })

  it('writes an empty line every 10 s', async () => {
    const { lines, ended } = await fixture.rpcLines('w', stream(1), client.signal)
    await fixture.time.advance(24_999)
    expect(lines).toEqual(['', '', ''])
    await fixture.time.advance(1)
    await ended
    expect(summary(lines)).toEqual([2])
    await fixture.time.advance(60_000)
    expect(lines).toHaveLength(4)
  })
})

describe('a reserve that streams', () => {
  it('gets each task when it is submitted, until its limit is used up', async () => {
    const { lines, ended } = await fixture.rpcLines('w', stream(3), client.signal)
    const ids: string[] = []
    for (let at = 0; at < 3; at++) {
      ids.push(await fixture.submit())
      await settled(fixture)
      expect(summary(lines).slice(0, 3)).toEqual(ids.map((id) => [id]))
    }
    await ended
    expect(summary(lines)).toEqual([...ids.map((id) => [id]), 2])
  })

  it('takes turns with the streams of other workers', async () => {
    const one = await fixture.rpcLines('w', stream(10), client.signal)
    const other = await fixture.rpcLines('v', stream(10), client.signal)
    await settled(fixture)
    for (let at = 0; at < 6; at++) {
      await fixture.submit()
      await settled(fixture)
    }
    expect([summary(one.lines).length, summary(other.lines).length]).toEqual([3, 3])
  })

  it('ends for a newer one with the same poll_id', async () => {
    const older = await fixture.rpcLines('w', stream(5, { poll_id: 'p' }), client.signal)
    await settled(fixture)
    const newer = await fixture.rpcLines('w', stream(5, { poll_id: 'p' }), client.signal)
    await older.ended
    const id = await fixture.submit()
    await settled(fixture)
    expect([summary(older.lines), summary(newer.lines)]).toEqual([[2], [[id]]])
  })

  it('ends when a drain of its worker is acknowledged (G14)', async () => {
    const { lines, ended } = await fixture.rpcLines('w', stream(5), client.signal)
    await settled(fixture)
    fixture.queue.dismissWaiters({ type: 'mailer', id: 'w' })
    await ended
    expect(summary(lines)).toEqual([2])
  })

  it('ends when more than 4 MiB of leases wait for its client, and it gets no further task', async () => {
    await fixture.submit('x'.repeat(900_000))
    const held: (() => void)[] = []
    const { lines, ended } = await fixture.rpcLines('w', stream(100), client.signal, (chunk, onFlushed) => {
      if (chunk.includes('tasks.leased')) held.push(onFlushed)
    })
    for (let at = 0; at < 6; at++) {
      await settled(fixture)
      await fixture.submit('x'.repeat(900_000))
    }
    await ended
    expect([held.length, summary(lines).at(-1)]).toEqual([5, 2])
  })

  it('loses no lease whose line was not passed to the network when its client disconnects', async () => {
    const flushed: string[] = []
    const { ended } = await fixture.rpcLines('w', stream(5), client.signal, (chunk, onFlushed) => {
      if (flushed.length > 0 || !chunk.includes('tasks.leased')) return
      flushed.push(chunk)
      onFlushed()
    })
    const [first, second] = [await fixture.submit(), (await settled(fixture), await fixture.submit())]
    await settled(fixture)
    expect([await fixture.place(first), await fixture.place(second)]).toEqual(['in_flight', 'in_flight'])
    client.abort()
    await ended
    await settled(fixture)
    expect([await fixture.place(first), await fixture.place(second)]).toEqual(['in_flight', 'pending'])
  })

  it('is refused in a request that does not accept lines, with the field and the header', async () => {
    const { error } = await fixture.tryRpc('w', 'tasks.reserve', { limit: 1, stream: true })
    expect(error).toMatchObject({ code: -32_602, data: { errors: [{ path: '/stream' }] } })
    expect(error?.message).toContain('Accept: application/x-ndjson')
  })
})

it('streams over a socket, with the leases as soon as they are there', async () => {
  const master = await runMaster()
  await master.backend.workers.register([
    { type: 'mailer', id: 'w', conn: 'elsewhere/1', instance: '', hardware: '{}', defaults: '{"max_attempts":3}' },
  ])
  const response = await fetch(`${master.url}/api/v1/automations/mailer/workers/w/rpc`, {
    method: 'POST',
    headers: {
      accept: 'application/x-ndjson',
      authorization: `Bearer ${TOKENS.worker}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify([stream(1)]),
  })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
  const submitted = await master.call('POST', '/api/v1/automations/mailer/tasks', {
    token: TOKENS.admin,
    body: { payload: { to: 'a@b' } },
  })
  const lines = (await response.text()).split('\n')
  expect(summary(lines)).toEqual([[(submitted.json as { task_id: string }).task_id], 2])
})
