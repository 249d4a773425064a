/**
 * @module client/operations
 * The calls for operations: changes of many workers, or of many dead tasks, that the leading master carries out.
 * @see D189
 */
import type {
  OperationBody,
  OperationPreview,
  OperationPreviewBody,
  OperationResultsBody,
  OperationsBody,
  OperationShown,
} from '../protocol/index.ts'
import type { ApiCaller, ChangeOptions, RequestOptions } from './api-caller.ts'
import { apiPath } from './address.ts'
import type { MasterResponse } from './response.ts'

/** Previews, creates, reads, cancels and undoes operations. Part of the client. */
export class Operations {
  readonly #caller: ApiCaller

  /** Creates this part of a client. */
  constructor(caller: ApiCaller) {
    this.#caller = caller
  }

  /** Returns the operations of all types that the token covers, newest first. */
  list(options?: RequestOptions): Promise<MasterResponse<OperationsBody>> {
    return this.#caller.call({ method: 'GET', path: apiPath(['operations']) }, options)
  }

  /**
   * Returns one operation.
   * @param operation Its name.
   * @throws {MasterError} NOT_FOUND when there is none, or not any more.
   */
  get(type: string, operation: string, options?: RequestOptions): Promise<MasterResponse<OperationShown>> {
    return this.#caller.call({ method: 'GET', path: this.#path(type, operation) }, options)
  }

  /**
   * Returns what became of each worker of an operation.
   * @param operation Its name.
   */
  results(type: string, operation: string, options?: RequestOptions): Promise<MasterResponse<OperationResultsBody>> {
    return this.#caller.call({ method: 'GET', path: this.#path(type, operation, 'results') }, options)
  }

  /**
   * Returns what an operation would do. It changes nothing.
   * @param body The operation.
   * @throws {MasterError} INVALID when the body is not that of an operation.
   */
  preview(
    type: string,
    body: OperationPreviewBody,
    options?: RequestOptions,
  ): Promise<MasterResponse<OperationPreview>> {
    return this.#caller.call({ method: 'POST', path: this.#path(type, 'preview'), body, repeat: 'always' }, options)
  }

  /**
   * Creates an operation. Never repeated: if the response is lost, read the list.
   * @param body The operation. With `expected`, it is created only if this many workers would change.
   * @throws {MasterError} INVALID when nothing would change. STALE_GENERATION when it is not the expected number.
   */
  create(type: string, body: OperationBody, options?: ChangeOptions): Promise<MasterResponse<OperationShown>> {
    return this.#caller.call({ method: 'POST', path: this.#path(type), body, repeat: 'when refused' }, options)
  }

  /**
   * Ends an operation: no further worker begins.
   * @param operation Its name.
   * @returns the operation, also if it has ended before.
   */
  cancel(type: string, operation: string, options?: ChangeOptions): Promise<MasterResponse<OperationShown>> {
    return this.#caller.call({ method: 'POST', path: this.#path(type, operation, 'cancel'), repeat: 'always' }, options)
  }

  /**
   * Creates the operation that undoes another one.
   * @param operation The name of the one to undo.
   * @returns the new operation.
   * @throws {MasterError} INVALID when the operation runs, wrote no config, or is undone already.
   */
  undo(type: string, operation: string, options?: ChangeOptions): Promise<MasterResponse<OperationShown>> {
    return this.#caller.call(
      { method: 'POST', path: this.#path(type, operation, 'undo'), repeat: 'when refused' },
      options,
    )
  }

  #path(type: string, ...below: readonly string[]): string {
    return apiPath(['automations', type, 'operations', ...below])
  }
}
