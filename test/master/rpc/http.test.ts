/** Queue and rpc of a whole master over real sockets: faults that only HTTP can cause. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { startMaster, type RunningMaster } from '../../../src/master/index.ts'
import { MAX_BUS_STREAMS_PER_WORKER } from '../../../src/protocol/index.ts'
import { seededRandom, systemTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import type { TaskPlace } from '../../../src/storage/index.ts'
import { recordingLog } from '../../kit/index.ts'
import { entryOf } from '../queue/fixture.ts'

const ADMIN = 'admin-token-of-this-test'
const WORKER = 'worker-token-of-this-test'
const RPC = '/api/v1/automations/mailer/workers/w/rpc'

let backend: MemoryBackend
let master: RunningMaster

beforeEach(async () => {
  const random = seededRandom(1)
  backend = new MemoryBackend({ clock: systemTime, random })
  master = await startMaster({
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemTime,
    timers: systemTime,
    random,
    log: recordingLog(),
    backend,
    backendScheme: 'memory',
    version: '0.0.0',
    catalog: new Map([['mailer', entryOf('mailer')]]),
    dashboardDir: null,
    tokens: { admin: ADMIN, worker: WORKER, workerPeers: [], scopes: new Map() },
    settings: {
      submitRpsPerToken: 0,
      idempotencyTtlSeconds: 60,
      maxBodyBytes: 1_048_576,
      maxLostLeases: 10,
      maxQueueLength: 1_000,
      maxSockets: 1_000,
    },
  })
  await backend.workers.register([
    { type: 'mailer', id: 'w', conn: 'elsewhere/1', instance: '', hardware: '{}', defaults: '{"max_attempts":3}' },
  ])
})
afterEach(() => master.stop())

async function post(path: string, body: unknown, token = WORKER): Promise<{ status: number; json: unknown }> {
  const response = await fetch(`${master.url}${path}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  })
  const text = await response.text()
  return { status: response.status, json: text === '' ? null : (JSON.parse(text) as unknown) }
}
const call = (method: string, params: object, id = 1): object => ({ jsonrpc: '2.0', id, method, params })
const submit = (to = 'a@b'): Promise<{ status: number; json: unknown }> =>
  post('/api/v1/automations/mailer/tasks', { payload: { to } }, ADMIN)
const placeOf = async (id: string): Promise<TaskPlace | null> => (await backend.tasks.locate('mailer', [id]))[0] ?? null

describe('a task over HTTP', () => {
  it('wakes a long poll, is leased and settled, in UTF-8 throughout', async () => {
    const waiting = post(RPC, call('tasks.reserve', { limit: 5, wait_ms: 20_000 }))
    const { json: submitted } = await submit('ü😀@b')
    const { task_id: id } = submitted as { task_id: string }
    const { json } = (await waiting) as { json: { result: { tasks: { task_id: string; token: number }[] } } }
    expect(json.result.tasks).toMatchObject([{ task_id: id, payload: { to: 'ü😀@b' } }])
    const tasks = json.result.tasks.map(({ task_id, token }) => ({ task_id, token }))
    expect((await post(RPC, [call('tasks.ack', { tasks }), call('kv.get', { key: 'k' }, 2)])).json).toEqual([
      { jsonrpc: '2.0', id: 1, result: { results: [{ ok: true }] } },
      { jsonrpc: '2.0', id: 2, result: { value: null } },
    ])
    expect(await placeOf(id)).toBeNull()
  })

  it('is returned immediately when the client disconnects while its reserve is served (S13)', async () => {
    const socket = connect(master.port, '127.0.0.1')
    const body = JSON.stringify(call('tasks.reserve', { limit: 1, wait_ms: 20_000 }))
    socket.write(
      `POST ${RPC} HTTP/1.1\r\n` +
        'Host: m\r\n' +
        `Authorization: Bearer ${WORKER}\r\n` +
        'Content-Type: application/json\r\n' +
        `Content-Length: ${body.length}\r\n` +
        '\r\n' +
        body,
    )
    await once(socket, 'connect')
    const other = post(RPC, call('tasks.reserve', { limit: 1, wait_ms: 20_000 }))
    socket.destroy()
    await once(socket, 'close')
    const { json } = await submit()
    expect((await other).json).toMatchObject({
      result: { tasks: [{ task_id: (json as { task_id: string }).task_id }] },
    })
  })
})

describe('concurrent reserves of one worker over HTTP (D78)', () => {
  const tasksOf = (json: unknown): string[] =>
    (json as { result: { tasks: { task_id: string }[] } }).result.tasks.map(({ task_id: id }) => id)
  const waiters = async (count: number): Promise<void> => {
    const line = `svc_reserve_waiters{automation_type="mailer"} ${count}\n`
    while (!(await (await fetch(`${master.url}/metrics`)).text()).includes(line)) {
      /* Read again until all of them wait. */
    }
  }

  it('in eight requests: all wait, and each gets one of eight tasks', async () => {
    const waiting = Array.from({ length: 8 }, () => post(RPC, call('tasks.reserve', { limit: 1, wait_ms: 20_000 })))
    await waiters(8)
    const ids = await Promise.all(
      Array.from({ length: 8 }, async () => ((await submit()).json as { task_id: string }).task_id),
    )
    const taken = (await Promise.all(waiting)).map(({ json }) => tasksOf(json))
    expect(taken.map(({ length }) => length)).toEqual(Array(8).fill(1))
    expect(taken.flat().toSorted()).toEqual(ids.toSorted())
  })

  it('in one JSON-RPC batch: all eight wait, and each gets one of eight tasks', async () => {
    const waiting = post(
      RPC,
      Array.from({ length: 8 }, (_, id) => call('tasks.reserve', { limit: 1, wait_ms: 20_000 }, id)),
    )
    await waiters(8)
    await Promise.all(Array.from({ length: 8 }, () => submit()))
    const { json } = (await waiting) as { json: unknown[] }
    expect(json.map((each) => tasksOf(each).length)).toEqual(Array(8).fill(1))
  })

  it('with the same poll_id: the new one ends the one whose connection was lost, and no other', async () => {
    const lost = post(RPC, call('tasks.reserve', { limit: 1, wait_ms: 20_000, poll_id: 'thread-1' }))
    const other = post(RPC, call('tasks.reserve', { limit: 1, wait_ms: 20_000, poll_id: 'thread-2' }))
    await waiters(2)
    const next = post(RPC, call('tasks.reserve', { limit: 1, wait_ms: 20_000, poll_id: 'thread-1' }))
    expect(tasksOf((await lost).json)).toEqual([])
    await Promise.all([submit(), submit()])
    expect((await Promise.all([other, next])).map(({ json }) => tasksOf(json).length)).toEqual([1, 1])
  })
})

describe('the body of an rpc request', () => {
  it.each([
    ['not JSON', '{"jsonrpc"'],
    ['a number', '7'],
    ['null', 'null'],
    ['text', '"x"'],
  ])('that is %s returns 400 (D14, D60)', async (_, body) => {
    expect((await post(RPC, body)).status).toBe(400)
  })

  it('that contains only notifications returns an empty response', async () => {
    expect(await post(RPC, [{ jsonrpc: '2.0', method: 'counter.add', params: { name: 'n', delta: 1 } }])).toEqual({
      status: 204,
      json: null,
    })
  })

  it('of another role is rejected, and an array on another route returns 400', async () => {
    expect((await post(RPC, call('kv.get', { key: 'k' }), ADMIN)).status).toBe(403)
    expect((await post('/api/v1/automations/mailer/tasks', '[]', ADMIN)).status).toBe(400)
  })
})

describe('the bus over HTTP', () => {
  it('is an event stream that ends when the master stops', async () => {
    const response = await fetch(`${master.url}/api/v1/automations/mailer/workers/w/bus?topic=a&topic=b`, {
      headers: { authorization: `Bearer ${WORKER}` },
    })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    const text = response.text()
    await master.stop()
    expect(await text).toMatch(/^: listening\n\n/)
  })
})

describe('a master that stops', () => {
  it('returns no tasks to a waiting reserve', async () => {
    const waiting = post(RPC, call('tasks.reserve', { limit: 1, wait_ms: 30_000 }))
    const waiters = async (): Promise<string> => (await fetch(`${master.url}/metrics`)).text()
    while (!(await waiters()).includes('svc_reserve_waiters{automation_type="mailer"} 1')) {
      /* Read again until the reserve has arrived. */
    }
    await master.stop()
    expect((await waiting).json).toEqual({ jsonrpc: '2.0', id: 1, result: { tasks: [] } })
  })
})

describe('the bus streams of one worker id', () => {
  it('have a limit that does not affect other worker ids (D71)', async () => {
    const ends: AbortController[] = []
    const open = async (id: string): Promise<number> => {
      const end = new AbortController()
      ends.push(end)
      return (
        await fetch(`${master.url}/api/v1/automations/mailer/workers/${id}/bus?topic=orders`, {
          headers: { authorization: `Bearer ${WORKER}` },
          signal: end.signal,
        })
      ).status
    }
    const statuses = await Promise.all(Array.from({ length: MAX_BUS_STREAMS_PER_WORKER }, () => open('w')))
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect([await open('w'), await open('other')]).toEqual([503, 200])
    ends[0]?.abort()
    while ((await open('w')) !== 200); // The master notices the end a moment later.
    for (const end of ends) end.abort()
  })
})
