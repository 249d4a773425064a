/** @module operator/fleet/master-client  Creates the client that sends the calls of the operator to the master. */
import { MasterClient } from '../../client/index.ts'
import type { FleetDeps } from './fleet.ts'
import { MAX_IN_FLIGHT } from './limiter.ts'
import type { MasterClock } from './master-clock.ts'
import type { Tokens } from './tokens.ts'

const CALL_MS = 10_000

type ClientDeps = Pick<FleetDeps, 'clock' | 'createPool' | 'leadsUntilMs' | 'masterUrl' | 'random' | 'timers'>

/** A call is repeated by calls.ts, not by the client. @throws {TypeError} if the URL of the master cannot be used. */
export function createMasterClient(
  { clock, createPool, leadsUntilMs, masterUrl, random, timers }: ClientDeps,
  tokens: Pick<Tokens, 'current'>,
  masterClock: Pick<MasterClock, 'notAfterMs'>,
): MasterClient {
  return new MasterClient({
    masterUrl,
    ...(createPool !== undefined && { createPool }),
    token: () => tokens.current(),
    ...(leadsUntilMs !== undefined && { notAfterMs: () => masterClock.notAfterMs(leadsUntilMs()) }),
    clock,
    timers,
    random,
    attempts: 1,
    headersMs: CALL_MS,
    callMs: CALL_MS,
    connections: MAX_IN_FLIGHT,
  })
}
