/**
 * A whole master that listens on a free local port, on the memory backend unless the test passes another one. Its
 * tokens and the secret fields that a test PATCHes are searched in all its outputs when it stops.
 */
import { afterEach } from '@jest/globals'
import { connect, type Socket } from 'node:net'
import { buildCatalog, defineBatch, defineContinuous, Type } from '../../src/automation/index.ts'
import { parseTokens } from '../../src/master/auth/index.ts'
import { startMaster, type MasterOptions, type RunningMaster } from '../../src/master/index.ts'
import { SCOPED_PERMISSIONS } from '../../src/protocol/index.ts'
import { systemRandom, systemTime } from '../../src/runtime/index.ts'
import type { Backend } from '../../src/storage/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import { checkRaw } from '../openapi/every-response.ts'
import { canaries } from './canary.ts'
import { learnSecrets, scanMaster } from './outputs.ts'
import { recordingLog, type LogLine } from './recording-log.ts'

const ROLES = ['viewer', 'responder', 'producer', 'editor'] as const

export const TOKENS = {
  admin: canaries.create('admin'),
  worker: canaries.create('worker'),
  scaler: canaries.create('scaler'),
  /** Covers `mailer`. */
  mailer: canaries.create('mailer'),
  /** Covers `probe`. */
  probe: canaries.create('probe'),
  everyType: canaries.create('every-type'),
  /** The roles of SVC_TOKENS, for `mailer`. */
  viewer: canaries.create('viewer'),
  responder: canaries.create('responder'),
  producer: canaries.create('producer'),
  editor: canaries.create('editor'),
} as const

/** One token for each permission, named after it, for `mailer`. */
export const tokenWith = (permission: string): string => `${canaries.mark}-token-with-${permission}`

const NAMED_TOKENS = JSON.stringify([
  ...ROLES.map((role) => ({
    name: role,
    role,
    types: ['mailer'],
    token: TOKENS[role],
  })),
  ...SCOPED_PERMISSIONS.map((permission) => ({
    name: `may-${permission}`,
    permissions: [permission],
    types: ['mailer'],
    token: tokenWith(permission),
  })),
])

function namedTokens() {
  const reading = parseTokens({ SVC_TOKENS: NAMED_TOKENS })
  if (reading.kind === 'invalid') throw new Error(JSON.stringify(reading.faults))
  return reading.tokens.named ?? []
}

const run = async (): Promise<void> => {}
const POOLS = {
  accounts: {
    payload: Type.Object({ user: Type.String() }),
    tags: Type.Object({ region: Type.Optional(Type.String()) }),
  },
}

export const testCatalog = () =>
  buildCatalog([
    defineBatch({
      type: 'mailer',
      payload: Type.Object({ to: Type.String() }),
      output: Type.Object({ sent: Type.Boolean() }),
      pools: POOLS,
      config: Type.Object({
        host: Type.Optional(Type.String()),
        password: Type.Optional(Type.String({ writeOnly: true })),
      }),
      run,
    }),
    defineContinuous({ type: 'probe', output: Type.Object({ ok: Type.Boolean() }), run }),
  ])

export interface TestMaster extends RunningMaster {
  readonly lines: LogLine[]
  readonly backend: Backend
  /** Calls the API with the admin token unless another one is passed. An empty token is not sent. */
  call(
    method: string,
    path: string,
    options?: { token?: string | undefined; body?: unknown; headers?: Record<string, string> },
  ): Promise<MasterResponse>
}
interface MasterResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

export const SETTINGS = {
  submitRpsPerToken: 0,
  idempotencyTtlSeconds: 3_600,
  maxBodyBytes: 131_072,
  maxLostLeases: 10,
  maxQueueLength: 10_000,
  maxSockets: 1_000,
} as const

const masters: RunningMaster[] = []
afterEach(async () => {
  await Promise.all(masters.splice(0).map((master) => master.stop()))
})

/** Starts a master that is stopped after the test. */
export async function runMaster(options: Partial<MasterOptions> = {}): Promise<TestMaster> {
  const master = await startTestMaster(options)
  masters.push(master)
  return master
}

/** Starts a master that the caller stops. */
export async function startTestMaster(options: Partial<MasterOptions> = {}): Promise<TestMaster> {
  const log = recordingLog()
  const { lines } = log
  const { backend = new MemoryBackend({ clock: systemTime, random: systemRandom }), catalog = testCatalog() } = options
  const master = await startMaster({
    listen: { host: '127.0.0.1', port: 0 },
    clock: systemTime,
    timers: systemTime,
    random: systemRandom,
    log,
    backendScheme: 'memory',
    catalog,
    version: '1.2.3',
    tokens: {
      admin: TOKENS.admin,
      worker: TOKENS.worker,
      scaler: TOKENS.scaler,
      workerPeers: [],
      scopes: new Map([
        [TOKENS.mailer, ['mailer']],
        [TOKENS.probe, ['probe']],
        [TOKENS.everyType, ['*']],
      ]),
      named: namedTokens(),
    },
    settings: SETTINGS,
    dashboardDir: null,
    ...options,
    backend,
  })
  return {
    ...master,
    lines,
    backend,
    call: (method, path, more) => {
      learnSecrets(catalog, path, more?.body)
      return call(master.url, method, path, more)
    },
    stop: () => stopAndScan(master, lines, backend),
  }
}

/** @throws {Error} if an output of the master contains a secret of the test. */
async function stopAndScan(master: RunningMaster, lines: readonly LogLine[], backend: Backend): Promise<void> {
  await scanMaster({ url: master.url, lines, backend })
  await master.stop()
  canaries.scan('the log', lines)
  canaries.assertNone()
}

async function call(
  url: string,
  method: string,
  path: string,
  { token = TOKENS.admin, body, headers = {} }: Parameters<TestMaster['call']>[2] = {},
): Promise<MasterResponse> {
  const response = await fetch(url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    json:
      response.headers.get('content-type')?.startsWith('application/json') === true
        ? (JSON.parse(text) as unknown)
        : null,
  }
}

/** The response to raw bytes, until the server closed the connection. */
export interface RawReply {
  readonly status: number
  readonly statuses: readonly number[]
  readonly text: string
}

/** Sends bytes unchanged, then what `after` sends, and reads until the connection closes. */
export function sendRaw(
  port: number,
  bytes: string | Uint8Array,
  { after }: { after?: (socket: Socket) => void } = {},
): Promise<RawReply> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes)
      after?.(socket)
    })
    const done = (): void => {
      checkRaw(port, bytes, text)
      const statuses = [...text.matchAll(/^HTTP\/1\.1 (?<status>\d{3})/gm)].map((match) =>
        Number(match.groups?.['status']),
      )
      resolve({ text, statuses, status: statuses.at(-1) ?? 0 })
    }
    socket.on('error', () => {}) // The close event follows.
    socket.on('close', done)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
    })
  })
}

/** The head of a request that closes its connection. It has the admin token unless another one is passed. */
export function head(
  method: string,
  path: string,
  headers: readonly string[] = [],
  token: string | null = TOKENS.admin,
): string {
  return [
    `${method} ${path} HTTP/1.1`,
    'Host: test',
    ...(token === null ? [] : [`Authorization: Bearer ${token}`]),
    'Connection: close',
    ...headers,
    '',
    '',
  ].join('\r\n')
}
