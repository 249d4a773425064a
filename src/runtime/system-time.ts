/**
 * @module runtime/system-time
 * The machine's own clock and timers. A wait above 2^31 ms is split, because Node fires a longer timer immediately.
 */
import type { Cancel, Time } from './clock.ts'

const LONGEST_PIECE_MS = 2 ** 31 - 1

function after(ms: number, task: () => void): Cancel {
  return ms <= 0 ? nextTurn(task) : timeout(ms, task)
}

/** In the turn of the event loop that follows: a timeout of 0 would take a millisecond. */
function nextTurn(task: () => void): Cancel {
  const immediate = setImmediate(task)
  return () => clearImmediate(immediate)
}

function timeout(ms: number, task: () => void): Cancel {
  let timer: NodeJS.Timeout
  const arm = (left: number): void => {
    const piece = Math.min(left, LONGEST_PIECE_MS)
    timer = setTimeout(() => (left > piece ? arm(left - piece) : task()), piece)
  }
  arm(ms)
  return () => clearTimeout(timer)
}

function every(ms: number, task: () => void): Cancel {
  const timer = setInterval(task, Math.min(ms, LONGEST_PIECE_MS))
  return () => clearInterval(timer)
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return sleepOn(after, ms, signal)
}

/** `sleep` in terms of `after`; shared by every implementation of Timers. */
export function sleepOn(
  arm: (ms: number, task: () => void) => Cancel,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error)
      return
    }
    const onAbort = (): void => {
      cancel()
      reject(signal?.reason as Error)
    }
    const cancel = arm(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

export const systemTime: Time = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after,
  every,
  sleep,
}
