/**
 * @module operator/fleet/writer
 * Sends calls about one worker. Responses are applied to the table first. When a response was lost, the entry becomes
 * stale and is read again. A type that the token does not cover costs no call.
 */
import type { MasterClient, MasterResponse } from '../../client/index.ts'
import type { ConfigBody, HistoryBody, JsonObject, WorkerBody } from '../../protocol/index.ts'
import type { ReplyResult, MasterCall } from './calls.ts'
import type { Line } from './limiter.ts'
import type { CallRefusal, MasterWriter, CallResult, Registered, WorkerRef } from './ports.ts'
import type { Sequence, Source } from './records.ts'
import type { TypeReader } from './type-reader.ts'

export interface WriterDeps {
  readonly client: MasterClient
  readonly sequence: Sequence
  readonly call: <T>(call: MasterCall<T>, signal: AbortSignal) => Promise<ReplyResult<T>>
  readonly readerOf: (type: string) => TypeReader | undefined
  readonly covers: (type: string) => boolean | undefined
  readonly sourceOf: (reply: MasterResponse<unknown>, begun: number) => Source | null
  /** By the master's clock. */
  readonly nowMs: () => number
}

export class Writer implements MasterWriter {
  readonly #deps: WriterDeps
  readonly #line: Line

  constructor(deps: WriterDeps, line: Line) {
    this.#deps = deps
    this.#line = line
  }

  async get({ type, workerId }: WorkerRef, signal: AbortSignal): Promise<CallResult<Registered>> {
    const reader = this.#deps.readerOf(type)
    if (this.#deps.covers(type) === false) return forbidden(type)
    if (reader === undefined)
      return { kind: 'unavailable', effect: 'not_sent', message: `the type ${type} is not read yet` }
    return this.#registered(await reader.readOne(workerId, this.#line, signal))
  }

  async history({ type, workerId }: WorkerRef, limit: number, signal: AbortSignal): Promise<CallResult<HistoryBody>> {
    const { client } = this.#deps
    const response = await this.#call<HistoryBody>(
      { method: 'GET', type, send: (either) => client.workers.history(type, workerId, { limit, signal: either }) },
      signal,
    )
    return response.kind === 'ok' ? { kind: 'ok', value: response.reply.body, epoch: response.reply.epoch } : response
  }

  async patch(
    worker: WorkerRef,
    patch: JsonObject,
    mark: { readonly epoch: string; readonly configGen: number },
    actor: string,
    signal: AbortSignal,
  ): Promise<CallResult<ConfigBody>> {
    const { type, workerId } = worker
    const result = await this.#change<ConfigBody>(
      worker,
      'PATCH',
      (either) =>
        this.#deps.client.workers.patchConfig(type, workerId, patch, { ifMatch: mark, actor, signal: either }),
      signal,
    )
    if (result.kind !== 'ok') return result
    const { body, epoch } = result.reply
    this.#records(type)?.patched(workerId, body.config as JsonObject, body.config_gen, epoch)
    return { kind: 'ok', value: body, epoch }
  }

  claim(worker: WorkerRef, managedBy: string, signal: AbortSignal): Promise<CallResult<Registered>> {
    const { type, workerId } = worker
    return this.#mark(
      worker,
      'PUT',
      (either) =>
        this.#deps.client.workers.claim(type, workerId, managedBy, { actor: managedBy, force: true, signal: either }),
      signal,
    )
  }

  release(worker: WorkerRef, actor: string, signal: AbortSignal): Promise<CallResult<Registered>> {
    const { type, workerId } = worker
    return this.#mark(
      worker,
      'DELETE',
      (either) => this.#deps.client.workers.unclaim(type, workerId, { actor, signal: either }),
      signal,
    )
  }

  releaseOrphaned(worker: WorkerRef, actor: string, signal: AbortSignal): Promise<CallResult<Registered>> {
    const { type, workerId } = worker
    return this.#mark(
      worker,
      'DELETE',
      (either) => this.#deps.client.workers.unclaim(type, workerId, { actor, force: true, signal: either }),
      signal,
    )
  }

  async drain(worker: WorkerRef, actor: string, signal: AbortSignal): Promise<CallResult<void>> {
    const { type, workerId } = worker
    const replied = await this.#change(
      worker,
      'POST',
      (either) => this.#deps.client.workers.drain(type, workerId, { actor, signal: either }),
      signal,
    )
    if (replied.kind !== 'ok') return replied
    this.#records(type)?.drained(workerId)
    return { kind: 'ok', value: undefined, epoch: replied.reply.epoch }
  }

  async forget(worker: WorkerRef, actor: string, signal: AbortSignal): Promise<CallResult<void>> {
    const { type, workerId } = worker
    const replied = await this.#change(
      worker,
      'DELETE',
      (either) => this.#deps.client.workers.forget(type, workerId, { actor, signal: either }),
      signal,
    )
    if (replied.kind !== 'ok') return replied
    this.#records(type)?.onNotFound(workerId, this.#deps.sequence.next(), true)
    return { kind: 'ok', value: undefined, epoch: replied.reply.epoch }
  }

  /** Sends a write that only changes `managed_by` and responds with the record. */
  async #mark(
    worker: WorkerRef,
    method: 'PUT' | 'DELETE',
    send: MasterCall<WorkerBody>['send'],
    signal: AbortSignal,
  ): Promise<CallResult<Registered>> {
    const begun = this.#deps.sequence.next()
    const replied = await this.#change(worker, method, send, signal)
    const source = replied.kind === 'ok' ? this.#deps.sourceOf(replied.reply, begun) : null
    if (replied.kind === 'ok' && source !== null) this.#records(worker.type)?.claimed(replied.reply.body, source)
    return this.#registered(replied)
  }

  async #change<T>(
    { type, workerId }: WorkerRef,
    method: 'PUT' | 'POST' | 'PATCH' | 'DELETE',
    send: MasterCall<T>['send'],
    signal: AbortSignal,
  ): Promise<ReplyResult<T>> {
    const begun = this.#deps.sequence.next()
    const replied = await this.#call({ method, type, send }, signal)
    if (replied.kind === 'ok') this.#deps.sourceOf(replied.reply, begun)
    else if (replied.kind === 'not_registered') this.#records(type)?.onNotFound(workerId, begun, true)
    else if (replied.kind === 'stale' || mayHaveTakenEffect(replied)) this.#records(type)?.markStale(workerId)
    return replied
  }

  #call<T>(call: MasterCall<T> & { readonly type: string }, signal: AbortSignal): Promise<ReplyResult<T>> {
    return this.#deps.covers(call.type) === false
      ? Promise.resolve(forbidden(call.type))
      : this.#deps.call({ ...call, line: this.#line }, signal)
  }

  #registered(replied: ReplyResult<WorkerBody>): CallResult<Registered> {
    if (replied.kind !== 'ok') return replied
    const { body, epoch, respondedAtMs } = replied.reply
    return {
      kind: 'ok',
      epoch,
      value: { kind: 'registered', record: body, epoch, isStale: false, readMs: respondedAtMs ?? this.#deps.nowMs() },
    }
  }

  #records(type: string): TypeReader['records'] | undefined {
    return this.#deps.readerOf(type)?.records
  }
}

/** Whether a call without a response may have changed the worker. */
export const mayHaveTakenEffect = (refusal: CallRefusal): boolean =>
  (refusal.kind === 'unavailable' || refusal.kind === 'throttled') && refusal.effect === 'unknown'

export const forbidden = (type: string): { readonly kind: 'forbidden'; readonly message: string } => ({
  kind: 'forbidden',
  message: `the token is not valid for the type ${type}`,
})
