/**
 * Tests what a reverse proxy has to pass on: a control channel and an event stream that are idle for minutes, the
 * largest frame and body, a new certificate. Also tests what it must not pass on: internal paths and forged headers.
 */
import { expect } from '@jest/globals'
import { MAX_BODY_BYTES } from '../../src/protocol/index.ts'
import type { Authority } from './authority.ts'
import { OutsideSocket } from './outside-socket.ts'
import { Public, type PublicResponse, type Door } from './public.ts'
import { eventually } from '../kit/index.ts'

/** Headers that a client may forge and that some servers trust. */
const FORGED = {
  'x-forwarded-for': `127.0.0.1, ${'9'.repeat(4_000)}`,
  'x-real-ip': '127.0.0.1',
  'x-forwarded-proto': 'http',
  'x-forwarded-host': 'evil.example',
  'x-forwarded-prefix': '/evil',
  'x-forwarded-user': 'admin',
  'x-remote-user': 'admin',
  'x-original-url': '/metrics',
  'x-rewrite-url': '/metrics',
  'x-http-method-override': 'DELETE',
  forwarded: 'for=127.0.0.1;host=evil.example;proto=http',
}
const TASKS = '/automations/echo/tasks'

export class Passage {
  readonly name: string
  readonly #fleet: Public
  readonly #workerToken: string
  readonly #socket: OutsideSocket
  readonly #ended = new AbortController()
  #received = ''
  #streams = 0
  #turns = 0
  readonly #listening: Promise<void>

  constructor(
    name: string,
    authority: Authority,
    door: Door,
    tokens: { readonly admin: string; readonly worker: string },
  ) {
    this.name = name
    this.#fleet = new Public(authority, door)
    this.#fleet.adminToken = tokens.admin
    this.#workerToken = tokens.worker
    this.#socket = new OutsideSocket(this.#fleet, 'echo', `passage-${name}`, tokens.worker)
    this.#listening = this.#listen()
  }

  /** Resolves when the worker is registered and the stream is open. */
  async begun(): Promise<void> {
    await eventually(
      `${this.name} passes a control channel and an event stream`,
      async () => this.#socket.isIn && this.#received !== '',
      { context: () => this.#received },
    )
  }

  /** Expects that no connection was closed since `begun`, and that both still transfer data. */
  async expectUncut(): Promise<void> {
    await this.#socket.flushed()
    expect([this.name, this.#socket.cuts, this.#streams]).toEqual([this.name, 0, 1])
    const before = this.#received.length
    this.#socket.report(this.#turns % 2 === 0 ? 'RUNNING' : 'IDLE')
    this.#turns += 1
    await eventually(
      `the event stream through ${this.name} has an event of its worker`,
      async () => new RegExp(`event: worker.state\\ndata: .*${this.#socket.id}`).test(this.#received.slice(before)),
      { context: () => this.#received.slice(-500) },
    )
  }

  async expectLargest(): Promise<void> {
    this.#socket.emitLargest()
    await this.#socket.flushed()
    await eventually(`the frame of 1 MiB came through ${this.name}`, async () => {
      const { entries } = await this.#fleet.ok<{ entries: { payload: { worker: string; note: string } }[] }>(
        'GET',
        '/automations/echo/output/tail?n=20',
      )
      return entries.some(({ payload }) => payload.worker === this.#socket.id && payload.note.length > 1_000_000)
    })
    expect(this.#socket.cuts).toBe(0)
    const bodyOf = (filler: string): string =>
      JSON.stringify({ task_id: `largest-${this.name}`, payload: { ms: 1, filler } })
    const body = bodyOf('x'.repeat(MAX_BODY_BYTES - bodyOf('').length))
    expect((await this.#fleet.call('POST', TASKS, { body })).status).toBe(200)
    expect(await this.#fleet.call('POST', TASKS, { body: `${body} ` })).toMatchObject({
      status: 413,
      body: { detail: expect.stringContaining(String(MAX_BODY_BYTES)) },
    }) // The response comes from the master and not from the proxy.
  }

  /** Expects that internal paths do not exist and that forged headers change no response. */
  async expectGuarded(): Promise<void> {
    for (const path of ['/metrics', '/readyz'])
      expect([this.name, path, await this.#fleet.get(path)]).toEqual([this.name, path, 404])
    const responses = async (headers: Readonly<Record<string, string>>): Promise<readonly PublicResponse<unknown>[]> =>
      Promise.all([
        this.#fleet.call('GET', '/me', { headers }),
        this.#fleet.call('GET', '/me', { headers, token: 'unknown-token' }),
        this.#fleet.call('GET', '/tokens', { headers, token: this.#workerToken }),
        this.#fleet.call('DELETE', '/automations/echo/workers/unknown-worker', { headers, token: this.#workerToken }),
        this.#fleet.call('GET', '/automations', { headers }),
      ])
    const plain = await responses({})
    expect(plain.map(({ status }) => status)).toEqual([200, 403, 404, 403, 200])
    expect(await responses(FORGED)).toEqual(plain)
  }

  /** Expects that new connections get the newest certificate, while open connections continue. */
  async expectRenewed(): Promise<void> {
    await eventually(
      `${this.name} shows the new certificate`,
      async () => (await this.#fleet.fingerprint()) === this.#fleet.authority.fingerprint,
      { withinMs: 60_000 },
    )
    await this.expectUncut()
  }

  /** Makes the fleet forget its worker, and stops. */
  async forget(): Promise<void> {
    const path = `/automations/echo/workers/${this.#socket.id}`
    this.#socket.leave()
    await eventually(
      'the master notices the disconnect',
      async () => !(await this.#fleet.ok<{ connected: boolean }>('GET', path)).connected,
    )
    await this.#fleet.ok('DELETE', path)
    await this.end()
  }

  async end(): Promise<void> {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    this.#socket.leave()
    await this.#listening
    await this.#fleet.close()
  }

  async #listen(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      this.#streams += 1
      try {
        for await (const text of this.#fleet.events(this.#ended.signal)) this.#received += text
      } catch {
        // The stream was cut, which the counter shows, or the test aborted it.
      }
    }
  }
}
