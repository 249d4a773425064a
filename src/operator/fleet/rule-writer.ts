/**
 * @module operator/fleet/rule-writer
 * Stores, lists and removes what the operator keeps at the master beside configs, by name: enrolment rules, and the
 * reports of rollouts.
 * @see D141, D148
 */
import type { MasterResponse } from '../../client/index.ts'
import type { EnrolmentBody, EnrolmentShown, RolloutBody, RolloutShown } from '../../protocol/index.ts'
import type { MasterCall } from './calls.ts'
import type { CallResult, ReportWriter, RuleWriter } from './ports.ts'
import { forbidden, type WriterDeps } from './writer.ts'

export class EnrolmentWriter implements RuleWriter {
  readonly #deps: WriterDeps

  constructor(deps: WriterDeps) {
    this.#deps = deps
  }

  put(type: string, name: string, rule: EnrolmentBody, actor: string, signal: AbortSignal): Promise<CallResult<void>> {
    const send: MasterCall<unknown>['send'] = (either) =>
      this.#deps.client.enrolments.put(type, name, rule, { actor, signal: either })
    return callOfType(this.#deps, { method: 'PUT', type, send }, () => {}, signal)
  }

  remove(type: string, name: string, actor: string, signal: AbortSignal): Promise<CallResult<void>> {
    const send: MasterCall<unknown>['send'] = (either) =>
      this.#deps.client.enrolments.remove(type, name, { actor, signal: either })
    return callOfType(this.#deps, { method: 'DELETE', type, send }, () => {}, signal)
  }

  list(type: string, signal: AbortSignal): Promise<CallResult<readonly EnrolmentShown[]>> {
    return callOfType(
      this.#deps,
      { method: 'GET', type, send: (either) => this.#deps.client.enrolments.list(type, { signal: either }) },
      ({ body }) => body.enrolments,
      signal,
    )
  }
}

export class RolloutReportWriter implements ReportWriter {
  readonly #deps: WriterDeps

  constructor(deps: WriterDeps) {
    this.#deps = deps
  }

  put(type: string, name: string, report: RolloutBody, actor: string, signal: AbortSignal): Promise<CallResult<void>> {
    const send: MasterCall<unknown>['send'] = (either) =>
      this.#deps.client.rollouts.put(type, name, report, { actor, signal: either })
    return callOfType(this.#deps, { method: 'PUT', type, send }, () => {}, signal)
  }

  remove(type: string, name: string, actor: string, signal: AbortSignal): Promise<CallResult<void>> {
    const send: MasterCall<unknown>['send'] = (either) =>
      this.#deps.client.rollouts.remove(type, name, { actor, signal: either })
    return callOfType(this.#deps, { method: 'DELETE', type, send }, () => {}, signal)
  }

  list(type: string, signal: AbortSignal): Promise<CallResult<readonly RolloutShown[]>> {
    return callOfType(
      this.#deps,
      { method: 'GET', type, send: (either) => this.#deps.client.rollouts.list(type, { signal: either }) },
      ({ body }) => body.rollouts,
      signal,
    )
  }
}

async function callOfType<Body, Value>(
  { call, covers }: WriterDeps,
  made: MasterCall<Body> & { readonly type: string },
  valueOf: (reply: MasterResponse<Body>) => Value,
  signal: AbortSignal,
): Promise<CallResult<Value>> {
  if (covers(made.type) === false) return forbidden(made.type)
  const result = await call(made, signal)
  return result.kind === 'ok' ? { kind: 'ok', value: valueOf(result.reply), epoch: result.reply.epoch } : result
}
