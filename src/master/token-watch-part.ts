/** @module master/token-watch-part  Applies changed token settings, and keeps the faults of those that are invalid. */
import { Gauge } from 'prom-client'
import type { Log, Timers } from '../runtime/index.ts'
import { watchTokens, type Authenticator, type TokenReading, type TokenSettings } from './auth/index.ts'
import type { MasterDeps, Part } from './deps.ts'

interface TokenWatchOptions {
  readonly timers: Timers
  readonly log: Log
  readonly tokens: TokenSettings
  readonly rereadTokens?: () => Promise<TokenReading>
}

/**
 * Keeps the faults of changed token settings, for `/readyz` and a metric. Until they are fixed, the old tokens apply.
 */
export function tokenFaultsIn({ metrics }: MasterDeps) {
  let current: readonly string[] = []
  const gauge = new Gauge({
    name: 'svc_token_settings_faults',
    help: 'Faults in the changed token settings; while above 0 the previous tokens remain valid.',
    registers: [metrics],
  })
  return {
    current: () => current,
    set: (faults: readonly string[]): void => {
      current = faults
      gauge.set(faults.length)
    },
  }
}

/** The part that reads the token settings again, and ends the connections of tokens that expired. */
export function tokenWatch(
  { timers, log, tokens, rereadTokens }: TokenWatchOptions,
  authenticator: Authenticator,
  onReplaced: () => void,
  onFaults: (faults: readonly string[]) => void,
): Part {
  let ends: (() => void)[] = []
  const apply = (next: TokenSettings): void => {
    authenticator.replace(next)
    onReplaced()
  }
  return {
    routes: [],
    start: () => {
      ends = [authenticator.start(timers)]
      if (rereadTokens !== undefined)
        ends.push(watchTokens({ timers, log, reread: rereadTokens, initial: tokens, apply, onFaults }))
    },
    stop: () => {
      for (const end of ends) end()
    },
  }
}
