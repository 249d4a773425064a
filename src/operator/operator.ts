/**
 * @module operator/operator
 * Creates and connects the components of the operator.
 *
 *   API server ──watch──▶ cache ──▶ event handlers ──▶ queue ──▶ reconcile ──▶ status, events ──▶ API server
 *   master ──feed, lists──▶ table ─────┘  ▲ parked           └─PATCH, claim──▶ master
 *                                         └── breaker, while the master is unreachable
 *
 * FleetWorkerSets have a cache, a queue and a term of their own beside these (fleet-worker-sets.ts).
 *
 * Watch, table, queue and deleted claims live as long as the process, so a standby is warm. Everything that writes
 * belongs to a term of leadership (leadership-term.ts). Shutdown: no new key starts, running reconciles may finish,
 * statuses are sent, the lease is released.
 * @see D44, D45
 */
import { Registry } from 'prom-client'
import {
  serveProbes,
  withLogFields,
  type CreateHttpPool,
  type Log,
  type ProbeListener,
  type ProbeResult,
  type Random,
  type Time,
} from '../runtime/index.ts'
import { createFleetMetrics, Fleet } from './fleet/index.ts'
import {
  DeletedClaims,
  FLEET_WORKERS,
  INDICES,
  keptSpec,
  permitsOf,
  scopeOf,
  type FleetWorkerObject,
  type Permits,
  type Tenants,
} from './fleetworker/index.ts'
import {
  ALWAYS_LEADING,
  createKubeMetrics,
  FoldingEventRecorder,
  Health,
  LeaseElector,
  WatchLoop,
  WorkQueue,
  WritableCache,
  type ClosableTransport,
  type EventTarget,
  type KubeMetrics,
  type Leadership,
  type TransportDeps,
} from './kube/index.ts'
import { MasterOutage } from './master-outage.ts'
import { FleetWorkerMetrics } from './metrics.ts'
import { LeadershipTerm } from './leadership-term.ts'
import { EventHandlers } from './event-handlers.ts'
import { FleetWorkerSets } from './fleet-worker-sets.ts'
import { publishIssuerKeys, type IssuerKeysDeps } from './issuer-keys.ts'

const CONTROLLER = 'fleetworker'

export interface OperatorOptions extends Pick<IssuerKeysDeps, 'issuerKeys'> {
  readonly masterUrl: string
  /** Read for every call, because the token may be rotated. */
  readonly token: () => string
  /** Creates the connections to the API server. */
  readonly createTransport: (deps: Omit<TransportDeps, 'identity'>) => ClosableTransport
  /** Creates the connections to the master; by default those of undici. */
  readonly createPool?: CreateHttpPool
  /** The operator's own namespace. */
  readonly namespace: string
  /** Empty: all namespaces. */
  readonly watchNamespaces: readonly string[]
  /** `undefined`: every watched namespace may manage every worker. */
  readonly tenants: Tenants | undefined
  /** Names of Secrets that Muster itself uses, in `namespace`. configFrom never reads them. */
  readonly reservedSecrets: readonly string[]
  /** `null`: no listener for metrics and probes. */
  readonly metricsListen: { readonly host: string; readonly port: number } | null
  readonly leaderElect: boolean
  readonly lease: { readonly namespace: string; readonly name: string }
  /** Unique among all replicas, past and present. */
  readonly replica: string
  readonly time: Time
  readonly random: Random
  readonly log: Log
}

export interface RunningOperator {
  readonly port: number
  /** Never rejects. */
  stop(): Promise<void>
}

/**
 * Starts the operator. The API server and the master may still be unreachable. @throws {Error} if the listener's
 * address cannot be used.
 */
export async function startOperator(options: OperatorOptions): Promise<RunningOperator> {
  const operator = new Operator(options)
  await operator.listen()
  operator.start()
  return operator
}

class Operator implements RunningOperator {
  readonly #options: OperatorOptions
  readonly #abort = new AbortController()
  readonly #registry = new Registry()
  readonly #metrics: KubeMetrics
  readonly #workers: FleetWorkerMetrics
  readonly #transport: ClosableTransport
  readonly #permits: Permits
  readonly #cache = new WritableCache<FleetWorkerObject>(INDICES, keptSpec)
  readonly #deletedClaims = new DeletedClaims()
  readonly #queue: WorkQueue
  readonly #events: FoldingEventRecorder
  readonly #fleet: Fleet
  readonly #outage: MasterOutage
  readonly #handlers: EventHandlers
  readonly #watches: readonly WatchLoop<FleetWorkerObject>[]
  readonly #sets: FleetWorkerSets
  readonly #health: Health<FleetWorkerObject>
  readonly #elector: LeaseElector | undefined
  readonly #running: Promise<void>[] = []
  #leadership: Leadership
  #term: LeadershipTerm | undefined
  #listener: ProbeListener | undefined

  constructor(options: OperatorOptions) {
    this.#options = options
    const { createTransport, lease, time } = options
    this.#permits = permitsOf(options.tenants)
    this.#metrics = createKubeMetrics(this.#registry, CONTROLLER, lease.name)
    this.#workers = this.#createWorkerMetrics()
    this.#transport = createTransport({ clock: time, timers: time, onRequest: this.#metrics.onRequest })
    this.#queue = new WorkQueue({ ...this.#runtime(), observer: this.#metrics.queue })
    this.#events = this.#createEventRecorder()
    this.#elector = options.leaderElect ? this.#createElector() : undefined
    this.#leadership = this.#elector ?? ALWAYS_LEADING
    this.#fleet = this.#createFleet()
    this.#handlers = this.#createHandlers()
    this.#sets = this.#createSets()
    this.#outage = new MasterOutage({
      table: this.#fleet,
      queue: { park: (reason) => this.#park(reason) },
      onChange: (isUnavailable) => this.#onOutageChange(isUnavailable),
    })
    this.#watches = this.#namespaces().map((namespace) => this.#watch(namespace))
    this.#health = this.#createHealth()
    this.#metrics.observe({
      queue: this.#queue,
      watchAgeMs: () => Math.max(...this.#watches.map(({ activeMs }) => time.monotonicMs() - activeMs)),
    })
  }

  get port(): number {
    return this.#listener?.port ?? 0
  }

  async listen(): Promise<void> {
    const { metricsListen: address } = this.#options
    if (address === null) return
    const healthz = (): ProbeResult => {
      const stuck = [...this.#health.stuck(), ...this.#sets.stuck()]
      return { ok: stuck.length === 0, why: stuck.length === 0 ? 'ok' : stuck.join('; ') }
    }
    const readyz = (): ProbeResult => ({
      ok: this.#health.isReady,
      why: this.#health.isReady ? 'ok' : 'FleetWorkers have not been listed yet',
    })
    this.#listener = await serveProbes('SVC_METRICS_LISTEN', address, { healthz, readyz, metrics: this.#registry })
  }

  start(): void {
    const { lease, log, masterUrl, time, watchNamespaces } = this.#options
    const { signal } = this.#abort
    log.info('the operator has started', {
      port: this.port,
      master: masterUrl,
      namespaces: watchNamespaces.length === 0 ? 'all' : watchNamespaces.join(','),
      lease: `${lease.namespace}/${lease.name}`,
    })
    this.#fleet.onChange((change) => {
      if (change.kind === 'state_reset') this.#recordFleetEvent('MasterStateReset', change.message)
      this.#handlers.onTableChange(change)
      this.#sets.onTableChange(change)
    })
    signal.addEventListener(
      'abort',
      time.every(1_000, () => this.#outage.check()),
      { once: true },
    )
    this.#running.push(
      this.#events.run(signal),
      ...this.#watches.map((watch) => watch.run(signal)),
      ...this.#sets.run(signal),
      publishIssuerKeys({ ...this.#options, transport: this.#transport }, signal),
      this.#begin(signal),
    )
  }

  async #begin(signal: AbortSignal): Promise<void> {
    const ended = this.#fleet.run(signal)
    if (this.#elector !== undefined) await this.#elector.run(signal)
    else {
      this.#metrics.onLeader(true)
      this.#lead(signal)
    }
    await ended
  }

  async stop(): Promise<void> {
    await Promise.all([this.#term?.end(), this.#sets.end()])
    this.#abort.abort(new Error('the operator stops'))
    await Promise.all(this.#running)
    this.#queue.close()
    this.#sets.close()
    await Promise.all([this.#transport.close(), this.#listener?.close()])
    this.#options.log.info('the operator has stopped')
  }

  /** The clock, randomness and log that most components need. */
  #runtime() {
    const { time, random, log } = this.#options
    return { clock: time, timers: time, random, log }
  }

  #createWorkerMetrics(): FleetWorkerMetrics {
    return new FleetWorkerMetrics({
      registry: this.#registry,
      clock: this.#options.time,
      comparedCount: () => this.#term?.comparedCount ?? 0,
    })
  }

  #createEventRecorder(): FoldingEventRecorder {
    return new FoldingEventRecorder({
      ...this.#runtime(),
      transport: this.#transport,
      controller: 'muster.dev/operator',
      instance: this.#options.replica,
      onDrop: this.#metrics.onEventDrop,
    })
  }

  #createElector(): LeaseElector {
    const { lease, replica } = this.#options
    return new LeaseElector({
      ...this.#runtime(),
      ...lease,
      transport: this.#transport,
      identity: replica,
      onLead: (term) => this.#lead(term),
      onState: this.#metrics.onLeader,
    })
  }

  #createFleet(): Fleet {
    const { createPool, masterUrl, token } = this.#options
    return new Fleet({
      ...this.#runtime(),
      masterUrl,
      token,
      ...(createPool !== undefined && { createPool }),
      metrics: createFleetMetrics(this.#registry),
      mayWrite: () => this.#leadership.mayWrite(),
      leadsUntilMs: () => this.#leadership.leadsUntilMs(),
      onBreaker: (reason) => this.#outage.onBreaker(reason),
    })
  }

  #createHandlers(): EventHandlers {
    return new EventHandlers({
      queue: this.#queue,
      cache: this.#cache,
      table: this.#fleet,
      permits: this.#permits,
      isOurs: (object) => this.#term?.isSending(object) === true,
      isReporting: (object) => this.#term?.isReporting(object) === true,
    })
  }

  #createSets(): FleetWorkerSets {
    return new FleetWorkerSets({
      ...this.#options,
      transport: this.#transport,
      registry: this.#registry,
      namespaces: this.#namespaces(),
      onDeletedClaim: (claim) => this.#deletedClaims.add(claim),
      countType: (before, after) => this.#handlers.countType('sets', before, after),
    })
  }

  #createHealth(): Health<FleetWorkerObject> {
    return new Health({
      clock: this.#options.time,
      queue: this.#queue,
      cache: this.#cache,
      watches: this.#watches,
      controller: () => this.#term?.controller,
    })
  }

  /** Whether a claim is that of an existing FleetWorker or set. */
  #isLiveClaim(claim: string): boolean {
    return this.#cache.byIndex('claim', claim).length > 0 || this.#sets.isLiveClaim(claim)
  }

  #park(reason: string | null): void {
    this.#queue.park(reason)
    this.#sets.park(reason)
  }

  #namespaces(): readonly (string | undefined)[] {
    const { watchNamespaces } = this.#options
    return watchNamespaces.length === 0 ? [undefined] : watchNamespaces
  }

  #watch(namespace: string | undefined): WatchLoop<FleetWorkerObject> {
    return new WatchLoop({
      ...this.#runtime(),
      transport: this.#transport,
      cache: this.#cache,
      resource: FLEET_WORKERS,
      namespace,
      onRestart: this.#metrics.onRestart,
      onChange: (change, source) => {
        this.#workers.changed(change, source === 'watch' && this.#term !== undefined)
        this.#deletedClaims.onChange(change)
        this.#handlers.onFleetWorker(change, source)
        this.#sets.onFleetWorker(change)
      },
    })
  }

  #lead(signal: AbortSignal): void {
    const { namespace, reservedSecrets, watchNamespaces } = this.#options
    const common = {
      ...this.#runtime(),
      signal,
      time: this.#options.time,
      transport: this.#transport,
      events: this.#events,
      fleet: this.#fleet,
      leadership: this.#leadership,
      isLiveClaim: (claim: string) => this.#isLiveClaim(claim),
      watches: (each: string) => watchNamespaces.length === 0 || watchNamespaces.includes(each),
      reserved: new Set(reservedSecrets.map((name) => `secrets/${namespace}/${name}` as const)),
    }
    const term = new LeadershipTerm({
      ...common,
      cache: this.#cache,
      watchOf: (each) => this.#watches.find((watch) => watch.namespace === undefined || watch.namespace === each),
      deletedClaims: this.#deletedClaims,
      queue: this.#queue,
      handlers: this.#handlers,
      metrics: this.#metrics,
      workers: this.#workers,
      permits: this.#permits,
      within: (key, inside) => withLogFields({ fleetworker: key }, inside),
    })
    this.#term = term
    signal.addEventListener(
      'abort',
      () => {
        if (this.#term === term) this.#term = undefined
      },
      { once: true },
    )
    const sets = this.#sets.lead({
      ...common,
      workers: this.#cache,
      wasDeletedHere: (claim) => this.#deletedClaims.has(claim),
      scope: scopeOf(this.#options.tenants),
      within: (key, inside) => withLogFields({ fleetworkerset: key }, inside),
    })
    this.#running.push(term.run(), sets)
  }

  #onOutageChange(isUnavailable: boolean): void {
    if (isUnavailable)
      this.#recordFleetEvent(
        'MasterUnreachable',
        'the master has not responded for a minute; FleetWorkers are applied when it is back',
      )
    else this.#term?.onMasterRecovered()
    this.#handlers.requeueAll()
    this.#sets.onOutageChange(isUnavailable)
  }

  /** Records an event that concerns all FleetWorkers, once, on the Lease, by the leading replica. */
  #recordFleetEvent(reason: string, message: string): void {
    const { lease } = this.#options
    const target: EventTarget = { ...lease, apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', uid: '' }
    if (this.#leadership.mayWrite()) this.#events.record(target, 'Warning', reason, message)
  }
}
