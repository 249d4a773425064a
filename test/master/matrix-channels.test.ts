/**
 * The matrix of rights for what is not a route of its own: every method of the worker's RPC, every frame of the control
 * channel and every topic of the bus, with every kind of token, through two masters on one Redis. The rows come from
 * the tables of the protocol, so a new method or frame without an entry fails here.
 */
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import {
  MASTER_FRAMES,
  RPC_METHODS,
  SCOPED_PERMISSIONS,
  WORKER_FRAMES,
  type RpcMethod,
} from '../../src/protocol/index.ts'
import { systemRandom, systemTime } from '../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import { eventually } from '../kit/index.ts'
import { startRedis, withRedisServer, type RedisServer } from '../kit/redis-server.ts'
import { startTestMaster, tokenWith, TOKENS, type TestMaster } from '../kit/running-master.ts'

const WORKERS = '/api/v1/automations/mailer/workers'
const { worker, ...OTHERS } = TOKENS
/** Every kind of token that is not the worker's, and the status that it gets. */
const REFUSED: Readonly<Record<string, readonly [header: string | null, status: number]>> = {
  none: [null, 401],
  malformed: ['Basic YWRtaW4=', 401],
  wrong: ['Bearer unknown-token-of-the-test', 403],
  ...Object.fromEntries(Object.entries(OTHERS).map(([name, token]) => [name, [`Bearer ${token}`, 403] as const])),
  ...Object.fromEntries(
    SCOPED_PERMISSIONS.map((permission) => [`may-${permission}`, [`Bearer ${tokenWith(permission)}`, 403] as const]),
  ),
}

/** Parameters with which each method has an effect, or would have one. */
const PARAMS: Readonly<Record<RpcMethod, object>> = {
  'tasks.reserve': { limit: 10 },
  'tasks.ack': { tasks: [{ task_id: 't-1', token: 1 }] },
  'tasks.release': { tasks: [{ task_id: 't-1', token: 1 }] },
  'tasks.extend': { tasks: [{ task_id: 't-1', token: 1 }] },
  'tasks.nack': { tasks: [{ task_id: 't-1', token: 1, error: 'e' }] },
  'kv.get': { key: 'k' },
  'kv.set': { key: 'k', value: 1 },
  'kv.delete': { key: 'kept' },
  'lock.acquire': { name: 'l', hold_ms: 60_000 },
  'lock.extend': { name: 'l', token: 1, hold_ms: 60_000 },
  'lock.release': { name: 'l', token: 1 },
  'counter.add': { name: 'n', delta: 1 },
  'counter.get': { name: 'n' },
  'pool.put': { pool: 'accounts', items: [{ id: 'a', payload: { user: 'u' }, tags: {} }] },
  'pool.claim': { pool: 'accounts', hold_ms: 60_000 },
  'pool.extend': { pool: 'accounts', id: 'a', token: 1, hold_ms: 60_000 },
  'pool.release': { pool: 'accounts', id: 'a', token: 1 },
  'pool.remove': { pool: 'accounts', id: 'a', token: 1 },
  'bus.publish': { topic: 'news', message: 1 },
}

const own = (fields: object = {}): object => ({
  type: 'register',
  worker_id: 'w-1',
  automation_type: 'mailer',
  protocol_version: 1,
  hardware: { cores: 1, ram_gb: 1, hostname: 'h', kernel: 'k' },
  ...fields,
})
const output = { slot_id: 0, ts: 1, payload: { sent: true } }
/** Each frame that a client with the token of a worker may try, and the close code before and after the register. */
const FRAMES: Readonly<Record<string, readonly [frame: object, before: number | null, after: number | null]>> = {
  register: [own(), null, null],
  'register of another worker': [own({ worker_id: 'victim' }), 1008, 1008],
  'register of another type': [own({ automation_type: 'probe' }), 1008, 1008],
  state: [{ type: 'state', state: 'ERROR', config_gen: 0, ts: 1, last_error: 'e' }, 1008, null],
  stats: [{ type: 'stats', slots: 1, cpu_pct: 1, rss_mb: 1, ts: 1, metrics: {} }, 1008, null],
  output: [{ type: 'output', ...output }, 1008, null],
  output_batch: [{ type: 'output_batch', outputs: [output] }, 1008, null],
  logs: [{ type: 'logs', id: 'r', started_at: 1, entries: [], next: 0, has_more: false, missed: 0 }, 1008, null],
  ping: [{ type: 'ping', id: 'p' }, 1008, null],
  config_changed: [{ type: 'config_changed', config_gen: 1 }, 1008, 1008],
  drain: [{ type: 'drain' }, 1008, 1008],
  task_cancelled: [{ type: 'task_cancelled', task_id: 't-1', token: 1 }, 1008, 1008],
  read_logs: [{ type: 'read_logs', id: 'r', limit: 1 }, 1008, 1008],
  task_assign: [{ type: 'task_assign', task_id: 't-1', payload: {} }, 1008, 1008],
  'state of another worker': [
    { type: 'state', worker_id: 'victim', state: 'ERROR', config_gen: 0, ts: 1, last_error: null },
    1007,
    1007,
  ],
}

withRedisServer('the matrix of channels and tokens, through two masters', () => {
  describe('the matrix of channels and tokens, through two masters', () => {
    let server: RedisServer
    let masters: readonly TestMaster[] = []
    const start = (): Promise<TestMaster> =>
      startTestMaster({
        backend: new RedisBackend({ url: parseStoreUrl(server.url), time: systemTime, random: systemRandom }),
      })
    beforeAll(async () => {
      server = await startRedis()
      masters = [await start(), await start()]
      await masters[0]?.call('POST', '/api/v1/automations/mailer/tasks', {
        body: { task_id: 't-1', payload: { to: 'x' } },
      })
      await rpc(masters[0], 'kv.set', { key: 'kept', value: 1 })
    }, 60_000)
    afterAll(async () => {
      for (const master of masters) await master.stop()
      await server.close()
    })

    it('has an entry for every method and every frame', () => {
      expect(Object.keys(PARAMS).toSorted()).toEqual([...RPC_METHODS].toSorted())
      const types = [...Object.keys(WORKER_FRAMES), ...Object.keys(MASTER_FRAMES)]
      expect(types.filter((type) => FRAMES[type] === undefined)).toEqual([])
    })

    it('refuses every method of the RPC to all but workers, and a refused call has no effect', async () => {
      for (const [at, master] of masters.entries()) {
        for (const method of RPC_METHODS) {
          for (const [kind, [header, status]] of Object.entries(REFUSED))
            expect([at, method, kind, await statusOf(master, method, header)]).toEqual([at, method, kind, status])
        }
      }
      for (const master of masters) {
        expect(await rpc(master, 'kv.get', { key: 'k' })).toEqual({ value: null })
        expect(await rpc(master, 'kv.get', { key: 'kept' })).toEqual({ value: 1 })
        expect(await rpc(master, 'counter.get', { name: 'n' })).toEqual({ value: 0 })
        expect((await master.call('GET', '/api/v1/automations/mailer/tasks/t-1')).json).toMatchObject({
          place: 'pending',
        })
        expect((await master.call('GET', '/api/v1/pools/accounts')).text).not.toContain('"a"')
      }
    }, 60_000)

    it('opens every method of the RPC to the token of workers', async () => {
      for (const master of masters)
        for (const method of RPC_METHODS)
          expect([method, await statusOf(master, method, `Bearer ${worker}`)]).toEqual([method, 200])
    })

    it('refuses the control channel and the bus to all but the token of workers', async () => {
      for (const [at, master] of masters.entries()) {
        for (const [kind, [header, status]] of Object.entries(REFUSED)) {
          expect([at, 'control', kind, await codeOf(master, header)]).toEqual([at, 'control', kind, 4401])
          const bus = await fetch(`${master.url}${WORKERS}/w-1/bus?topic=news`, { headers: headersOf(header) })
          await bus.body?.cancel()
          expect([at, 'bus', kind, bus.status]).toEqual([at, 'bus', kind, status])
        }
        expect(await codeOf(master, `Bearer ${worker}`)).toBeNull()
      }
    }, 60_000)

    it('accepts each frame only in its phase, and none that concerns another worker', async () => {
      for (const [at, master] of masters.entries()) {
        const victim = await connect(master, 'victim')
        victim.send(JSON.stringify(own({ worker_id: 'victim' })))
        await synced(victim)
        const recordOf = async (): Promise<unknown> => {
          const { last_seen: _, ...record } = (await master.call('GET', `${WORKERS}/victim`)).json as {
            last_seen: number
          }
          return record
        }
        const before = await recordOf()
        for (const [name, [frame, unregistered, registered]] of Object.entries(FRAMES)) {
          for (const [phase, expected] of [
            ['before', unregistered],
            ['after', registered],
          ] as const) {
            const socket = await connect(master, 'w-1')
            if (phase === 'after') socket.send(JSON.stringify(own()))
            socket.send(JSON.stringify(frame))
            const isOpen = phase === 'after' || name === 'register'
            const code = await (expected === null && isOpen ? synced(socket) : closeOf(socket))
            expect([at, name, phase, code]).toEqual([at, name, phase, expected])
            socket.terminate()
          }
        }
        expect(await recordOf()).toEqual(before)
        victim.terminate()
      }
    }, 60_000)

    it('delivers a topic through another master to its own subscribers only, whatever its name', async () => {
      const [first, second] = masters
      const names = ['news', 'new', 'news2', 'NEWS', 'news ', '*', 'n*', 'n?ws', '[n]ews', 'news:x', 'master', 'events']
      const texts = new Map<string, string>()
      const abort = new AbortController()
      await Promise.all(
        names.map(async (name) => {
          const url = `${second?.url}${WORKERS}/w-${names.indexOf(name)}/bus?topic=${encodeURIComponent(name)}`
          const response = await fetch(url, { headers: headersOf(`Bearer ${worker}`), signal: abort.signal })
          expect([name, response.status]).toEqual([name, 200])
          texts.set(name, '')
          void read(response, (text) => texts.set(name, (texts.get(name) ?? '') + text)).catch(() => {})
        }),
      )
      await eventually(() => [...texts.values()].every((text) => text.includes(': listening')))
      for (const topic of names) expect(await rpc(first, 'bus.publish', { topic, message: `to ${topic}` })).toEqual({})
      await eventually(() => names.every((name) => texts.get(name)?.includes(JSON.stringify(`to ${name}`)) === true))
      const received = names.map((name) => [name, (texts.get(name) ?? '').match(/^data: .*$/gm)?.length])
      expect(received).toEqual(names.map((name) => [name, 1]))
      abort.abort()
    }, 60_000)
  })
})

const headersOf = (authorization: string | null): Record<string, string> => ({
  ...(authorization !== null && { authorization }),
  'content-type': 'application/json',
})

function post(master: TestMaster, method: string, params: object, header: string | null): Promise<Response> {
  return fetch(`${master.url}${WORKERS}/w-1/rpc`, {
    method: 'POST',
    headers: headersOf(header),
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
}

async function statusOf(master: TestMaster, method: RpcMethod, header: string | null): Promise<number> {
  const response = await post(master, method, PARAMS[method], header)
  await response.text()
  return response.status
}

async function rpc(master: TestMaster | undefined, method: RpcMethod, params: object): Promise<unknown> {
  if (master === undefined) throw new Error('the master does not run')
  const { result, error } = (await (await post(master, method, params, `Bearer ${worker}`)).json()) as Record<
    string,
    unknown
  >
  return result ?? error
}

async function connect(master: TestMaster, id: string): Promise<WebSocket> {
  const url = `${master.url.replace('http', 'ws')}${WORKERS}/${id}/control`
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${worker}` } })
  await once(socket, 'open')
  return socket
}

/** @returns the close code of a socket with this header; null if it may register. */
async function codeOf(master: TestMaster, header: string | null): Promise<number | null> {
  const url = `${master.url.replace('http', 'ws')}${WORKERS}/w-1/control`
  const socket = new WebSocket(url, { headers: header === null ? {} : { authorization: header } })
  socket.on('open', () => {
    socket.send(JSON.stringify(own()))
    socket.send(JSON.stringify({ type: 'ping', id: 'sync' }))
  })
  const code = await outcomeOf(socket)
  socket.terminate()
  return code
}

/** @returns null when the master has handled all frames and the socket is still open, else the close code. */
function synced(socket: WebSocket): Promise<number | null> {
  socket.send(JSON.stringify({ type: 'ping', id: 'sync' }))
  return outcomeOf(socket)
}

/** @returns null for the response to the ping, or the close code. */
function outcomeOf(socket: WebSocket): Promise<number | null> {
  return new Promise((resolve) => {
    socket.once('close', (code) => resolve(code))
    socket.on('message', (data: Buffer) => {
      const { id } = JSON.parse(data.toString()) as { id?: string }
      if (id === 'sync') resolve(null)
    })
  })
}

async function closeOf(socket: WebSocket): Promise<number> {
  const [code] = (await once(socket, 'close')) as [number]
  return code
}

async function read(response: Response, on: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) on(decoder.decode(chunk as Uint8Array, { stream: true }))
}
