/**
 * @module storage/redis/silence
 * Ends a connection that owes an answer and stays silent for as long as an answer is waited for.
 *
 * The silence is counted in looks, and between two looks whatever has arrived is read. A time would not do: after this
 * process stood still (a long computation, a stopped or starved machine) a timer comes before the answer that lies
 * there, and a call that was carried out would be called unknown. So a pause of any length counts as one look.
 */
import type { Duplex } from 'node:stream'
import type { Timers } from '../../runtime/index.ts'
import { WAIT_MS } from './waiting.ts'

const LOOKS = 6
const LOOK_MS = WAIT_MS / LOOKS

/** Watches `stream` until it closes. `owes` says whether an answer is due; every byte that arrives starts the count anew. */
export function endWhenSilent(stream: Duplex, owes: () => boolean, timers: Timers): void {
  let silentLooks = 0
  stream.on('data', () => void (silentLooks = 0))
  const stop = timers.every(LOOK_MS, () => {
    silentLooks = owes() ? silentLooks + 1 : 0
    if (silentLooks === LOOKS)
      stream.destroy(new Error(`Socket timeout: an answer was due and nothing came for ${WAIT_MS} ms`))
  })
  stream.once('close', stop)
}
