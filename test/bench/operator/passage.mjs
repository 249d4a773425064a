/**
 * A TCP proxy from the operators to the master. When it is closed, it simulates an unavailable master: it counts and
 * closes connections. The master itself continues, so its state is still there afterwards. It counts the requests that
 * it forwards, and notices those that write the config of a worker.
 */
import { connect, createServer } from 'node:net'
import { once } from 'node:events'
import { Waiters } from './watchers.mjs'

/** The start of a request of the API, with the worker whose config it writes. No body of a request contains it. */
const REQUEST = /\b([A-Z]+) \/api\/v1\/(?:automations\/[^/ ]+\/workers\/([^/ ]+)\/config )?/g

export class Passage {
  #target
  #server
  #sockets = new Set()
  #isOpen = true
  #waiters = new Waiters()
  /** Connections that were attempted while it was closed. */
  refused = 0
  /** Requests by method since the last `reset`. */
  requests = new Map()

  constructor(target) {
    this.#target = target
    this.#server = createServer({ noDelay: true }, (near) => this.#came(near))
  }

  async start() {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${this.#server.address().port}`
  }

  shut() {
    this.#isOpen = false
    this.refused = 0
    for (const socket of this.#sockets) socket.destroy()
  }

  open() {
    this.#isOpen = true
  }

  reset() {
    this.requests.clear()
  }

  /** Resolves when an operator next sends a PATCH of the config of this worker. */
  patched(name, withinMs = 120_000) {
    return this.#waiters.when(name, 'gets a PATCH', () => true, withinMs)
  }

  end() {
    this.shut()
    this.#server.close()
  }

  #came(near) {
    near.on('error', () => {}) // Reported by `close` too.
    if (!this.#isOpen) {
      this.refused += 1
      near.destroy()
      return
    }
    near.on('data', (chunk) => this.#count(chunk.toString('latin1')))
    const far = connect({ port: this.#target, host: '127.0.0.1', noDelay: true })
    for (const [one, other] of [
      [near, far],
      [far, near],
    ]) {
      this.#sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        this.#sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  }

  #count(text) {
    for (const [, method, name] of text.matchAll(REQUEST)) {
      this.requests.set(method, (this.requests.get(method) ?? 0) + 1)
      if (method === 'PATCH' && name !== undefined) this.#waiters.tell(name, undefined)
    }
  }
}
