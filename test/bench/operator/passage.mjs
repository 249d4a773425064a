/**
 * A TCP proxy from the operators to the master. When it is closed, it simulates an unavailable master: it counts and
 * closes connections. The master itself continues, so its state is still there afterwards.
 */
import { connect, createServer } from 'node:net'
import { once } from 'node:events'

export class Passage {
  #target
  #server
  #sockets = new Set()
  #isOpen = true
  /** Connections that were attempted while it was closed. */
  refused = 0

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
}
