/**
 * @module master/master
 * Starts the master: composes its parts over one backend and listens. Stopping loses nothing that was accepted.
 *
 *   start   open the backend (if this takes long, `/readyz` returns 503) ▶ start the parts ▶ listen
 *   stop    `/readyz` returns 503 ▶ close control sockets (1001), return empty from waiting reserves ▶ finish requests
 *           (10 s at most) ▶ stop the parts ▶ close the backend
 */
import type { RequestListener } from 'node:http'
import { Registry as MetricsRegistry } from 'prom-client'
import type { Catalog } from '../automation/index.ts'
import { CLOSE } from '../protocol/index.ts'
import type { Clock, Log, LoopDelay, ProcessLoad, Random, Timers } from '../runtime/index.ts'
import type { Backend } from '../storage/index.ts'
import { createAcknowledgements } from './acknowledgements/index.ts'
import { createAlerts } from './alerts/index.ts'
import { AuditTrail, type AuditOptions } from './audit/index.ts'
import { createAuditLog } from './audit-log/index.ts'
import {
  createAuthenticator,
  JwtVerifier,
  KEY_READER,
  type Authenticator,
  type KeyReader,
  type Principal,
  type TokenReading,
  type TokenSettings,
} from './auth/index.ts'
import { certificateWatch } from './certificate-watch.ts'
import { createCatalogRoutes } from './catalog/index.ts'
import { createControl, StartupUpgrades, type Control } from './control/index.ts'
import type { MasterDeps, MasterSettings, Part } from './deps.ts'
import { StoreEpoch } from './epoch.ts'
import { createEvents } from './events/index.ts'
import { createHealth } from './health/index.ts'
import {
  createDashboard,
  createOpenApi,
  Http,
  StartupListener,
  type Address,
  type Route,
  type TlsOptions,
} from './http/index.ts'
import { createLoad, type Load } from './load/index.ts'
import { Inspections } from './inspections/index.ts'
import { createMasterMembership, type MasterMembership } from './master-membership.ts'
import { MasterReleases } from './master-releases.ts'
import { createMetrics, fleetSnapshots, workforceOf, worstByRevision, type FleetSnapshot } from './metrics/index.ts'
import { createOperations } from './operations/index.ts'
import { createOverload } from './overload.ts'
import { createPools, PoolWaiters } from './pools/index.ts'
import { Queue } from './queue/index.ts'
import { createRollouts } from './rollouts/index.ts'
import { createRegistry } from './registry/index.ts'
import { createRpc } from './rpc/index.ts'
import { createRuns } from './runs/index.ts'
import { createSignIn } from './sign-in/index.ts'
import { createStreams } from './streams/index.ts'
import { createWorkerChanges } from './worker-changes/index.ts'
import { tokenFaultsIn, tokenWatch } from './token-watch-part.ts'
import { createWorkerLogs } from './worker-logs/index.ts'

const FINISH_WITHIN_MS = 10_000

export interface MasterOptions {
  /** Null: listens nowhere, and a simulated network calls `handle` and `accept` of the running master. */
  readonly listen: Address | null
  /** Serves TLS on `listen`. If left out, plain HTTP. */
  readonly tls?: TlsOptions
  /** A separate address for `/metrics`, always plain HTTP. By default `listen` serves it. */
  readonly metricsListen?: Address | undefined
  readonly clock: Clock
  readonly timers: Timers
  readonly random: Random
  readonly log: Log
  /** Measures the event loop delay of this process. If left out, overload is not detected. Stopped with the master. */
  readonly loopDelay?: LoopDelay
  /** Slows the admission of workers while this process is busy. If left out, it never is. Stopped with the master. */
  readonly processLoad?: ProcessLoad
  /** Not open yet. */
  readonly backend: Backend
  /** The scheme of the backend's URL, shown in `/me` and in metrics. */
  readonly backendScheme: string
  readonly catalog: Catalog
  readonly tokens: TokenSettings
  /** Reads the tokens again, every 2 s. If left out, the tokens never change. */
  readonly rereadTokens?: () => Promise<TokenReading>
  readonly settings: MasterSettings
  /** Reads the keys of the issuers of JWTs. If left out, from disk and the network. */
  readonly keyReader?: KeyReader
  /** What the audit trail contains and where it goes. If left out, nothing is written. */
  readonly audit?: AuditOptions
  /** The folder of the built dashboard; null if there is none. */
  readonly dashboardDir: string | null
  readonly version: string
}

export interface RunningMaster {
  /** Empty without a listener. */
  readonly url: string
  /** 0 without a listener. */
  readonly port: number
  /** The route table, for documentation and tests. */
  readonly routes: readonly Route[]
  /** Handles one HTTP request. */
  readonly handle: RequestListener
  /** Handles one handshake of the control channel. */
  readonly accept: Control['accept']
  /** May be called repeatedly. Resolves when the backend is closed. */
  stop(): Promise<void>
}

/**
 * Starts a master. After an error nothing is left running.
 * @throws {FleetError} if `backend.open` fails.
 * @throws {Error} if no automation is installed or the address is in use.
 */
export async function startMaster(options: MasterOptions): Promise<RunningMaster> {
  if (options.catalog.size === 0)
    throw new Error('no automation is installed; list automation modules in SVC_AUTOMATIONS')
  const { clock, log, tokens, keyReader } = options
  const authenticator = createAuthenticator(tokens, {
    clock,
    createVerifier: (onRevoked) => new JwtVerifier({ clock, log, reader: keyReader ?? KEY_READER, onRevoked }),
  })
  const startup = await openBackend(options, authenticator)
  const master = await compose(options, authenticator).catch(async (error: unknown) => {
    await startup?.close()
    await options.backend.close()
    throw error
  })
  try {
    for (const part of master.parts) await part.start?.()
    const port = await serve(master, options, startup)
    let stopped: Promise<void> | null = null
    return {
      port,
      url: options.listen === null ? '' : urlOf(options, options.listen.host, port),
      routes: master.routes,
      handle: master.http.handle,
      accept: (handshake, upgrade) => master.control.accept(handshake, upgrade),
      stop: () => (stopped ??= stop(master, options)),
    }
  } catch (error) {
    await startup?.close()
    await stop(master, options)
    throw error
  }
}

/** What listens until the master serves. */
interface Startup {
  readonly listener: StartupListener
  readonly port: number
  readonly upgrades: StartupUpgrades
  close(): Promise<void>
}

/**
 * Opens the backend. A backend that reports a long step gets a listener for the probes and the workers until the master
 * serves (D97, D101).
 *
 * @returns null if nothing listens.
 */
async function openBackend(
  { backend, listen, clock, random, timers, log, tls }: MasterOptions,
  authenticator: Authenticator,
): Promise<Startup | null> {
  let listener: StartupListener | null = null
  let listening: Promise<number | null> = Promise.resolve(null)
  const isWorkerToken = (bearerToken: string): boolean => authenticator.identify(bearerToken)?.role === 'worker'
  const upgrades = new StartupUpgrades({ clock, timers, isWorkerToken })
  const onProgress = (step: string): void => {
    if (listener === null && listen !== null) {
      listener = new StartupListener({
        address: listen,
        tls: tls ?? null,
        clock,
        requestId: () => random.uuid(),
        onUpgrade: (request, socket, head, refuse) => upgrades.add(request, socket, head, refuse),
      })
      listening = listener.listen().catch((error: unknown) => {
        log.warn('cannot serve probes while opening the store', { error })
        return null
      })
    }
    listener?.report(step)
  }
  const close = async (): Promise<void> => {
    upgrades.close()
    await listener?.close()
  }
  try {
    await backend.open(new AbortController().signal, onProgress)
  } catch (error) {
    await listening
    await close()
    throw error
  }
  const port = await listening
  return listener === null || port === null ? null : { listener, port, upgrades, close }
}

/** Begins to serve, on the server that has listened since the start if there is one. @returns the port, or 0. */
async function serve({ http, control }: Composed, { listen, log }: MasterOptions, startup: Startup | null) {
  const port = startup?.port ?? (await http.listen(listen))
  if (startup !== null) {
    http.takeOver(startup.listener.server)
    for (const upgrade of startup.upgrades.take()) control.resume(upgrade)
  }
  if (listen !== null) log.info('the master listens', { host: listen.host, port })
  return port
}

type Composed = Awaited<ReturnType<typeof compose>>

/** Creates every part without starting it. */
async function compose(options: MasterOptions, authenticator: Authenticator) {
  const deps = await createDeps(options)
  const releases = new MasterReleases(options.version, (await deps.backend.meta.info()).schema)
  const audit = new AuditTrail(deps, options.audit ?? { classes: new Set(), write: () => true })
  const fleet = createFleetParts(deps, options, authenticator, audit, releases)
  const { control, queue } = fleet
  let isServing = true
  const documented: readonly Part[] = [
    ...fleet.parts,
    ...(await createServiceParts(deps, options, {
      authenticator,
      releases,
      masters: fleet.masters,
      snapshot: fleet.snapshot,
      load: fleet.load,
      audit,
      isServing: () => isServing,
    })),
  ]
  const documentedRoutes = documented.flatMap((part) => part.routes)
  const parts = [...documented, createOpenApi(documentedRoutes, options.version)]
  authenticator.onChange(() => control.closeRevoked())
  const routes = parts.flatMap((part) => part.routes)
  const http = new Http({
    ...deps,
    ...(options.tls !== undefined && { tls: options.tls }),
    routes,
    authenticator,
    audit,
    epoch: () => deps.epoch.current,
    onUpgrade: (request, socket, head) => control.upgrade(request, socket, head),
  })
  parts.push(certificateWatch(options, http))
  return { parts, routes, http, control, queue, beginStop: () => void (isServing = false) }
}

async function createDeps(options: MasterOptions): Promise<MasterDeps> {
  const { backend, catalog, clock, log, random, settings, timers } = options
  const masterId = random.uuid()
  const epoch = new StoreEpoch(backend)
  await epoch.read()
  const metrics = new MetricsRegistry()
  const inspections = new Inspections({ ...options, metrics })
  return { backend, catalog, clock, epoch, inspections, log, masterId, metrics, random, settings, timers }
}

/** Creates the parts that workers and tasks need, in the order in which they start. */
function createFleetParts(
  deps: MasterDeps,
  { loopDelay, processLoad }: MasterOptions,
  authenticator: Authenticator,
  audit: AuditTrail,
  releases: MasterReleases,
) {
  const snapshot = fleetSnapshots(deps)
  const workersOf = workersIn(snapshot)
  const overload = createOverload(deps, loopDelay ?? null)
  const masters = createMasterMembership({ ...deps, releases })
  const streams = createStreams({ ...deps, isTrimming: () => masters.isMine('streams') })
  const queue = new Queue({
    ...deps,
    releases,
    isSweeping: (type) => masters.isMine(`sweep/${type}`),
    isSampling: () => masters.isLeader() || !releases.canRead('rollups'),
    isOverloaded: overload.isOverloaded,
    makeCapacity: () => streams.makeCapacity(),
    onCancelled: (type, leases) => releases.features.has('cancel') && registry.cancelled(type, leases),
  })
  const registry = createRegistry(deps, {
    onDrain: (ref) => queue.dismissWaiters(ref),
    mayBatch: () => releases.canRead('batches'),
    worstWorkers: async (type) => worstByRevision(await workersOf(type)),
  })
  const control = createControl({
    ...deps,
    registry,
    sink: streams,
    ...identification(authenticator),
    audit,
    masters,
    releases,
    processLoad,
  })
  const poolWaiters = new PoolWaiters(deps.clock)
  const events = createEvents({ ...deps, masters, announce: registry.announce })
  const load = createLoad({ ...deps, workforce: async (type) => workforceOf(await workersOf(type)) })
  const parts: readonly Part[] = [
    audit,
    masters,
    overload,
    streams,
    queue,
    createRpc(deps, queue, poolWaiters),
    registry,
    control,
    createPools(deps, poolWaiters),
    events,
    createWorkerChanges({ ...deps, feed: events.feed, snapshot }),
    createWorkerLogs({ ...deps, control, registry, releases }),
    createRollouts(deps),
    createAcknowledgements(deps),
    createAuditLog(deps),
    createOperations({ ...deps, masters, releases, registry, queue }),
    load,
  ]
  return { parts, masters, queue, control, snapshot, load }
}

/** What the control channel needs of the authenticator. */
const identification = (authenticator: Authenticator) => ({
  identify: (bearerToken: string) => authenticator.identify(bearerToken),
  check: (bearerToken: string) => authenticator.check(bearerToken),
  isStillValid: (principal: Principal) => authenticator.isStillValid(principal),
})

/** @returns a function that returns the workers of a type, at most 5 s old. */
const workersIn = (snapshot: () => Promise<FleetSnapshot>) => async (type: string) =>
  (await snapshot()).types.find((each) => each.type === type)?.workers ?? []

interface ServiceState {
  readonly authenticator: Authenticator
  readonly masters: MasterMembership
  readonly releases: MasterReleases
  readonly snapshot: () => Promise<FleetSnapshot>
  readonly load: Load
  readonly audit: AuditTrail
  /** False as soon as the master begins to stop. */
  readonly isServing: () => boolean
}

/** Creates the parts that describe the master and watch its settings. */
async function createServiceParts(
  deps: MasterDeps,
  options: MasterOptions,
  { authenticator, masters, releases, snapshot, load, audit, isServing }: ServiceState,
): Promise<readonly Part[]> {
  const { backendScheme, dashboardDir, metricsListen, version } = options
  const faults = tokenFaultsIn(deps)
  const runs = createRuns({ ...deps, snapshot, samples: (type) => load.samples(type) })
  return [
    runs,
    createAlerts({ ...deps, masters, snapshot, runsOf: (type) => runs.read(type) }),
    createSignIn({ ...deps, authenticator, reader: options.keyReader ?? KEY_READER }),
    createCatalogRoutes({ ...deps, version, backendScheme, releases }),
    createHealth({ ...deps, isServing, warnings: faults.current }),
    createMetrics({
      ...deps,
      masters,
      snapshot,
      wantedSlots: (type) => load.wantedSlots(type.type, workforceOf(type.workers)),
      backendScheme,
      listen: metricsListen,
      isReady: () => isServing() && deps.backend.health().ok,
    }),
    await createDashboard(dashboardDir),
    tokenWatch(options, authenticator, () => audit.replacedTokens(), faults.set),
  ]
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

/** The URL that reaches this master from the same machine. */
function urlOf({ tls }: MasterOptions, host: string, port: number): string {
  const isEveryAddress = ['', '0.0.0.0', '::'].includes(host)
  const reachable = isEveryAddress ? '127.0.0.1' : host
  const scheme = tls === undefined ? 'http' : 'https'
  return `${scheme}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}
