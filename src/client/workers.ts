/** @module client/workers  Reads, configures, drains, forgets and claims workers. @see D15, D31, D39, D40, D47, D49 */
import type {
  ClaimBody,
  ConfigBody,
  DrainBody,
  HistoryBody,
  JsonObject,
  RemovedBody,
  Stats,
  ValidatedBody,
  WorkerBody,
  WorkerLogsBody,
  WorkerLogsQuery,
} from '../protocol/index.ts'
import type { ApiCaller, ChangeOptions, RequestOptions } from './api-caller.ts'
import { apiPath, type Query } from './address.ts'
import type { MasterResponse } from './response.ts'

const PAGE_ROWS = 500

interface WorkerFilter {
  readonly state?: WorkerBody['state'] | undefined
  readonly connected?: boolean | undefined
  readonly view?: 'summary' | undefined
}
interface Forced {
  readonly force?: true | undefined
}
/** The config that a change is based on (D15). */
interface ConfigMark {
  readonly epoch: string
  readonly configGen: number
}

/** Reads and changes workers. Part of the client. */
export class Workers {
  readonly #caller: ApiCaller

  /** Creates this part of a client. */
  constructor(caller: ApiCaller) {
    this.#caller = caller
  }

  /**
   * Yields all workers of a type in pages, ordered by ID. A worker that registers during the listing may be missed.
   * @param filter Yields only workers with these values; all if omitted.
   * @param options `pageRows`: workers per request, 1 to 10,000; 500 if omitted.
   */
  async *pages(
    type: string,
    filter: WorkerFilter = {},
    options: RequestOptions & { readonly pageRows?: number } = {},
  ): AsyncGenerator<MasterResponse<WorkerBody[]>> {
    const limit = options.pageRows ?? PAGE_ROWS
    let after: string | undefined
    for (;;) {
      const page = await this.page(type, { ...filter, limit, after }, options)
      yield page
      after = page.body.at(-1)?.worker_id
      if (page.body.length < limit || after === undefined) return
    }
  }

  /**
   * Returns one page of the workers of a type. Fewer than `limit` means that there are no more.
   * @param query `limit`: at most this many workers, 1 to 10,000. `after`: only IDs behind this one; from the first if
   *   omitted.
   */
  page(
    type: string,
    query: WorkerFilter & { readonly limit: number; readonly after?: string | undefined },
    options?: RequestOptions,
  ): Promise<MasterResponse<WorkerBody[]>> {
    return this.#caller.call({ method: 'GET', path: apiPath(['automations', type, 'workers'], { ...query }) }, options)
  }

  /**
   * Returns the record of a worker.
   * @param options `view`: `summary` leaves out what is large (D47); the whole record if omitted.
   * @throws {MasterError} NOT_FOUND when it never registered or was forgotten.
   */
  get(
    type: string,
    id: string,
    { view, ...options }: RequestOptions & Pick<WorkerFilter, 'view'> = {},
  ): Promise<MasterResponse<WorkerBody>> {
    return this.#caller.call({ method: 'GET', path: this.#path(type, id, [], { view }) }, options)
  }

  /**
   * Changes fields of a config. Never repeated, because each success creates a new generation.
   * @param patch The fields to change; null restores the default (D13).
   * @param options `ifMatch`: the config that the change is based on; any if omitted.
   * @returns the merged config and its generation.
   * @throws {MasterError} STALE_GENERATION when the config no longer is the one that `ifMatch` names.
   */
  patchConfig(
    type: string,
    id: string,
    patch: JsonObject,
    { ifMatch, ...options }: ChangeOptions & { readonly ifMatch?: ConfigMark } = {},
  ): Promise<MasterResponse<ConfigBody>> {
    const headers = ifMatch === undefined ? {} : { 'if-match': `"${ifMatch.epoch}.${ifMatch.configGen}"` }
    return this.#caller.call({ method: 'PATCH', path: this.#path(type, id, ['config']), body: patch, headers }, options)
  }

  /**
   * Returns the faults, or the fields that `patchConfig` would change; changes nothing.
   * @param patch The fields to change.
   */
  validateConfig(
    type: string,
    id: string,
    patch: JsonObject,
    options?: RequestOptions,
  ): Promise<MasterResponse<ValidatedBody>> {
    return this.#caller.call(
      { method: 'POST', path: this.#path(type, id, ['config', 'validate']), body: patch, repeat: 'always' },
      options,
    )
  }

  /**
   * Returns past configs, newest first; empty if the config was never changed.
   * @param options `limit`: at most this many, 1 to 10,000; 20 if omitted. The master keeps 50.
   */
  history(
    type: string,
    id: string,
    { limit, ...options }: RequestOptions & { readonly limit?: number | undefined } = {},
  ): Promise<MasterResponse<HistoryBody>> {
    return this.#caller.call({ method: 'GET', path: this.#path(type, id, ['config', 'history'], { limit }) }, options)
  }

  /**
   * Returns log entries that a connected worker keeps, oldest first (D181).
   * @param query `after`: the `next` of an earlier response, 0 for the oldest; the newest entries if omitted. `limit`:
   *   1 to 1,000 entries; 200 if omitted. `level`: this one and more severe ones. `task_id`: only entries of its runs.
   * @throws {MasterError} NOT_FOUND when the worker is unknown, offline, or of a release without this feature.
   */
  logs(
    type: string,
    id: string,
    query: WorkerLogsQuery = {},
    options?: RequestOptions,
  ): Promise<MasterResponse<WorkerLogsBody>> {
    return this.#caller.call({ method: 'GET', path: this.#path(type, id, ['logs'], query) }, options)
  }

  /**
   * Returns the statistics of a worker, oldest first; empty if there are none.
   * @param options `since`: unix seconds, 0 or more. `limit`: the newest frames of them, 1 to 10,000; 240 if omitted.
   *   `view`: `summary` leaves out metrics and slots.
   */
  stats(
    type: string,
    id: string,
    {
      since,
      limit,
      view,
      ...options
    }: RequestOptions & Pick<WorkerFilter, 'view'> & { readonly since?: number; readonly limit?: number } = {},
  ): Promise<MasterResponse<Stats[]>> {
    return this.#caller.call({ method: 'GET', path: this.#path(type, id, ['stats'], { since, limit, view }) }, options)
  }

  /**
   * Drains a worker. Never repeated: a second request could drain the process that replaced it.
   * @returns a confirmation; the worker may still finish its tasks.
   */
  drain(type: string, id: string, options?: ChangeOptions): Promise<MasterResponse<DrainBody>> {
    return this.#caller.call({ method: 'POST', path: this.#path(type, id, ['drain']) }, options)
  }

  /**
   * Deletes the record of a worker, including its config.
   * @returns a confirmation.
   * @throws {MasterError} NOT_FOUND when there is no record.
   */
  forget(type: string, id: string, options?: ChangeOptions): Promise<MasterResponse<RemovedBody>> {
    return this.#caller.call({ method: 'DELETE', path: this.#path(type, id) }, options)
  }

  /**
   * Records who manages the config.
   * @param managedBy 1 to 128 printable ASCII characters.
   * @param options `force`: also replaces the claim of another manager.
   * @returns the record with the claim.
   * @throws {MasterError} CLAIMED when another manager has a claim. An admin token, the actor that the claim names, and
   *   `force` replace it.
   */
  claim(
    type: string,
    id: string,
    managedBy: string,
    { force, ...options }: ChangeOptions & Forced = {},
  ): Promise<MasterResponse<WorkerBody>> {
    return this.#caller.call(
      {
        method: 'PUT',
        path: this.#path(type, id, ['claim'], { force }),
        body: { managed_by: managedBy } satisfies ClaimBody,
        repeat: 'always',
      },
      options,
    )
  }

  /**
   * Removes the claim, under the same conditions under which `claim` replaces one.
   * @param options `force`: also removes the claim of another manager.
   * @returns the record without the claim.
   */
  unclaim(
    type: string,
    id: string,
    { force, ...options }: ChangeOptions & Forced = {},
  ): Promise<MasterResponse<WorkerBody>> {
    return this.#caller.call(
      { method: 'DELETE', path: this.#path(type, id, ['claim'], { force }), repeat: 'always' },
      options,
    )
  }

  #path(type: string, id: string, below: readonly string[] = [], query: Query = {}): string {
    return apiPath(['automations', type, 'workers', id, ...below], query)
  }
}
