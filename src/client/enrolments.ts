/** @module client/enrolments  Stores, lists and removes the rules that configure new workers. @see D141 */
import type { EnrolmentBody, EnrolmentRemovedBody, EnrolmentsBody, EnrolmentShown } from '../protocol/index.ts'
import type { ApiCaller, ChangeOptions, RequestOptions } from './api-caller.ts'
import { apiPath } from './address.ts'
import type { MasterResponse } from './response.ts'

/** Stores and lists enrolment rules. Part of the client. */
export class Enrolments {
  readonly #caller: ApiCaller

  /** Creates this part of a client. */
  constructor(caller: ApiCaller) {
    this.#caller = caller
  }

  /** Returns the rules of a type in the order in which they are tried: by name. */
  list(type: string, options?: RequestOptions): Promise<MasterResponse<EnrolmentsBody>> {
    return this.#caller.call({ method: 'GET', path: this.#path(type) }, options)
  }

  /**
   * Stores a rule, or replaces it. An equal rule changes nothing.
   * @param name 1 to 63 of `a-z 0-9 _ . -`.
   * @param rule Which workers it selects, and what they get when they register for the first time.
   * @returns the stored rule, with the secrets of its patch masked.
   * @throws {MasterError} NOT_FOUND when the revision is not stored, INVALID for a rule too many.
   */
  put(
    type: string,
    name: string,
    rule: EnrolmentBody,
    options?: ChangeOptions,
  ): Promise<MasterResponse<EnrolmentShown>> {
    return this.#caller.call({ method: 'PUT', path: this.#path(type, name), body: rule, repeat: 'always' }, options)
  }

  /**
   * Removes a rule. Workers that it has configured keep their configs.
   * @param name The name of the rule.
   * @returns whether there was such a rule.
   */
  remove(type: string, name: string, options?: ChangeOptions): Promise<MasterResponse<EnrolmentRemovedBody>> {
    return this.#caller.call({ method: 'DELETE', path: this.#path(type, name), repeat: 'always' }, options)
  }

  #path(type: string, ...below: readonly string[]): string {
    return apiPath(['automations', type, 'enrolments', ...below])
  }
}
