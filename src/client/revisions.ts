/** @module client/revisions  Stores revisions, and brings many workers to one of them with a call. @see D132, D133 */
import type { BulkBody, BulkResults, RevisionBody, RevisionsBody, RevisionStoredBody } from '../protocol/index.ts'
import type { ApiCaller, ChangeOptions, RequestOptions } from './api-caller.ts'
import { apiPath } from './address.ts'
import type { MasterResponse } from './response.ts'

/** Stores and applies revisions. Part of the client. */
export class Revisions {
  readonly #caller: ApiCaller

  /** Creates this part of a client. */
  constructor(caller: ApiCaller) {
    this.#caller = caller
  }

  /** Returns the revisions of a type, newest first, without their configs. */
  list(type: string, options?: RequestOptions): Promise<MasterResponse<RevisionsBody>> {
    return this.#caller.call({ method: 'GET', path: apiPath(['automations', type, 'revisions']) }, options)
  }

  /**
   * Stores a config under a name. A stored revision is neither replaced nor compared.
   * @param name 1 to 63 of `a-z 0-9 _ . -`.
   * @param body The config with its secrets, and who manages it.
   * @returns whether the revision is new.
   * @throws {MasterError} INVALID when the config does not fit the schema.
   */
  put(
    type: string,
    name: string,
    body: RevisionBody,
    options?: ChangeOptions,
  ): Promise<MasterResponse<RevisionStoredBody>> {
    return this.#caller.call(
      { method: 'PUT', path: apiPath(['automations', type, 'revisions', name]), body, repeat: 'always' },
      options,
    )
  }

  /**
   * Brings up to 1,000 workers to a revision. A repeated call changes nothing more.
   * @param body The revision, and for each worker the config and the manager that it must have.
   * @returns one result for each worker, in the same order.
   * @throws {MasterError} NOT_FOUND when the revision is not stored.
   */
  apply(type: string, body: BulkBody, options?: ChangeOptions): Promise<MasterResponse<BulkResults>> {
    return this.#caller.call(
      { method: 'POST', path: apiPath(['automations', type, 'configs']), body, repeat: 'always' },
      options,
    )
  }
}
