/**
 * Runs a master whose secrets are canaries, with requests that succeed and fail, and prints what the scanner found, as
 * JSON. A program of its own, so that a control can change the code that it loads (`test/controls/apply.ts`).
 */
import { buildCatalog, defineBatch, Type } from '../../src/automation/index.ts'
import { startMaster } from '../../src/master/index.ts'
import { startTracing, systemRandom, systemTime } from '../../src/runtime/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import { canaries } from './canary.ts'
import { learnSecrets, scanMaster } from './outputs.ts'
import { recordingLog } from './recording-log.ts'
import { TraceReceiver } from './trace-receiver.ts'

const tokens = { admin: canaries.create('admin'), worker: canaries.create('worker') }
const secret = canaries.create('write-only')
const WORKER = '/api/v1/automations/mailer/workers/w-1'
const catalog = buildCatalog([
  defineBatch({
    type: 'mailer',
    payload: Type.Object({}),
    config: Type.Object({ password: Type.Optional(Type.String({ writeOnly: true })) }),
    run: async () => {},
  }),
])
const log = recordingLog()
const receiver = await new TraceReceiver().start()
Object.assign(process.env, receiver.settings, { SVC_ADMIN_TOKEN: tokens.admin })
const tracing = await startTracing(process.env, log)
const backend = new MemoryBackend({ clock: systemTime, random: systemRandom })
const master = await startMaster({
  listen: { host: '127.0.0.1', port: 0 },
  clock: systemTime,
  timers: systemTime,
  random: systemRandom,
  log,
  backend,
  backendScheme: 'memory',
  catalog,
  tokens: { ...tokens, workerPeers: [], scopes: new Map() },
  settings: {
    submitRpsPerToken: 0,
    idempotencyTtlSeconds: 60,
    maxBodyBytes: 131_072,
    maxLostLeases: 10,
    maxQueueLength: 100,
    maxSockets: 1_000,
  },
  dashboardDir: null,
  version: 'scanned',
})

async function call(method: string, path: string, token: string, body?: object): Promise<void> {
  learnSecrets(catalog, path, body)
  const response = await fetch(master.url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  canaries.scan(`${method} ${path}`, `${[...response.headers].join('\n')}\n${await response.text()}`)
}

await backend.workers.register([
  { type: 'mailer', id: 'w-1', conn: 'c', instance: '', hardware: '{}', defaults: '{"slots":1}' },
])
await call('PATCH', `${WORKER}/config`, tokens.admin, { password: secret })
await call('PATCH', `${WORKER}/config`, tokens.admin, { password: { wrong: secret } })
await call('GET', WORKER, tokens.admin)
await call('GET', `${WORKER}/config/history`, tokens.admin)
await call('GET', `/api/v1/me?token=${tokens.worker}`, canaries.create('unknown'))
await call('GET', WORKER, tokens.worker)
await call('POST', '/api/v1/automations/mailer/tasks', tokens.admin, { payload: {} })
await scanMaster({ url: master.url, lines: log.lines, backend })
await master.stop()
await tracing.stop()
await receiver.stop()
const { hits, scannedChars } = canaries
process.stdout.write(JSON.stringify({ hits, scannedChars, spans: receiver.spans.length }))
