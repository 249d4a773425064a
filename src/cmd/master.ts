/**
 * @module cmd/master
 * Implements `muster master`, which coordinates a fleet of workers. Selects the backend, loads the automations, reads
 * the tokens, starts the master, and stops it gracefully on SIGTERM or SIGINT. Exit codes: 0 stopped, 1 failed, 2
 * settings.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Catalog } from '../automation/index.ts'
import {
  AUDIT_CLASSES,
  generateToken,
  readTokens,
  startMaster,
  TOKEN_VARIABLES,
  tokenWarnings,
  type AlertSettings,
  type AuditClass,
  type AuditOptions,
  type RunningMaster,
  type SignInSettings,
  type TlsOptions,
  type TokenReading,
  type TokenSettings,
} from '../master/index.ts'
import {
  DEFAULT_IDEMPOTENCY_TTL_SECONDS,
  DEFAULT_MAX_LOST_LEASES,
  DEFAULT_MAX_OUTCOMES,
  DEFAULT_MAX_QUEUE_LENGTH,
  DEFAULT_MAX_SOCKETS,
  DEFAULT_TARGET_WAIT_SECONDS,
  ENVIRONMENT_COLORS,
  MAX_BODY_BYTES,
  MAX_TARGET_WAIT_SECONDS,
  MAX_TTL_SECONDS,
  type EnvironmentBody,
} from '../protocol/index.ts'
import { aborted, systemLoopDelay, systemProcessLoad, systemRandom, systemTime, type Log } from '../runtime/index.ts'
import { accessOf, BACKEND_SETTINGS, createBackend, type BackendAccess, type BackendUrl } from './backend.ts'
import { AUTOMATIONS_SETTING, HELP_TAIL, loadCatalog, LOG_SETTINGS, refuse, withProcess } from './process.ts'
import { ALERTS, readAlerts } from './alert-settings.ts'
import { auditTo } from './audit-sink.ts'
import { openFilesAdvice, readOpenFileLimit } from './open-files.ts'
import {
  atLeast,
  environmentName,
  flag,
  hostPort,
  integer,
  list,
  oneOf,
  origins,
  text,
  type HostPort,
} from './readers.ts'
import { watchedSecret } from './secret-file.ts'
import { describeSettings, readSettings, setting, SettingsError, type SettingFault, type Values } from './settings.ts'
import { readSignIn, SIGN_IN, signInFaults } from './sign-in-settings.ts'
import { readTls, TLS } from './tls-settings.ts'
import { VERSION } from './version.ts'

const LIMITS = {
  submitRpsPerToken: setting(atLeast(0), {
    name: 'SVC_SUBMIT_RPS_PER_TOKEN',
    help: 'Maximum task submissions per second and token; 0 is unlimited.',
    fallback: '0',
  }),
  idempotencyTtlSeconds: setting(integer(1, MAX_TTL_SECONDS), {
    name: 'SVC_IDEMPOTENCY_TTL_SECONDS',
    help: 'How long an idempotency key prevents duplicates.',
    fallback: `${DEFAULT_IDEMPOTENCY_TTL_SECONDS}`,
  }),
  maxBodyBytes: setting(integer(1_024, 64 * MAX_BODY_BYTES), {
    name: 'SVC_MAX_BODY_BYTES',
    help: 'Maximum size of a request body.',
    fallback: `${MAX_BODY_BYTES}`,
  }),
  maxLostLeases: setting(integer(0, 1_000_000), {
    name: 'SVC_MAX_LOST_LEASES',
    help: 'Number of lost leases after which a task is dead-lettered; 0 means never.',
    fallback: `${DEFAULT_MAX_LOST_LEASES}`,
  }),
  maxQueueLength: setting(integer(1, 1_000_000_000), {
    name: 'SVC_MAX_QUEUE_LENGTH',
    help: 'Maximum number of tasks of one automation, including dead ones; further submissions are rejected.',
    fallback: `${DEFAULT_MAX_QUEUE_LENGTH}`,
  }),
  maxOutcomes: setting(integer(0, 10_000_000), {
    name: 'SVC_MAX_OUTCOMES',
    help: 'Number of retained outcomes of one automation; beyond it, the one that expires first is removed.',
    fallback: `${DEFAULT_MAX_OUTCOMES}`,
  }),
  maxSockets: setting(integer(1, 100_000), {
    name: 'SVC_MAX_SOCKETS',
    help: 'Maximum number of workers that are connected to this master; each needs one open file.',
    fallback: `${DEFAULT_MAX_SOCKETS}`,
  }),
  loadTargetWaitSeconds: setting(integer(1, MAX_TARGET_WAIT_SECONDS), {
    name: 'SVC_LOAD_TARGET_WAIT_SECONDS',
    help: 'How long tasks may wait, in seconds, for svc_wanted_slots and for a load request that names no target.',
    fallback: `${DEFAULT_TARGET_WAIT_SECONDS}`,
  }),
  corsOrigins: setting(origins, {
    name: 'SVC_CORS_ORIGINS',
    help: 'Comma-separated origins, such as https://app.example.com, whose pages may call the API from a browser.',
  }),
} as const

const ENVIRONMENT = {
  environmentName: setting(environmentName, {
    name: 'SVC_ENVIRONMENT_NAME',
    help: 'Name of this installation, such as production, which the dashboard shows.',
  }),
  environmentColor: setting(oneOf(...ENVIRONMENT_COLORS), {
    name: 'SVC_ENVIRONMENT_COLOR',
    help: `Color of the name: ${ENVIRONMENT_COLORS.join(', ')}.`,
    fallback: 'gray',
  }),
} as const

/** Listed for --help and to reject them as flags; `readTokens` reads their values. */
const TOKENS = {
  adminToken: setting(text, {
    name: 'SVC_ADMIN_TOKEN',
    help: 'Admin token, for every call except those of workers. Not set: generated at start and printed once.',
    secret: true,
  }),
  workerToken: setting(text, {
    name: 'SVC_WORKER_TOKEN',
    help: 'Token of the workers. Not set: generated at start and printed once.',
    secret: true,
  }),
  workerTokens: setting(text, {
    name: 'SVC_WORKER_TOKENS',
    help: 'Additional worker tokens, for rotation: comma-separated, or a JSON list.',
    secret: true,
  }),
  scalerToken: setting(text, {
    name: 'SVC_SCALER_TOKEN',
    help: 'Token of autoscalers, which may only read the load of each type. Not set: there is none.',
    secret: true,
  }),
  tokenScopes: setting(text, {
    name: 'SVC_TOKEN_SCOPES',
    help: 'JSON object that maps a token to a list of automation types; "*" is all.',
    secret: true,
  }),
  tokens: setting(text, {
    name: 'SVC_TOKENS',
    help: 'JSON list of named tokens: name, role or permissions, types, token or sha256; workers, expires, submit_rps.',
    secret: true,
  }),
  jwtIssuers: setting(text, {
    name: 'SVC_JWT_ISSUERS',
    help: 'JSON list of issuers whose JWTs are accepted: name, issuer, audience, rules. Not set: none.',
    secret: true,
  }),
} as const

function auditClasses(value: string): ReadonlySet<AuditClass> {
  const named = value === 'none' ? [] : list(value)
  const unknown = named.find((each) => !AUDIT_CLASSES.some((known) => known === each))
  if (unknown !== undefined)
    throw new Error(`${JSON.stringify(unknown)} is not known; known: ${AUDIT_CLASSES.join(', ')}, none`)
  return new Set(AUDIT_CLASSES.filter((known) => named.includes(known)))
}

const SETTINGS = {
  listen: setting(hostPort, {
    name: 'SVC_LISTEN',
    help: 'host:port of the API, the control channel and the dashboard.',
    fallback: '0.0.0.0:8080',
  }),
  metricsListen: setting(hostPort, {
    name: 'SVC_METRICS_LISTEN',
    help: 'Separate host:port for /metrics, /healthz and /readyz; SVC_LISTEN then no longer serves /metrics.',
  }),
  ...BACKEND_SETTINGS,
  ...AUTOMATIONS_SETTING,
  ...TOKENS,
  allowShortTokens: setting(flag, {
    name: 'SVC_ALLOW_SHORT_TOKENS',
    help: 'Accept tokens of fewer than 16 characters, which can be guessed.',
    fallback: '0',
  }),
  ...LIMITS,
  ...ENVIRONMENT,
  ...ALERTS,
  ...SIGN_IN,
  ...TLS,
  audit: setting(auditClasses, {
    name: 'SVC_AUDIT',
    help:
      'Comma-separated classes of audit lines on stdout: ' +
      'control (changes), auth (rejected tokens), data (submissions); or none.',
    fallback: 'control,auth',
  }),
  ...LOG_SETTINGS,
} as const

/** The limits of `muster dev`, which has no settings for them. */
const DEFAULT_LIMITS = readSettings(LIMITS, {}, []).values

export function help(): string {
  return (
    'muster master: run a master, which coordinates a fleet of workers\n\n' +
    '  SVC_ADMIN_TOKEN_FILE=admin-token SVC_WORKER_TOKEN_FILE=worker-token ' +
    'muster master --automations muster/automations\n' +
    '  muster master --backend-url memory:// --listen 127.0.0.1:8080\n\n' +
    `${describeSettings(SETTINGS)}\n${HELP_TAIL}`
  )
}

export async function run(argv: readonly string[]): Promise<number> {
  const { values, faults } = readSettings(SETTINGS, withoutTokens(process.env), argv)
  const readAgain = (): Promise<TokenReading> =>
    readTokens(process.env, (path) => readFile(path, 'utf8'), { allowShort: values.allowShortTokens })
  const reading = await readAgain()
  const tokenFaults: SettingFault[] =
    reading.kind === 'invalid' ? [...reading.faults] : [...signInFaults(values, reading.tokens)]
  const tls = await readTls(values, tokenFaults)
  const catalog = await loadCatalog(values.automations, process.cwd()).catch((error: unknown) => {
    if (error instanceof SettingsError) refuse([...faults, ...tokenFaults, ...error.faults])
    throw error
  })
  refuse([...faults, ...tokenFaults])
  if (reading.kind === 'invalid') return 2
  const tokens = completed(reading.tokens)
  return withProcess(values, async (log, stop) => {
    for (const warning of tokenWarnings(tokens)) log.warn(warning)
    announce(reading.tokens, tokens)
    const watched = (name: string, value = '') => watchedSecret(name, value, process.env, systemTime, log)
    const password = watched('SVC_BACKEND_PASSWORD', values.backendPassword)
    const sentinelPassword = watched('SVC_BACKEND_SENTINEL_PASSWORD', values.backendSentinelPassword)
    const access = accessOf(values, {
      password: () => password.current() || undefined,
      sentinelPassword: () => sentinelPassword.current() || undefined,
    })
    const alerts = readAlerts(values, log)
    const signIn = readSignIn(values, log)
    const rereads = TOKEN_VARIABLES.some((name) => (process.env[`${name}_FILE`] ?? '') !== '')
    try {
      const master = await runMaster({
        listen: values.listen,
        tls,
        metricsListen: values.metricsListen,
        backendUrl: values.backendUrl,
        access,
        catalog,
        log,
        tokens: { ...tokens },
        limits: values,
        alerts: alerts.alerts,
        signIn: signIn.signIn,
        ...environmentOf(values),
        audit: auditTo(process.stdout, values.audit),
        ...(rereads ? { reread: async () => keepGenerated(await readAgain(), reading.tokens, tokens) } : {}),
      })
      const openFiles = openFilesAdvice(await readOpenFileLimit(), values.maxSockets)
      if (openFiles !== null) log.info(openFiles)
      await aborted(stop)
      await master.stop()
    } finally {
      password.stop()
      sentinelPassword.stop()
      alerts.stop()
      signIn.stop()
    }
    return 0
  })
}

function environmentOf({ environmentName: name, environmentColor: color }: Values<typeof ENVIRONMENT>) {
  return name === undefined ? {} : { environment: { name, color } }
}

/** Removes the token variables, which `readTokens` reads with its own rules. */
function withoutTokens(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) => !TOKEN_VARIABLES.some((variable) => name === variable || name === `${variable}_FILE`),
    ),
  )
}

const completed = (tokens: TokenSettings): TokenSettings => ({
  ...tokens,
  admin: tokens.admin ?? generateToken(systemRandom),
  worker: tokens.worker ?? generateToken(systemRandom),
})

/** Keeps a token that was generated at start valid when the other tokens are reloaded. */
function keepGenerated(next: TokenReading, configured: TokenSettings, active: TokenSettings): TokenReading {
  if (next.kind === 'invalid') return next
  return {
    kind: 'valid',
    tokens: {
      ...next.tokens,
      admin: configured.admin === null ? active.admin : next.tokens.admin,
      worker: configured.worker === null ? active.worker : next.tokens.worker,
    },
  }
}

/** Prints the tokens that were generated at this start, once, in one block (D21). */
function announce(configured: TokenSettings, active: TokenSettings): void {
  const made = [
    ['admin', configured.admin, active.admin],
    ['worker', configured.worker, active.worker],
  ].filter(([, before, now]) => before === null && now !== null)
  if (made.length === 0) return
  const lines = made.map(([role, , token]) => `${role?.padEnd(6)}  ${token}`)
  process.stdout.write(
    '==== generated tokens, shown only once; ' +
      'they change at every start until SVC_ADMIN_TOKEN and SVC_WORKER_TOKEN are set ====\n' +
      `${lines.join('\n')}\n${'='.repeat(122)}\n`,
  )
}

export interface RunMasterOptions {
  readonly listen: HostPort
  /** Null or left out: plain HTTP. */
  readonly tls?: TlsOptions | null
  readonly metricsListen?: HostPort | undefined
  readonly backendUrl: BackendUrl
  readonly access?: BackendAccess
  readonly catalog: Catalog
  readonly log: Log
  readonly tokens: Partial<TokenSettings>
  readonly limits?: Pick<typeof DEFAULT_LIMITS, keyof typeof LIMITS>
  readonly environment?: EnvironmentBody
  readonly alerts?: AlertSettings
  readonly signIn?: SignInSettings | undefined
  readonly reread?: () => Promise<TokenReading>
  /** Absent: no audit trail. */
  readonly audit?: AuditOptions
}

/** Starts a master with the system's clock, sockets and disk, for `muster master` and `muster dev`. */
export function runMaster({
  listen,
  tls,
  metricsListen,
  backendUrl: url,
  access,
  catalog,
  log,
  tokens,
  limits = DEFAULT_LIMITS,
  environment,
  alerts,
  signIn,
  reread,
  audit,
}: RunMasterOptions): Promise<RunningMaster> {
  return startMaster({
    listen,
    ...(tls !== null && tls !== undefined && { tls }),
    metricsListen,
    catalog,
    log,
    clock: systemTime,
    timers: systemTime,
    random: systemRandom,
    loopDelay: systemLoopDelay(),
    processLoad: systemProcessLoad(),
    backend: createBackend(url, log, access),
    backendScheme: url.scheme,
    version: VERSION,
    tokens: { admin: null, worker: null, workerPeers: [], scopes: new Map(), ...tokens },
    ...(reread === undefined ? {} : { rereadTokens: reread }),
    settings: { ...limits, environment, alerts, signIn },
    ...(audit === undefined ? {} : { audit }),
    dashboardDir: builtDashboard(),
  })
}

function builtDashboard(): string | null {
  const directory = fileURLToPath(new URL('../dashboard/', import.meta.url))
  return existsSync(new URL('../dashboard/index.html', import.meta.url)) ? directory : null
}
