/** @module operator/fleet/rule-writer  Stores, lists and removes enrolment rules at the master. @see D141 */
import type { MasterResponse } from '../../client/index.ts'
import type { EnrolmentBody, EnrolmentShown } from '../../protocol/index.ts'
import type { MasterCall } from './calls.ts'
import type { CallResult, RuleWriter } from './ports.ts'
import { forbidden, type WriterDeps } from './writer.ts'

export class EnrolmentWriter implements RuleWriter {
  readonly #deps: WriterDeps

  constructor(deps: WriterDeps) {
    this.#deps = deps
  }

  put(type: string, name: string, rule: EnrolmentBody, actor: string, signal: AbortSignal): Promise<CallResult<void>> {
    const send: MasterCall<unknown>['send'] = (either) =>
      this.#deps.client.enrolments.put(type, name, rule, { actor, signal: either })
    return this.#call({ method: 'PUT', type, send }, () => {}, signal)
  }

  remove(type: string, name: string, actor: string, signal: AbortSignal): Promise<CallResult<void>> {
    const send: MasterCall<unknown>['send'] = (either) =>
      this.#deps.client.enrolments.remove(type, name, { actor, signal: either })
    return this.#call({ method: 'DELETE', type, send }, () => {}, signal)
  }

  list(type: string, signal: AbortSignal): Promise<CallResult<readonly EnrolmentShown[]>> {
    return this.#call(
      { method: 'GET', type, send: (either) => this.#deps.client.enrolments.list(type, { signal: either }) },
      ({ body }) => body.enrolments,
      signal,
    )
  }

  async #call<Body, Value>(
    call: MasterCall<Body> & { readonly type: string },
    valueOf: (reply: MasterResponse<Body>) => Value,
    signal: AbortSignal,
  ): Promise<CallResult<Value>> {
    if (this.#deps.covers(call.type) === false) return forbidden(call.type)
    const result = await this.#deps.call(call, signal)
    return result.kind === 'ok' ? { kind: 'ok', value: valueOf(result.reply), epoch: result.reply.epoch } : result
  }
}
