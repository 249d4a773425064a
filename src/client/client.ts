/**
 * @module client/client
 * Provides every request that an admin or scoped token may send to a master, with types. The operator, the command line
 * and the tests use only this client. Bodies are those of the API; every response names the epoch of the store (D15).
 * @see D32, D48
 */
import type {
  AlertsBody,
  AuditBody,
  AuditQuery,
  AutomationDescriptor,
  CatalogEntryBody,
  MeBody,
  OverviewBody,
  PoolBody,
  PoolClaimsBody,
  ReadyBody,
  ReleaseClaimBody,
  ReleasedClaimBody,
  RunsBody,
} from '../protocol/index.ts'
import { withSourceNumbers } from '../protocol/index.ts'
import { apiPath, masterAddress } from './address.ts'
import { ApiCaller, type CallerOptions, type ChangeOptions, type RequestOptions } from './api-caller.ts'
import type { MasterResponse } from './response.ts'
import { DeadGroupRoutes } from './dead-group-routes.ts'
import { Enrolments } from './enrolments.ts'
import { followEvents, type FeedItem, type FeedOptions } from './feed.ts'
import { Operations } from './operations.ts'
import { Output } from './output.ts'
import { Revisions } from './revisions.ts'
import { Rollouts } from './rollouts.ts'
import { Tasks } from './tasks.ts'
import { UndiciTransport, type ConnectionOptions } from './undici-transport.ts'
import { Workers } from './workers.ts'

/** Options of a {@link MasterClient}. */
export interface ClientOptions extends CallerOptions, ConnectionOptions {
  /** http or https; a path prefix is kept. */
  readonly masterUrl: string
}

/**
 * A client of one master. Every method rejects with a {@link MasterError}, or with the reason of `signal` when the
 * caller aborts it. A failed call is repeated only where a repetition cannot change the result.
 */
export class MasterClient {
  readonly workers: Workers
  readonly tasks: Tasks
  readonly deadGroups: DeadGroupRoutes
  readonly output: Output
  readonly revisions: Revisions
  readonly enrolments: Enrolments
  readonly rollouts: Rollouts
  readonly operations: Operations
  readonly #caller: ApiCaller
  readonly #options: ClientOptions

  /** Opens no connection yet. @throws {TypeError} for an invalid URL of the master. */
  constructor(options: ClientOptions) {
    this.#options = options
    const { origin, prefix } = masterAddress(options.masterUrl)
    this.#caller = new ApiCaller({ transport: new UndiciTransport(origin, options), prefix, parse }, options)
    this.workers = new Workers(this.#caller)
    this.tasks = new Tasks(this.#caller)
    this.deadGroups = new DeadGroupRoutes(this.#caller)
    this.output = new Output(this.#caller, options)
    this.revisions = new Revisions(this.#caller)
    this.enrolments = new Enrolments(this.#caller)
    this.rollouts = new Rollouts(this.#caller)
    this.operations = new Operations(this.#caller)
  }

  /** Returns the installed automations; never empty. */
  automations(options?: RequestOptions): Promise<MasterResponse<AutomationDescriptor[]>> {
    return this.#caller.call({ method: 'GET', path: apiPath(['automations']) }, options)
  }

  /** Returns the catalog: type to schemas and settings of the automation. */
  catalog(options?: RequestOptions): Promise<MasterResponse<Record<string, CatalogEntryBody>>> {
    return this.#caller.call({ method: 'GET', path: apiPath(['catalog']) }, options)
  }

  /** Returns the catalog entry of one automation type. @throws {MasterError} NOT_FOUND when it is not installed. */
  catalogEntry(type: string, options?: RequestOptions): Promise<MasterResponse<CatalogEntryBody>> {
    return this.#caller.call({ method: 'GET', path: apiPath(['catalog', type]) }, options)
  }

  /**
   * Returns the size of a pool and its first items.
   * @param name The name of the pool.
   * @param options `n`: at most this many items, 1 to 10,000; 20 if omitted.
   * @throws {MasterError} NOT_FOUND when no automation declares the pool.
   */
  pool(
    name: string,
    { n, ...options }: RequestOptions & { readonly n?: number | undefined } = {},
  ): Promise<MasterResponse<PoolBody>> {
    return this.#caller.call({ method: 'GET', path: apiPath(['pools', name], { n }) }, options)
  }

  /**
   * Returns who holds the items of a pool, the first claim to end first.
   * @param name The name of the pool.
   * @param options `n`: at most this many claims, 1 to 1,000; 100 if omitted. `item`: only the claim of this item.
   * @throws {MasterError} NOT_FOUND when no automation declares the pool, or the master is of an earlier release.
   */
  poolClaims(
    name: string,
    {
      n,
      item,
      ...options
    }: RequestOptions & { readonly n?: number | undefined; readonly item?: string | undefined } = {},
  ): Promise<MasterResponse<PoolClaimsBody>> {
    return this.#caller.call({ method: 'GET', path: apiPath(['pools', name, 'claims'], { n, item }) }, options)
  }

  /**
   * Ends the claim of another holder, whose later calls for it are refused.
   * @param name The name of the pool.
   * @param claim The item, and the token of its claim as listed.
   * @returns `released`: false if this claim had already ended. A later claim of the item is not touched.
   */
  releasePoolClaim(
    name: string,
    claim: ReleaseClaimBody,
    options?: ChangeOptions,
  ): Promise<MasterResponse<ReleasedClaimBody>> {
    return this.#caller.call(
      { method: 'POST', path: apiPath(['pools', name, 'claims', 'release']), body: claim },
      options,
    )
  }

  /**
   * Returns the firing alerts, newest first, and then those that were resolved in the last 24 hours.
   * @throws {MasterError} NOT_FOUND when the master is of an earlier release.
   */
  alerts(options?: RequestOptions): Promise<MasterResponse<AlertsBody>> {
    return this.#caller.call({ method: 'GET', path: apiPath(['alerts']) }, options)
  }

  /**
   * Returns who changed what, newest first: entries of the audit log, which keeps the newest 10,000.
   * @param options `n`: at most this many entries, 1 to 500; 100 if omitted. `before`: the `next` of the last page.
   *   `type`, `object` (a worker, task or other), `actor` (a token or a `Muster-Actor`) and `action` (`worker.drain`,
   *   or `worker` for all of its kind) filter; a page may then have fewer entries although `next` is set.
   * @throws {MasterError} FORBIDDEN without an admin token; NOT_FOUND when the master is of an earlier release.
   */
  audit({ n, before, type, object, actor, action, ...options }: RequestOptions & AuditQuery = {}): Promise<
    MasterResponse<AuditBody>
  > {
    const query = { n, before, type, object, actor, action }
    return this.#caller.call({ method: 'GET', path: apiPath(['audit'], query) }, options)
  }

  /** Returns counts of workers and tasks over all automations. */
  overview(options?: RequestOptions): Promise<MasterResponse<OverviewBody>> {
    return this.#caller.call({ method: 'GET', path: apiPath(['overview']) }, options)
  }

  /**
   * Returns what the runs of a type did in the last minute.
   * @param options `workerId`: lists this worker instead of those that failed most.
   * @throws {MasterError} NOT_FOUND when the worker is not registered, and from a master of an earlier release.
   */
  runs(
    type: string,
    { workerId, ...options }: RequestOptions & { readonly workerId?: string | undefined } = {},
  ): Promise<MasterResponse<RunsBody>> {
    const path = apiPath(['automations', type, 'runs'], { worker_id: workerId })
    return this.#caller.call({ method: 'GET', path }, options)
  }

  /** Returns the permissions and automation types of the token. */
  me(options?: RequestOptions): Promise<MasterResponse<MeBody>> {
    return this.#caller.call({ method: 'GET', path: apiPath(['me']) }, options)
  }

  /**
   * Returns whether the master is ready; "not ready" (503) is a result too. Not repeated, because a probe has its own
   * interval.
   */
  ready(options?: RequestOptions): Promise<MasterResponse<ReadyBody>> {
    return this.#caller.call({ method: 'GET', path: '/readyz', alsoGood: 503, repeat: 'never' }, options)
  }

  /** Yields the events of the fleet until `signal` aborts. Reconnects by itself; never throws. */
  events(options: FeedOptions): AsyncGenerator<FeedItem> {
    return followEvents(this.#caller, this.#options, options)
  }

  /** Aborts all calls in flight and closes the connections. */
  close(): Promise<void> {
    return this.#caller.close()
  }
}

/** A number that a double cannot hold stays as its source text, so that it is shown as it is (D75). */
const parse = (text: string): unknown => withSourceNumbers(text, JSON.parse(text))
