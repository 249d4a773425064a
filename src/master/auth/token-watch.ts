/**
 * @module master/auth/token-watch
 * Reads the token settings again every 2 s and compares their content. File watchers are not used, because they miss
 * changes when Kubernetes replaces a symlinked folder (D22). Invalid settings keep the previous tokens valid, and are
 * logged once until they change (D54).
 */
import { isDeepStrictEqual } from 'node:util'
import type { Log, Timers } from '../../runtime/index.ts'
import type { TokenReading, TokenSettings } from './token-settings.ts'

const REREAD_EVERY_MS = 2_000

export interface TokenWatchDeps {
  readonly timers: Timers
  readonly log: Log
  readonly reread: () => Promise<TokenReading>
  readonly initial: TokenSettings
  readonly apply: (tokens: TokenSettings) => void
  /** Called when the faults of the settings change. An empty list means that the settings were applied. */
  readonly onFaults?: (faults: readonly string[]) => void
}

/** Starts watching. @returns a function that stops it. */
export function watchTokens({ timers, log, reread, initial, apply, onFaults = () => {} }: TokenWatchDeps): () => void {
  let current = initial
  let lastFaults = ''
  let isBusy = false
  const check = async (): Promise<void> => {
    const reading = await reread()
    const faults = reading.kind === 'invalid' ? reading.faults.map(({ problem }) => problem) : missing(reading.tokens)
    if (faults.join('; ') !== lastFaults && faults.length > 0)
      log.error('the changed token settings are invalid; the previous tokens remain valid', { faults })
    if (faults.join('; ') !== lastFaults) onFaults(faults)
    lastFaults = faults.join('; ')
    if (faults.length > 0 || reading.kind === 'invalid' || isDeepStrictEqual(reading.tokens, current)) return
    current = reading.tokens
    apply(current)
    log.info('the token settings changed; the new tokens are valid')
  }
  return timers.every(REREAD_EVERY_MS, () => {
    if (isBusy) return // Reads must not pile up on a slow disk.
    isBusy = true
    check()
      .catch((error: unknown) => log.error('failed to reload the tokens', { error }))
      .finally(() => (isBusy = false))
  })
}

function missing({ admin, worker, workerPeers }: TokenSettings): readonly string[] {
  return [
    ...(admin === null ? ['no admin token is left'] : []),
    ...(worker === null && workerPeers.length === 0 ? ['no worker token is left'] : []),
  ]
}
