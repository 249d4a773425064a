/**
 * Simulates workers without runs: sockets in this process that register, report once, and count the frames they
 * receive. They reconnect like real ones: after half to all of 1, 2, 4 … 30 s, and not before the Retry-After of a
 * rejection.
 */
import { WebSocket } from 'ws'
import { WORKER_TOKEN } from '../processes.mjs'
import { nowMs } from '../recorder.mjs'

const HARDWARE = { cores: 2, ram_gb: 8, hostname: 'bench', kernel: 'bench' }
const FIRST_DELAY_MS = 1_000
const HEADERS = { authorization: `Bearer ${WORKER_TOKEN}` }

export const controlPath = (type, id) => `/api/v1/automations/${type}/workers/${id}/control`

export class FakeWorker {
  #port
  #type
  #delayMs = FIRST_DELAY_MS
  #ended = false
  #onOpen = () => {}
  socket = null
  /** The master has read `register`, because the response to the ping after it arrived. */
  isRegistered = false
  /** Responses other than the upgrade, and connections that were accepted and then reset before a response. */
  refusals = 0
  /** Reported after each registration. */
  configGen = 1
  onFrame = () => {}

  constructor(port, type, id) {
    this.#port = port
    this.#type = type
    this.id = id
  }

  /** Resolves when it is registered, after any number of attempts. */
  open() {
    return new Promise((resolve) => {
      this.#onOpen = resolve
      this.#connect()
    })
  }

  send(frame) {
    this.socket.send(JSON.stringify(frame))
  }

  /** Closes the socket abruptly. The worker reconnects by itself. */
  cut() {
    this.socket?.terminate()
  }

  end() {
    this.#ended = true
    this.socket?.terminate()
  }

  #connect() {
    if (this.#ended) return
    let retryAfterMs = 0
    let wasOpen = false
    const socket = new WebSocket(`ws://127.0.0.1:${this.#port}${controlPath(this.#type, this.id)}`, {
      headers: HEADERS,
      perMessageDeflate: false,
    })
    this.socket = socket
    socket.on('open', () => {
      wasOpen = true
      this.send({
        type: 'register',
        worker_id: this.id,
        automation_type: this.#type,
        protocol_version: 1,
        hardware: HARDWARE,
      })
      this.send({ type: 'ping', id: 'greeting' })
    })
    socket.on('message', (/** @type {Buffer} */ data) => this.#received(JSON.parse(data.toString())))
    socket.on('unexpected-response', (request, response) => {
      this.refusals += 1
      retryAfterMs = Number(response.headers['retry-after'] ?? 0) * 1_000
      request.destroy()
      socket.terminate()
    })
    socket.on('error', ({ code }) => {
      // Reported by `close` too.
      if (code === 'ECONNRESET' && !wasOpen) this.refusals += 1
    })
    socket.on('close', () => this.#closed(retryAfterMs))
  }

  #received(frame) {
    if (frame.type === 'ping' && frame.id === 'greeting') {
      this.isRegistered = true
      // A real worker resets its delay after 30 s of connection; these simulate workers with long connections.
      this.#delayMs = FIRST_DELAY_MS
      const ts = Date.now() / 1_000
      this.send({ type: 'state', state: 'IDLE', config_gen: this.configGen, ts, last_error: null })
      this.send({ type: 'stats', slots: 0, cpu_pct: 0, rss_mb: 60, ts, metrics: {} })
      this.#onOpen(nowMs())
    } else this.onFrame(frame)
  }

  #closed(retryAfterMs) {
    this.isRegistered = false
    const delay = Math.max(this.#delayMs * (0.5 + Math.random() / 2), retryAfterMs * (1 + Math.random() / 2))
    this.#delayMs = Math.min(30_000, this.#delayMs * 2)
    if (!this.#ended) setTimeout(() => this.#connect(), delay)
  }
}

/** Opens `count` workers, at most `width` at a time, calls `use(workers)`, and closes them. */
export async function withFakeWorkers(port, type, count, use, width = 100) {
  const workers = Array.from({ length: count }, (_, at) => new FakeWorker(port, type, `fake-${at}`))
  try {
    let next = 0
    await Promise.all(
      Array.from({ length: Math.min(width, count) }, async () => {
        while (next < count) await workers[next++].open()
      }),
    )
    return await use(workers)
  } finally {
    for (const worker of workers) worker.end()
  }
}
