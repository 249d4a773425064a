/**
 * @module runtime/web/web-platform
 * Implements clock, timers and randomness with the globals of the web platform, for code that runs in browsers and in
 * Node.
 */

/** Time of the machine. A wait is at most 2^31 − 1 ms, because a longer timeout would fire immediately. */
export const webTime = {
  wallMs: (): number => Date.now(),
  monotonicMs: (): number => performance.now(),
  after(ms: number, task: () => void): () => void {
    const timer = setTimeout(task, Math.min(ms, 2 ** 31 - 1))
    return () => clearTimeout(timer)
  },
}

/** One call for many bytes costs as much as one for few. */
const BYTES_PER_DRAW = 2_000
let unusedDigits = ''

/** Randomness of the machine. `crypto.randomUUID` is not used: a page without TLS does not have it. */
export const webRandom = {
  unit: (): number => Math.random(),
  /** Draws at most 4,000 hexadecimal digits. */
  hex(length: number): string {
    if (unusedDigits.length < length) {
      const bytes = crypto.getRandomValues(new Uint8Array(BYTES_PER_DRAW))
      unusedDigits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
    }
    const drawn = unusedDigits.slice(0, length)
    unusedDigits = unusedDigits.slice(length)
    return drawn
  },
}

/** Runs `task` when the current turn of the event loop has ended, without the delay of a timeout. */
export function endOfTurn(task: () => void): void {
  if (typeof setImmediate === 'function') {
    setImmediate(task)
    return
  }
  const { port1, port2 } = new MessageChannel()
  port1.addEventListener('message', () => {
    port1.close()
    task()
  })
  port1.start()
  port2.postMessage(null)
}
