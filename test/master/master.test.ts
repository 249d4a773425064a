import { afterEach, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { connect } from 'node:net'
import { WebSocket } from 'ws'
import type { TokenReading, TokenSettings } from '../../src/master/index.ts'
import { FleetError } from '../../src/protocol/index.ts'
import { systemRandom, systemTime, VirtualTime } from '../../src/runtime/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import { recordingLog } from '../kit/index.ts'
import { runMaster, TOKENS, type TestMaster } from '../kit/running-master.ts'

const sockets: WebSocket[] = []
afterEach(() => sockets.splice(0).forEach((socket) => socket.terminate()))

const HARDWARE = { cores: 1, ram_gb: 1, hostname: 'test', kernel: 'test' }

/** Opens a control socket and registers a worker on it. */
async function worker(master: TestMaster, id = 'w-1', token: string = TOKENS.worker): Promise<WebSocket> {
  const socket = new WebSocket(`${master.url.replace('http', 'ws')}/api/v1/automations/mailer/workers/${id}/control`, {
    headers: { authorization: `Bearer ${token}` },
    perMessageDeflate: false,
  })
  sockets.push(socket)
  await once(socket, 'open')
  socket.send(
    JSON.stringify({
      type: 'register',
      worker_id: id,
      automation_type: 'mailer',
      protocol_version: 1,
      hardware: HARDWARE,
    }),
  )
  socket.send(JSON.stringify({ type: 'ping', id: 'registered' }))
  await once(socket, 'message')
  return socket
}
const closeCode = async (socket: WebSocket): Promise<number> => ((await once(socket, 'close')) as [number])[0]
const rpc = (master: TestMaster, method: string, params: object) =>
  master.call('POST', '/api/v1/automations/mailer/workers/w-1/rpc', {
    token: TOKENS.worker,
    body: { jsonrpc: '2.0', id: 1, method, params },
  })

describe('a master', () => {
  it('serves a worker and its task from register to acknowledgement', async () => {
    const master = await runMaster()
    await worker(master)
    const submitted = (
      await master.call('POST', '/api/v1/automations/mailer/tasks', {
        token: TOKENS.mailer,
        body: { payload: { to: 'x' } },
      })
    ).json as { task_id: string }
    const reserved = (await rpc(master, 'tasks.reserve', { limit: 1 })).json as {
      result: { tasks: { task_id: string; token: number; payload: unknown }[] }
    }
    const [task] = reserved.result.tasks
    expect(task).toMatchObject({ task_id: submitted.task_id, payload: { to: 'x' } })
    expect(
      (await rpc(master, 'tasks.ack', { tasks: [{ task_id: task?.task_id, token: task?.token }] })).json,
    ).toMatchObject({ result: { results: [{ ok: true }] } })
    expect((await master.call('GET', '/api/v1/automations/mailer/queue')).json).toEqual({ length: 0, items: [] })
  })

  it('notifies a worker of a new config, and names the epoch in every response (D47)', async () => {
    const master = await runMaster()
    const socket = await worker(master)
    const notified = once(socket, 'message')
    const patched = await master.call('PATCH', '/api/v1/automations/mailer/workers/w-1/config', {
      body: { enabled: true },
    })
    expect(patched.json).toMatchObject({ config: { enabled: true }, config_gen: 1 })
    const [frame] = (await notified) as [Buffer]
    expect(JSON.parse(frame.toString())).toEqual({ type: 'config_changed', config_gen: 1 })
    const { epoch } = await master.backend.meta.info()
    expect([patched.headers.get('muster-epoch'), patched.headers.get('etag')]).toEqual([epoch, `"${epoch}.1"`])
  })

  it('writes a heartbeat every 5 s', async () => {
    const time = new VirtualTime()
    const backend = new MemoryBackend({ clock: time, random: systemRandom })
    const log = recordingLog()
    await runMaster({ backend, clock: time, timers: time, log })
    const others = async (): Promise<number> => (await backend.meta.beat('another')).length
    expect(await others()).toBe(2)
    await time.advance(60_000)
    expect(await others()).toBe(2)
  })

  it('returns the current epoch of the store after its next heartbeat (D46, D47)', async () => {
    const time = new VirtualTime()
    const backend = new MemoryBackend({ clock: time, random: systemRandom })
    const log = recordingLog()
    const master = await runMaster({ backend, clock: time, timers: time, log })
    const known = await backend.meta.info()
    const named = async (): Promise<unknown> => {
      const { headers, json } = await master.call('GET', '/api/v1/me')
      return [headers.get('muster-epoch'), (json as { epoch: string }).epoch]
    }
    backend.meta.info = async () => ({ ...known, epoch: 'another' })
    expect(await named()).toEqual([known.epoch, known.epoch])
    await time.advance(5_000)
    expect(await named()).toEqual(['another', 'another'])
  })
})

describe('start', () => {
  const refused = (options: Parameters<typeof runMaster>[0]): Promise<unknown> =>
    runMaster(options).then(
      () => 'started',
      (error: unknown) => error,
    )

  it('fails without an automation', async () => {
    expect(await refused({ catalog: new Map() })).toEqual(
      new Error('no automation is installed; list automation modules in SVC_AUTOMATIONS'),
    )
  })

  it('leaves nothing open when the address is in use', async () => {
    const { port } = await runMaster()
    const backend = new MemoryBackend({ clock: systemTime, random: systemRandom })
    expect(await refused({ backend, listen: { host: '127.0.0.1', port } })).toMatchObject({
      message: expect.stringContaining('--listen'),
      cause: { code: 'EADDRINUSE' },
    })
    await expect(backend.meta.info()).rejects.toMatchObject({ code: 'STORAGE_NOT_OPEN' })
  })

  it('passes on the error of a backend that does not open', async () => {
    const backend = new MemoryBackend({ clock: systemTime, random: systemRandom })
    backend.open = () => Promise.reject(new FleetError('STORAGE_LOCKED', 'another master has it'))
    expect(await refused({ backend })).toMatchObject({ code: 'STORAGE_LOCKED' })
  })
})

describe('stop', () => {
  it('closes sockets with 1001, ends waiting reserves without tasks, and then closes the backend', async () => {
    const master = await runMaster()
    const socket = await worker(master)
    const waiting = rpc(master, 'tasks.reserve', { limit: 1, wait_ms: 30_000 })
    const code = closeCode(socket)
    // Until the reserve waits.
    while (!(await scrape(master)).includes('svc_reserve_waiters{automation_type="mailer"} 1'));
    await master.stop()
    expect(await code).toBe(1001)
    expect((await waiting).json).toMatchObject({ result: { tasks: [] } })
    await expect(master.backend.meta.info()).rejects.toMatchObject({ code: 'STORAGE_NOT_OPEN' })
    await expect(master.call('GET', '/healthz')).rejects.toThrow()
  })

  it('may be called twice', async () => {
    const master = await runMaster()
    await Promise.all([master.stop(), master.stop()])
  })

  it('does not wait for idle connections', async () => {
    const master = await runMaster()
    const idle = connect(master.port, '127.0.0.1')
    await once(idle, 'connect')
    const ended = once(idle, 'close')
    await master.stop()
    await ended
  })
})

const scrape = async (master: TestMaster): Promise<string> => (await master.call('GET', '/metrics')).text

describe('replaced tokens', () => {
  it('close their sockets within 5 s, and are rejected from then on (D22)', async () => {
    const time = new VirtualTime()
    const tokens: TokenSettings = {
      admin: TOKENS.admin,
      worker: TOKENS.worker,
      workerPeers: ['worker-peer-of-the-test'],
      scopes: new Map(),
    }
    let reading: TokenReading = { kind: 'valid', tokens }
    const master = await runMaster({ clock: time, timers: time, tokens, rereadTokens: () => Promise.resolve(reading) })
    const [revoked, kept] = [await worker(master, 'w-1'), await worker(master, 'w-2', 'worker-peer-of-the-test')]
    const code = closeCode(revoked)
    reading = { kind: 'valid', tokens: { ...tokens, worker: 'worker-token-that-is-new' } }
    await time.advance(5_000)
    expect(await code).toBe(4401)
    expect(kept.readyState).toBe(WebSocket.OPEN)
    expect((await master.call('GET', '/api/v1/me', { token: TOKENS.worker })).status).toBe(403)
    expect((await master.call('GET', '/api/v1/me', { token: 'worker-token-that-is-new' })).status).toBe(200)
  })
})

describe('the address of a master', () => {
  it('is reachable from this machine, also when the master listens on all interfaces', async () => {
    const master = await runMaster({ listen: { host: '0.0.0.0', port: 0 } })
    expect(master.url).toBe(`http://127.0.0.1:${master.port}`)
    expect((await master.call('GET', '/healthz')).status).toBe(200)
  })
})
