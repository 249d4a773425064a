/**
 * @module storage/redis/read-timeout
 * Closes a connection that owes a response and has been silent for as long as callers wait for a response.
 *
 * Silence is counted in checks, and data that has arrived is read between two checks. A plain timeout would be wrong:
 * after this process was suspended (a long computation, a stopped machine) the timer fires before the response that has
 * already arrived is read, and a call that was executed would be reported as unknown. A pause of any length counts as
 * one check.
 */
import type { Duplex } from 'node:stream'
import type { Timers } from '../../runtime/index.ts'
import { WAIT_MS } from './waiting.ts'

const LOOKS = 6
const LOOK_MS = WAIT_MS / LOOKS

/**
 * Watches `stream` until it closes. `owes` returns whether a response is due; every byte that arrives resets the count.
 */
export function closeWhenSilent(stream: Duplex, owes: () => boolean, timers: Timers): void {
  let silentLooks = 0
  stream.on('data', () => void (silentLooks = 0))
  const stop = timers.every(LOOK_MS, () => {
    silentLooks = owes() ? silentLooks + 1 : 0
    if (silentLooks === LOOKS)
      stream.destroy(new Error(`Socket timeout: no reply to a pending command for ${WAIT_MS} ms`))
  })
  stream.once('close', stop)
}
