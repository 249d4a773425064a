/**
 * @module master/auth/token-watch
 * Reads the token settings again every 2 s and compares their content, since Kubernetes swaps a symlinked folder and
 * file watchers go deaf (D22). A bad reading keeps the tokens in force and is logged once until it changes (D54).
 */
import { isDeepStrictEqual } from 'node:util'
import type { Log, Timers } from '../../runtime/index.ts'
import type { TokenReading, TokenSettings } from './token-settings.ts'

const REREAD_EVERY_MS = 2_000

export interface TokenWatchOptions {
  readonly timers: Timers
  readonly log: Log
  readonly reread: () => Promise<TokenReading>
  readonly initial: TokenSettings
  readonly apply: (tokens: TokenSettings) => void
}

/** Starts watching; answers how to stop. */
export function watchTokens({ timers, log, reread, initial, apply }: TokenWatchOptions): () => void {
  let current = initial
  let complaint = ''
  let busy = false
  const look = async (): Promise<void> => {
    const reading = await reread()
    const faults = 'faults' in reading ? reading.faults : missing(reading.tokens)
    if (faults.join('; ') !== complaint && faults.length > 0)
      log.error('the changed tokens are not usable; the ones before stay in force', { faults })
    complaint = faults.join('; ')
    if (faults.length > 0 || 'faults' in reading || isDeepStrictEqual(reading.tokens, current)) return
    current = reading.tokens
    apply(current)
    log.info('the tokens were replaced')
  }
  return timers.every(REREAD_EVERY_MS, () => {
    if (busy) return // A slow disk must not pile up readings.
    busy = true
    look()
      .catch((error: unknown) => log.error('the tokens could not be read again', { error }))
      .finally(() => (busy = false))
  })
}

function missing({ admin, worker, workerPeers }: TokenSettings): readonly string[] {
  return [
    ...(admin === null ? ['no admin token is left'] : []),
    ...(worker === null && workerPeers.length === 0 ? ['no worker token is left'] : []),
  ]
}
