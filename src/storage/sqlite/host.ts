/**
 * @module storage/sqlite/host
 * Runs the engine: in production in a thread of its own, so that no fsync blocks the event loop; in tests also in this
 * one. Both handle requests in order.
 */
import { Worker } from 'node:worker_threads'
import { dataOf, errorOf, storageError, type CallGroup, type CallResult } from './calls.ts'
import { messageOf } from './driver.ts'
import { Engine, type EngineOptions, type Opened } from './engine.ts'
import type { OnCheck } from './store.ts'

export interface EngineHost {
  /**
   * @param onCheck called when the structure of the file is going to be checked, also at a later open after a fault.
   * @throws {FleetError} as the engine does.
   */
  open(options: EngineOptions, onCheck?: OnCheck): Promise<Opened>
  run(group: CallGroup): Promise<readonly CallResult[]>
  /** One step of idle work. True: there is more. */
  maintain(nowMs: number, idle: boolean): Promise<boolean>
  /** Repeatable. */
  close(nowMs: number): Promise<void>
}

/** A request to the thread. Several may be in flight; the thread responds to each, in order. */
export type ThreadRequest =
  | { readonly op: 'open'; readonly options: EngineOptions }
  | { readonly op: 'run'; readonly group: CallGroup }
  | { readonly op: 'maintain'; readonly nowMs: number; readonly idle: boolean }
  | { readonly op: 'close'; readonly nowMs: number }
/** Sent while a request is in work, before its result: the structure of a file of this size is going to be checked. */
interface CheckNotice {
  readonly kind: 'checking'
  readonly fileBytes: number
}
export type ThreadMessage = CallResult | CheckNotice

/** The engine's side of the conversation, in a thread or not. */
export class EngineServer {
  readonly #onCheck: OnCheck
  #engine: Engine | undefined

  constructor(onCheck: OnCheck) {
    this.#onCheck = onCheck
  }

  respond(request: ThreadRequest): CallResult {
    try {
      return { kind: 'returned', value: this.#do(request) }
    } catch (error) {
      return { kind: 'threw', error: dataOf(error) }
    }
  }

  #do(request: ThreadRequest): unknown {
    switch (request.op) {
      case 'open':
        this.#engine = new Engine(request.options, this.#onCheck)
        return this.#engine.open()
      case 'run':
        return this.#engine?.run(request.group) ?? []
      case 'maintain':
        return this.#engine?.maintain(request.nowMs, request.idle) ?? false
      case 'close':
        return this.#engine?.close(request.nowMs)
    }
  }
}

/** Turns the methods of a host into requests. */
abstract class RequestingHost implements EngineHost {
  protected abstract readonly send: (request: ThreadRequest) => Promise<unknown>
  protected onCheck: OnCheck = () => undefined

  open = async (options: EngineOptions, onCheck: OnCheck = () => undefined): Promise<Opened> => {
    this.onCheck = onCheck
    return (await this.send({ op: 'open', options })) as Opened
  }
  run = async (group: CallGroup): Promise<readonly CallResult[]> =>
    (await this.send({ op: 'run', group })) as readonly CallResult[]
  maintain = async (nowMs: number, idle: boolean): Promise<boolean> =>
    (await this.send({ op: 'maintain', nowMs, idle })) as boolean
  abstract close(nowMs: number): Promise<void>
}

/** The engine in this thread. */
export class InlineHost extends RequestingHost {
  readonly #server = new EngineServer((bytes) => this.onCheck(bytes))

  protected readonly send = async (request: ThreadRequest): Promise<unknown> => valueOf(this.#server.respond(request))

  async close(nowMs: number): Promise<void> {
    await this.send({ op: 'close', nowMs })
  }
}

interface PendingRequest {
  resolve(result: unknown): void
  reject(error: unknown): void
}

/**
 * The engine in a thread. One that died is started and opened anew by the next call; the outcome of the requests that
 * were in flight is unknown.
 */
export class ThreadHost extends RequestingHost {
  readonly #url: URL
  #worker: Worker | undefined
  #pending: PendingRequest[] = []
  #options: EngineOptions | undefined

  constructor(url: URL) {
    super()
    this.#url = url
  }

  protected readonly send = async (request: ThreadRequest): Promise<unknown> => {
    if (request.op === 'open') this.#options = request.options
    else if (this.#worker === undefined && this.#options !== undefined)
      await this.#post({ op: 'open', options: this.#options })
    return this.#post(request)
  }

  async close(nowMs: number): Promise<void> {
    try {
      await this.closeEngine(nowMs)
    } finally {
      await this.terminate()
    }
  }

  /** Leaves the thread running, for another `open`. */
  async closeEngine(nowMs: number): Promise<void> {
    this.#options = undefined
    if (this.#worker !== undefined) await this.#post({ op: 'close', nowMs })
  }

  async terminate(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  /** For tests: ends the thread as a fault of its own would. */
  async kill(): Promise<void> {
    await this.#worker?.terminate()
  }

  #post(request: ThreadRequest): Promise<unknown> {
    const worker = this.#worker ?? this.#start()
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject })
      worker.postMessage(request)
    })
  }

  #start(): Worker {
    const worker = new Worker(this.#url, { name: 'storage' })
    this.#worker = worker
    worker.on('message', (message: ThreadMessage) => this.#receive(message))
    worker.on('error', (error) => this.#died(worker, error))
    worker.on('exit', () => this.#died(worker, new Error('the thread ended')))
    return worker
  }

  #receive(message: ThreadMessage): void {
    if (message.kind === 'checking') return this.onCheck(message.fileBytes)
    const pending = this.#pending.shift()
    if (message.kind === 'threw') pending?.reject(errorOf(message.error))
    else pending?.resolve(message.value)
  }

  #died(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    const error = storageError(
      'STORAGE_UNAVAILABLE',
      `the storage thread failed: ${messageOf(cause)}; whether the change was made is unknown`,
      'unknown',
      cause,
    )
    for (const each of this.#pending.splice(0)) each.reject(error)
  }
}

function valueOf(result: CallResult): unknown {
  if (result.kind === 'threw') throw errorOf(result.error)
  return result.value
}
