/** A master while its store is checked after an unclean stop, with a real file and a real storage thread (D97). */
import { closeSync, openSync, writeSync } from 'node:fs'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterEach, describe, expect, it } from '@jest/globals'
import { WebSocket } from 'ws'
import { HANDSHAKE_WAIT_MS } from '../../src/protocol/index.ts'
import { systemRandom, VirtualTime } from '../../src/runtime/index.ts'
import { ThreadHost, type EngineHost } from '../../src/storage/sqlite/host.ts'
import { SqliteBackend } from '../../src/storage/sqlite/index.ts'
import { THREAD_URL } from '../storage/sqlite/fixture.ts'
import { eventually } from '../kit/eventually.ts'
import { freePort } from '../kit/free-port.ts'
import { runMaster, TOKENS } from '../kit/running-master.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const PAGE = 4_096
const HARDWARE = { cores: 2, ram_gb: 4, hostname: 'node-7', kernel: '6.1' }
const folder = temporaryFolder()
const sockets: WebSocket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate()
})

/** A host whose `open` ends when the test calls `release`, like the slow open of a large file. */
class SlowHost extends ThreadHost {
  #release = (): void => undefined
  #checked = (): void => undefined
  readonly #released = new Promise<void>((resolve) => void (this.#release = resolve))
  /** Resolves when the thread has reported the check. */
  readonly checking = new Promise<void>((resolve) => void (this.#checked = resolve))

  constructor() {
    super(THREAD_URL)
    const real = this.open
    this.open = async (options, onCheck) => {
      const noted = (bytes: number): void => {
        onCheck?.(bytes)
        this.#checked()
      }
      const opening = real(options, noted)
      await Promise.allSettled([opening, this.#released])
      return opening
    }
  }

  release(): void {
    this.#release()
  }
}

const backendOn = (path: string, host: EngineHost, time = new VirtualTime()): SqliteBackend =>
  new SqliteBackend({ path, host, clock: time, timers: time, random: systemRandom })

/** A store with one key that was not closed cleanly. */
async function uncleanStore(name: string): Promise<string> {
  const file = join(folder, name)
  const backend = backendOn(file, new ThreadHost(THREAD_URL))
  await backend.open(AbortSignal.timeout(30_000))
  await backend.kv.set('n', [{ key: 'k', value: '1', ttlMs: null }])
  await backend.close()
  const db = new Sqlite(file)
  db.exec(`UPDATE meta SET v = 0 WHERE k = 'clean'`)
  db.close()
  return file
}

/** Damages the table of tasks, which nothing reads before the check. */
function damage(file: string): void {
  const db = new Sqlite(file)
  const page = db.prepare<[], number>(`SELECT rootpage FROM sqlite_schema WHERE name = 'task'`).pluck().get() ?? 0
  db.close()
  const handle = openSync(file, 'r+')
  writeSync(handle, Buffer.alloc(PAGE), 0, PAGE, (page - 1) * PAGE)
  closeSync(handle)
}

/** Starts a master whose check is in progress. `url` is its address. */
async function checkingMaster(file: string) {
  const host = new SlowHost()
  const port = await freePort()
  const time = new VirtualTime()
  const backend = backendOn(file, host, time)
  const started = runMaster({ backend, listen: { host: '127.0.0.1', port }, clock: time, timers: time })
  const ended = started.then(
    () => 'started',
    (error: unknown) => error,
  )
  await host.checking
  const url = `http://127.0.0.1:${port}`
  const isUp = (): Promise<boolean> =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isUp())) await new Promise((resolve) => setImmediate(resolve))
  return { host, time, url, started, ended }
}

/** Opens the control socket of a worker. */
function connectWorker(url: string, id: string, token: string = TOKENS.worker) {
  let onSent: () => void
  const sent = new Promise<void>((resolve) => void (onSent = resolve))
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/v1/automations/mailer/workers/${id}/control`, {
    headers: { authorization: `Bearer ${token}` },
    finishRequest: (request) => request.end(onSent),
  })
  sockets.push(socket)
  socket.on('error', () => undefined)
  return { socket, sent }
}

/** The refusal of an upgrade. */
async function refusalOf(socket: WebSocket) {
  const [, { statusCode: status, headers }] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  return { status, retryAfter: headers['retry-after'] }
}

/** Resolves when the server has read what other connections sent before. */
const seenBy = async (url: string): Promise<void> => void (await (await fetch(`${url}/healthz`)).text())

describe('a master whose SQLite store is checked after an unclean stop', () => {
  it('is alive but not ready, reports the check, and serves nothing before the check has ended', async () => {
    const { host, time, url, started } = await checkingMaster(await uncleanStore('slow.db'))
    await time.advance(12_000)
    const ready = await fetch(`${url}/readyz`)
    expect([ready.status, ready.headers.get('retry-after')]).toEqual([503, '2'])
    const detail = 'the master starts: checking the structure of the store after an unclean stop (1 MiB), 12 s so far'
    const parts = { backend: false, catalog: true, serving: false }
    expect(await ready.json()).toEqual({ status: 'not ready', parts, warnings: [detail] })
    const tasks = `${url}/api/v1/automations/mailer/tasks`
    const submit = await fetch(tasks, { method: 'POST', body: '{"payload":{"to":"x"}}' })
    expect([submit.status, submit.headers.get('retry-after'), await submit.json()]).toEqual([503, '2', { detail }])
    expect(await refusalOf(connectWorker(url, 'w-1', 'guess').socket)).toEqual({ status: 503, retryAfter: '2' })
    host.release()
    const master = await started
    expect(master.url).toBe(url)
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    expect(await master.backend.kv.get('n', ['k'])).toEqual(['1'])
  })

  it('holds the upgrades of workers, and admits them when it serves (D101)', async () => {
    const { host, url, started } = await checkingMaster(await uncleanStore('held.db'))
    const workers = ['w-1', 'w-2'].map((id) => connectWorker(url, id))
    const opened = workers.map(({ socket }) => once(socket, 'open'))
    const idle = connect(Number(new URL(url).port), '127.0.0.1')
    await Promise.all([...workers.map(({ sent }) => sent), once(idle, 'connect')])
    await seenBy(url)
    host.release()
    const master = await started
    await Promise.all(opened)
    for (const [at, { socket }] of workers.entries()) {
      const sent = { worker_id: `w-${at + 1}`, automation_type: 'mailer', protocol_version: 1, hardware: HARDWARE }
      socket.send(JSON.stringify({ type: 'register', ...sent }))
    }
    await eventually('both are registered', async () => {
      const { json } = await master.call('GET', '/api/v1/automations/mailer/workers?connected=true')
      return (json as readonly unknown[]).length === 2
    })
    idle.write('GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n') // A connection from before is served as well.
    expect(String((await once(idle, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
    idle.destroy()
  })

  it('rejects an upgrade that it has held for 10 s (D101)', async () => {
    const { host, time, url, started } = await checkingMaster(await uncleanStore('long.db'))
    const { socket, sent } = connectWorker(url, 'w-1')
    const refusal = refusalOf(socket)
    await sent
    await seenBy(url)
    await time.advance(HANDSHAKE_WAIT_MS)
    expect(await refusal).toEqual({ status: 503, retryAfter: '2' })
    host.release()
    await started
  })

  it('fails with STORAGE_CORRUPT and names the file when the check finds damage', async () => {
    const file = await uncleanStore('damaged.db')
    damage(file)
    const { host, url, ended } = await checkingMaster(file)
    expect((await fetch(`${url}/readyz`)).status).toBe(503)
    host.release()
    const message = expect.stringContaining(`${file} is damaged`) as unknown
    expect(await ended).toMatchObject({ code: 'STORAGE_CORRUPT', message })
    await expect(fetch(`${url}/readyz`)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
  })
})

describe('a master whose SQLite store was closed cleanly', () => {
  it('does not check its structure', async () => {
    const file = join(folder, 'clean.db')
    const steps: string[] = []
    for (const life of [1, 2]) {
      const backend = backendOn(file, new ThreadHost(THREAD_URL))
      await backend.open(AbortSignal.timeout(30_000), (step) => steps.push(`${life}: ${step}`))
      await backend.close()
    }
    expect(steps).toEqual([])
  })
})
