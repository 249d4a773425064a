/**
 * @module master/master
 * The master: composes its parts over one backend, listens, and stops without losing what it has accepted.
 *
 *   start   backend opens (meanwhile, if it takes long, `/readyz` is 503) ▶ parts start ▶ listens
 *   stop    /readyz falls ▶ control sockets close (1001), waiting reserves are answered empty ▶ requests in flight end
 *           (10 s at most) ▶ parts stop ▶ backend closes
 */
import { Gauge, Registry as MetricsRegistry } from 'prom-client'
import type { Catalog } from '../automation/index.ts'
import { CLOSE } from '../protocol/index.ts'
import type { Clock, Log, LoopDelay, Random, Timers } from '../runtime/index.ts'
import type { Backend } from '../storage/index.ts'
import { AuditTrail, type AuditOptions } from './audit/index.ts'
import { createAuthenticator, watchTokens, type TokenReading, type TokenSettings } from './auth/index.ts'
import { createCatalogRoutes } from './catalog/index.ts'
import { createControl } from './control/index.ts'
import type { MasterDeps, MasterSettings, Part } from './deps.ts'
import { StoreEpoch } from './epoch.ts'
import { createEvents } from './events/index.ts'
import { createHealth } from './health/index.ts'
import { createDashboard, createHttp, createOpenApi, StartupListener, type Route } from './http/index.ts'
import { Inspections } from './inspections/index.ts'
import { createMasterMembership } from './master-membership.ts'
import { createMetrics } from './metrics/index.ts'
import { createOverload } from './overload.ts'
import { createPools } from './pools/index.ts'
import { createQueue } from './queue/index.ts'
import { createRegistry } from './registry/index.ts'
import { createRpc } from './rpc/index.ts'
import { createStreams } from './streams/index.ts'

const FINISH_WITHIN_MS = 10_000

export interface MasterOptions {
  readonly listen: { readonly host: string; readonly port: number }
  /** Where `/metrics` is served instead of `listen`; left out: there. */
  readonly metricsListen?: { readonly host: string; readonly port: number } | undefined
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  /** The load of this process; left out: it is not watched. Stopped with the master. */
  readonly loopDelay?: LoopDelay
  /** Not yet open. */
  readonly backend: Backend
  /** The scheme of the backend's URL, as people and metrics see it. */
  readonly backendScheme: string
  readonly catalog: Catalog
  readonly tokens: TokenSettings
  /** Reads the tokens again, every 2 s; left out: they stay as they are. */
  readonly rereadTokens?: () => Promise<TokenReading>
  readonly settings: MasterSettings
  /** What the audit trail contains and where it goes; left out: nothing is written. */
  readonly audit?: AuditOptions
  /** Where the built page stands; null: it is not there. */
  readonly dashboardDir: string | null
  readonly version: string
}

export interface RunningMaster {
  readonly url: string
  readonly port: number
  /** The route table, for those who document or test it. */
  readonly routes: readonly Route[]
  /** Repeatable; resolves when the backend is closed. */
  stop(): Promise<void>
}

/**
 * Starts a master.
 * @throws {FleetError} what `backend.open` throws; Error when the address is taken. Nothing is left running then.
 */
export async function startMaster(options: MasterOptions): Promise<RunningMaster> {
  if (options.catalog.size === 0)
    throw new Error('no automation is installed; list automation modules in SVC_AUTOMATIONS')
  await openBackend(options)
  const master = await compose(options).catch(async (error: unknown) => {
    await options.backend.close()
    throw error
  })
  try {
    for (const part of master.parts) await part.start?.()
    const port = await master.http.listen(options.listen)
    options.log.info('the master listens', { host: options.listen.host, port })
    let stopped: Promise<void> | null = null
    return {
      port,
      url: urlOf(options.listen.host, port),
      routes: master.routes,
      stop: () => (stopped ??= stop(master, options)),
    }
  } catch (error) {
    await stop(master, options)
    throw error
  }
}

/** Opens the backend. A backend that reports a long step gets a listener for the probes until it is open (D97). */
async function openBackend({ backend, listen, clock, random, log }: MasterOptions): Promise<void> {
  let startup: StartupListener | undefined
  let listening: Promise<unknown> = Promise.resolve()
  const onProgress = (step: string): void => {
    if (startup === undefined) {
      startup = new StartupListener({ address: listen, clock, requestId: () => random.uuid() })
      listening = startup
        .listen()
        .catch((error: unknown) => log.warn('cannot serve probes while opening the store', { error }))
    }
    startup.report(step)
  }
  try {
    await backend.open(new AbortController().signal, onProgress)
  } finally {
    await listening
    await startup?.close()
  }
}

type Composed = Awaited<ReturnType<typeof compose>>

/** Makes every part; nothing runs yet. */
async function compose(options: MasterOptions) {
  const { backend, backendScheme, version } = options
  const masterId = options.random.uuid()
  const epoch = new StoreEpoch(backend)
  await epoch.read()
  const metrics = new MetricsRegistry()
  const deps: MasterDeps = {
    ...options,
    masterId,
    epoch,
    metrics,
    inspections: new Inspections({ ...options, metrics }),
  }
  const authenticator = createAuthenticator(options.tokens)
  const audit = new AuditTrail(deps, options.audit ?? { classes: new Set(), write: () => true })
  let serving = true
  const faults = tokenFaultsIn(deps)
  const overload = createOverload(deps, options.loopDelay ?? null)
  const masters = createMasterMembership(deps)
  const streams = createStreams(deps)
  const queue = createQueue(deps, overload.overloaded, () => streams.makeCapacity())
  const registry = createRegistry(deps, { onDrain: (ref) => queue.dismissWaiters(ref) })
  const control = createControl(deps, {
    registry,
    sink: streams,
    identify: (bearerToken) => authenticator.identify(bearerToken),
    audit,
  })
  const documented: readonly Part[] = [
    audit,
    masters,
    overload,
    streams,
    queue,
    createRpc(deps, queue),
    registry,
    control,
    createPools(deps),
    createEvents(deps, { masters, announce: registry.announce }),
    createCatalogRoutes({ deps, version, backendScheme }),
    createHealth({ deps, serving: () => serving, warnings: faults.current }),
    createMetrics({
      deps,
      masters,
      backendScheme,
      listen: options.metricsListen,
      ready: () => serving && backend.health().ok,
    }),
    await createDashboard(options.dashboardDir),
    tokenWatch(options, (tokens) => authenticator.replace(tokens), faults.set),
  ]
  const parts = [
    ...documented,
    createOpenApi(
      documented.flatMap((part) => part.routes),
      version,
    ),
  ]
  authenticator.onChange(() => control.closeRevoked())
  authenticator.onChange(() => audit.replacedTokens())
  const routes = parts.flatMap((part) => part.routes)
  const http = createHttp({
    deps,
    routes,
    authenticator,
    audit,
    epoch: () => epoch.current,
    onUpgrade: (request, socket, head) => control.upgrade(request, socket, head),
  })
  return { parts, routes, http, control, queue, beginStop: () => void (serving = false) }
}

async function stop(
  { parts, http, control, queue, beginStop }: Composed,
  { backend, log }: MasterOptions,
): Promise<void> {
  beginStop()
  queue.close()
  await Promise.all([control.closeAll(CLOSE.GOING_AWAY, 'the master is stopping'), http.close(FINISH_WITHIN_MS)])
  for (const part of [...parts].toReversed()) {
    await Promise.resolve(part.stop?.()).catch((error: unknown) =>
      log.error('a component failed to stop cleanly', { error }),
    )
  }
  await backend.close()
  log.info('the master stopped')
}

/** The faults of changed token settings, for `/readyz` and as a metric: until they are corrected the tokens before stay in force. */
function tokenFaultsIn({ metrics }: MasterDeps) {
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

function tokenWatch(
  { timers, log, tokens, rereadTokens }: MasterOptions,
  apply: (tokens: TokenSettings) => void,
  onFaults: (faults: readonly string[]) => void,
): Part {
  let end = (): void => {}
  return {
    routes: [],
    start: () => {
      if (rereadTokens !== undefined)
        end = watchTokens({ timers, log, reread: rereadTokens, initial: tokens, apply, onFaults })
    },
    stop: () => end(),
  }
}

/** Where to reach it from this machine. */
function urlOf(host: string, port: number): string {
  const isEveryAddress = ['', '0.0.0.0', '::'].includes(host)
  const reachable = isEveryAddress ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
