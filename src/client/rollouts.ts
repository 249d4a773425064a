/** @module client/rollouts  Stores, lists and removes the reports of rollouts. @see D148 */
import type { RolloutBody, RolloutRemovedBody, RolloutsBody, RolloutShown } from '../protocol/index.ts'
import type { ApiCaller, ChangeOptions, RequestOptions } from './api-caller.ts'
import { apiPath } from './address.ts'
import type { MasterResponse } from './response.ts'

/** Stores and lists rollout reports. Part of the client. */
export class Rollouts {
  readonly #caller: ApiCaller

  /** Creates this part of a client. */
  constructor(caller: ApiCaller) {
    this.#caller = caller
  }

  /** Returns the reports of a type, ordered by name. */
  list(type: string, options?: RequestOptions): Promise<MasterResponse<RolloutsBody>> {
    return this.#caller.call({ method: 'GET', path: this.#path(type) }, options)
  }

  /**
   * Stores a report, or replaces it.
   * @param name 1 to 63 of `a-z 0-9 _ . -`.
   * @param report How the rollout stands; at most 16 KiB as JSON.
   * @returns the stored report.
   * @throws {MasterError} INVALID for a report that is too large, or one too many.
   */
  put(type: string, name: string, report: RolloutBody, options?: ChangeOptions): Promise<MasterResponse<RolloutShown>> {
    return this.#caller.call({ method: 'PUT', path: this.#path(type, name), body: report, repeat: 'always' }, options)
  }

  /**
   * Removes a report. It changes nothing about the rollout.
   * @param name The name of the report.
   * @returns whether there was such a report.
   */
  remove(type: string, name: string, options?: ChangeOptions): Promise<MasterResponse<RolloutRemovedBody>> {
    return this.#caller.call({ method: 'DELETE', path: this.#path(type, name), repeat: 'always' }, options)
  }

  #path(type: string, ...below: readonly string[]): string {
    return apiPath(['automations', type, 'rollouts', ...below])
  }
}
