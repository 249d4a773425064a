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
  /** Called when the faults of the settings changed; with none, the settings are in force. */
  readonly onFaults?: (faults: readonly string[]) => void
}

/** Starts watching; answers how to stop. */
export function watchTokens({
  timers,
  log,
  reread,
  initial,
  apply,
  onFaults = () => {},
}: TokenWatchOptions): () => void {
  let current = initial
  let complaint = ''
  let busy = false
  const look = async (): Promise<void> => {
    const reading = await reread()
    const faults = 'faults' in reading ? reading.faults.map(({ problem }) => problem) : missing(reading.tokens)
    if (faults.join('; ') !== complaint && faults.length > 0)
      log.error('the changed token settings are invalid; the previous tokens remain valid', { faults })
    if (faults.join('; ') !== complaint) onFaults(faults)
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
      .catch((error: unknown) => log.error('failed to reload the tokens', { error }))
      .finally(() => (busy = false))
  })
}

function missing({ admin, worker, workerPeers }: TokenSettings): readonly string[] {
  return [
    ...(admin === null ? ['no admin token is left'] : []),
    ...(worker === null && workerPeers.length === 0 ? ['no worker token is left'] : []),
  ]
}
