/**
 * Generates HTTP load from this process: keep-alive connections with one request in flight each. Requests and responses
 * are written and parsed by hand, so that the load generator costs a fraction of what it measures. Responses need a
 * Content-Length.
 */
import { connect } from 'node:net'
import { once } from 'node:events'
import { ADMIN_TOKEN } from '../processes.mjs'

const HEAD_END = Buffer.from('\r\n\r\n')

/** The bytes of a request with a JSON body. */
export function requestBytes(method, path, body, token = ADMIN_TOKEN) {
  const text = body === undefined ? '' : JSON.stringify(body)
  const content =
    body === undefined ? '' : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n`
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${token}\r\n${content}\r\n${text}`,
  )
}

class Connection {
  #socket
  #received = []
  #bytes = 0
  #needed = Infinity
  #bodyFrom = 0
  #settle = null

  constructor(socket) {
    this.#socket = socket.setNoDelay(true)
    socket.on('data', (chunk) => this.#take(chunk))
    for (const event of ['close', 'error'])
      socket.on(event, () => this.#settle?.reject(new Error('the connection broke')))
  }

  send(bytes) {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.#socket.write(bytes)
    })
  }

  end() {
    this.#settle = null
    this.#socket.destroy()
  }

  #take(chunk) {
    this.#received.push(chunk)
    this.#bytes += chunk.length
    if (this.#needed === Infinity) this.#measure()
    if (this.#bytes < this.#needed) return
    const all = this.#received.length === 1 ? chunk : Buffer.concat(this.#received)
    const { resolve } = this.#settle
    const answer = { status: Number(all.latin1Slice(9, 12)), body: all.subarray(this.#bodyFrom) }
    this.#received = []
    this.#bytes = 0
    this.#needed = Infinity
    this.#settle = null
    resolve(answer)
  }

  #measure() {
    const all = this.#received.length === 1 ? this.#received[0] : Buffer.concat(this.#received)
    const end = all.indexOf(HEAD_END)
    if (end === -1) return
    const length = /content-length: (\d+)/i.exec(all.latin1Slice(0, end))
    if (length === null) throw new Error('the answer has no Content-Length')
    this.#bodyFrom = end + 4
    this.#needed = this.#bodyFrom + Number(length[1])
  }
}

export class RestLoad {
  #idle = []
  #all = []
  #waiting = []

  static async open(port, connections) {
    const load = new RestLoad()
    for (let made = 0; made < connections; made += 1) {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      load.#all.push(new Connection(socket))
    }
    load.#idle.push(...load.#all)
    return load
  }

  /**
   * Sends a request. @returns the body of a 200. Waits while every connection is busy. @throws for any other status.
   */
  async send(bytes) {
    const connection = this.#idle.pop() ?? (await new Promise((resolve) => void this.#waiting.push(resolve)))
    const { status, body } = await connection.send(bytes)
    const next = this.#waiting.shift()
    if (next === undefined) this.#idle.push(connection)
    else next(connection)
    if (status !== 200) throw new Error(`answered ${status}: ${body}`)
    return body
  }

  close() {
    for (const connection of this.#all) connection.end()
  }
}

/** Runs `use(load)` with `connections` open connections. */
export async function withLoad(port, connections, use) {
  const load = await RestLoad.open(port, connections)
  try {
    return await use(load)
  } finally {
    load.close()
  }
}
