/**
 * @module cmd/master
 * `muster master`: the process that coordinates a fleet. Chooses the backend, loads the automations, reads the tokens,
 * starts, and stops gracefully at SIGTERM or SIGINT. Exit codes: 0 stopped, 1 failed, 2 settings.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Catalog } from '../automation/index.ts'
import {
  generateToken,
  readTokens,
  startMaster,
  TOKEN_VARIABLES,
  tokenWarnings,
  type RunningMaster,
  type TokenReading,
  type TokenSettings,
} from '../master/index.ts'
import {
  DEFAULT_IDEMPOTENCY_TTL_SECONDS,
  DEFAULT_MAX_LOST_LEASES,
  DEFAULT_MAX_QUEUE_LENGTH,
  MAX_BODY_BYTES,
  MAX_TTL_SECONDS,
} from '../protocol/index.ts'
import { systemLoopDelay, systemRandom, systemTime, type Log } from '../runtime/index.ts'
import { accessOf, BACKEND_SETTINGS, createBackend, type BackendAccess, type BackendUrl } from './backend.ts'
import { aborted, AUTOMATIONS_SETTING, HELP_TAIL, loadCatalog, LOG_SETTINGS, refuse, withProcess } from './process.ts'
import { atLeast, hostPort, integer, text, type HostPort } from './readers.ts'
import { watchedSecret } from './secret-file.ts'
import { describeSettings, readSettings, setting, SettingsError, type SettingFault } from './settings.ts'
import { VERSION } from './version.ts'

const LIMITS = {
  submitRpsPerToken: setting(atLeast(0), {
    name: 'SVC_SUBMIT_RPS_PER_TOKEN',
    help: 'Task submissions a second for each token; 0 is unlimited.',
    fallback: '0',
  }),
  idempotencyTtlSeconds: setting(integer(1, MAX_TTL_SECONDS), {
    name: 'SVC_IDEMPOTENCY_TTL_SECONDS',
    help: 'How long an idempotency key is remembered.',
    fallback: `${DEFAULT_IDEMPOTENCY_TTL_SECONDS}`,
  }),
  maxBodyBytes: setting(integer(1_024, 64 * MAX_BODY_BYTES), {
    name: 'SVC_MAX_BODY_BYTES',
    help: 'Largest request body.',
    fallback: `${MAX_BODY_BYTES}`,
  }),
  maxLostLeases: setting(integer(0, 1_000_000), {
    name: 'SVC_MAX_LOST_LEASES',
    help: 'Lost leases after which a task is dead; 0 is never.',
    fallback: `${DEFAULT_MAX_LOST_LEASES}`,
  }),
  maxQueueLength: setting(integer(1, 1_000_000_000), {
    name: 'SVC_MAX_QUEUE_LENGTH',
    help: 'Tasks of one automation, dead ones included, beyond which submits are refused.',
    fallback: `${DEFAULT_MAX_QUEUE_LENGTH}`,
  }),
} as const

/** Read by readTokens; here for --help and for the refusal of flags. */
const TOKENS = {
  adminToken: setting(text, {
    name: 'SVC_ADMIN_TOKEN',
    help: 'Token with every right. Not set: made at start, printed once.',
    secret: true,
  }),
  workerToken: setting(text, {
    name: 'SVC_WORKER_TOKEN',
    help: 'Token of the workers. Not set: made at start, printed once.',
    secret: true,
  }),
  workerTokens: setting(text, {
    name: 'SVC_WORKER_TOKENS',
    help: 'Further worker tokens, for rotation: separated by commas, or a JSON list.',
    secret: true,
  }),
  tokenScopes: setting(text, {
    name: 'SVC_TOKEN_SCOPES',
    help: 'JSON object: token to list of automation types, "*" for all.',
    secret: true,
  }),
} as const

const SETTINGS = {
  listen: setting(hostPort, {
    name: 'SVC_LISTEN',
    help: 'host:port of the API, the control channel and the dashboard.',
    fallback: '0.0.0.0:8080',
  }),
  ...BACKEND_SETTINGS,
  ...AUTOMATIONS_SETTING,
  ...TOKENS,
  ...LIMITS,
  ...LOG_SETTINGS,
} as const

/** Fixed settings of `muster dev`, which has no tuning of its own. */
const DEFAULT_LIMITS = readSettings(LIMITS, {}, []).values

export function help(): string {
  return `muster master: coordinates a fleet of workers\n\n  SVC_ADMIN_TOKEN_FILE=admin-token SVC_WORKER_TOKEN_FILE=worker-token muster master --automations muster/automations\n  muster master --backend-url memory:// --listen 127.0.0.1:8080\n\n${describeSettings(SETTINGS)}\n${HELP_TAIL}`
}

export async function run(argv: readonly string[]): Promise<number> {
  const { values, faults } = readSettings(SETTINGS, withoutTokens(process.env), argv)
  const reading = await readAgain()
  const tokenFaults: readonly SettingFault[] = 'faults' in reading ? reading.faults.map(toFault) : []
  const catalog = await loadCatalog(values.automations, process.cwd()).catch((error: unknown) => {
    if (error instanceof SettingsError) refuse([...faults, ...tokenFaults, ...error.faults])
    throw error
  })
  refuse([...faults, ...tokenFaults])
  if ('faults' in reading) return 2
  const tokens = completed(reading.tokens)
  return withProcess(values, async (log, stop) => {
    for (const warning of tokenWarnings(tokens)) log.warn(warning)
    announce(reading.tokens, tokens)
    const password = watchedSecret('SVC_BACKEND_PASSWORD', values.backendPassword ?? '', process.env, systemTime, log)
    const sentinelPassword = watchedSecret(
      'SVC_BACKEND_SENTINEL_PASSWORD',
      values.backendSentinelPassword ?? '',
      process.env,
      systemTime,
      log,
    )
    const access = accessOf(values, {
      password: () => password.current() || undefined,
      sentinelPassword: () => sentinelPassword.current() || undefined,
    })
    const rereads = TOKEN_VARIABLES.some((name) => (process.env[`${name}_FILE`] ?? '') !== '')
    try {
      const master = await runMaster({
        listen: values.listen,
        backendUrl: values.backendUrl,
        access,
        catalog,
        log,
        tokens: { ...tokens },
        limits: values,
        ...(rereads ? { reread: async () => keepGenerated(await readAgain(), reading.tokens, tokens) } : {}),
      })
      await aborted(stop)
      await master.stop()
    } finally {
      password.stop()
      sentinelPassword.stop()
    }
    return 0
  })
}

const readAgain = (): Promise<TokenReading> => readTokens(process.env, (path) => readFile(path, 'utf8'))

/** The token variables are read by readTokens, with their own rules. */
function withoutTokens(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) => !TOKEN_VARIABLES.some((variable) => name === variable || name === `${variable}_FILE`),
    ),
  )
}

function toFault(sentence: string): SettingFault {
  const name = TOKEN_VARIABLES.find((variable) => sentence.includes(variable)) ?? 'tokens'
  return { name, problem: sentence }
}

const completed = (tokens: TokenSettings): TokenSettings => ({
  ...tokens,
  admin: tokens.admin ?? generateToken(systemRandom),
  worker: tokens.worker ?? generateToken(systemRandom),
})

/** A token that was made at start stays in force beside those that are read again. */
function keepGenerated(next: TokenReading, set: TokenSettings, inForce: TokenSettings): TokenReading {
  if ('faults' in next) return next
  return {
    tokens: {
      ...next.tokens,
      admin: set.admin === null ? inForce.admin : next.tokens.admin,
      worker: set.worker === null ? inForce.worker : next.tokens.worker,
    },
  }
}

/** Prints the tokens that were made at this start, once, in one block (D21). */
function announce(set: TokenSettings, inForce: TokenSettings): void {
  const made = [
    ['admin', set.admin, inForce.admin],
    ['worker', set.worker, inForce.worker],
  ].filter(([, before, now]) => before === null && now !== null)
  if (made.length === 0) return
  const lines = made.map(([role, , token]) => `${role?.padEnd(6)}  ${token}`)
  process.stdout.write(
    `==== tokens, shown this once; they change at every start until SVC_ADMIN_TOKEN and SVC_WORKER_TOKEN are set ====\n${lines.join('\n')}\n${'='.repeat(112)}\n`,
  )
}

export interface RunMasterOptions {
  readonly listen: HostPort
  readonly backendUrl: BackendUrl
  readonly access?: BackendAccess
  readonly catalog: Catalog
  readonly log: Log
  readonly tokens: Partial<TokenSettings>
  readonly limits?: Pick<typeof DEFAULT_LIMITS, keyof typeof LIMITS>
  readonly reread?: () => Promise<TokenReading>
}

/** The master on this machine's clock, sockets and disk; shared by `muster master` and `muster dev`. */
export function runMaster({
  listen,
  backendUrl: url,
  access,
  catalog,
  log,
  tokens,
  limits = DEFAULT_LIMITS,
  reread,
}: RunMasterOptions): Promise<RunningMaster> {
  return startMaster({
    listen,
    catalog,
    log,
    clock: systemTime,
    timers: systemTime,
    random: systemRandom,
    loopDelay: systemLoopDelay(),
    backend: createBackend(url, log, access),
    backendScheme: url.scheme,
    version: VERSION,
    tokens: { admin: null, worker: null, workerPeers: [], scopes: new Map(), ...tokens },
    ...(reread === undefined ? {} : { rereadTokens: reread }),
    settings: limits,
    dashboardDir: builtDashboard(),
  })
}

function builtDashboard(): string | null {
  const directory = fileURLToPath(new URL('../dashboard/', import.meta.url))
  return existsSync(new URL('../dashboard/index.html', import.meta.url)) ? directory : null
}
