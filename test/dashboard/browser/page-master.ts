/** A master in this process that serves the built dashboard. The test fills its store. */
import { join } from 'node:path'
import type { Catalog } from '../../../src/automation/index.ts'
import { parseTokens } from '../../../src/master/auth/index.ts'
import { startMaster, type RunningMaster } from '../../../src/master/index.ts'
import type { EnvironmentBody } from '../../../src/protocol/index.ts'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import type { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { ADMIN_TOKEN, WORKER_TOKEN } from '../../e2e/fleet.ts'
import { recordingLog } from '../../kit/index.ts'

/** A token that may only read, for all types. */
export const READ_TOKEN = 'viewer-of-the-browser-test'

function named() {
  const SVC_TOKENS = JSON.stringify([{ name: 'reader', role: 'viewer', types: ['*'], token: READ_TOKEN }])
  const reading = parseTokens({ SVC_TOKENS })
  if (reading.kind === 'invalid') throw new Error(JSON.stringify(reading.faults))
  return reading.tokens.named ?? []
}

/** @param scopes Allowed types by token. @param environment Name and color, if any. */
export function startPageMaster(
  backend: MemoryBackend,
  catalog: Catalog,
  scopes: ReadonlyMap<string, readonly string[]>,
  environment?: EnvironmentBody,
  alertAfterSeconds = 86_400,
): Promise<RunningMaster> {
  return startMaster({
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemTime,
    timers: systemTime,
    random: systemRandom,
    log: recordingLog(),
    backend,
    backendScheme: 'memory',
    catalog,
    version: '0.1.0',
    tokens: { admin: ADMIN_TOKEN, worker: WORKER_TOKEN, workerPeers: [], scopes, named: named() },
    audit: { classes: new Set(['control']), write: () => true },
    settings: {
      submitRpsPerToken: 0,
      idempotencyTtlSeconds: 3_600,
      maxBodyBytes: 1_048_576,
      maxLostLeases: 10,
      maxQueueLength: 100_000,
      maxSockets: 1_000,
      environment,
      // Alerts fire after half a minute, in the middle of a test that is not about them.
      alerts: { afterSeconds: alertAfterSeconds, webhook: null },
    },
    dashboardDir: join(process.cwd(), 'dist/dashboard'),
  })
}
