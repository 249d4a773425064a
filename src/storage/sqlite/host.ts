/**
 * @module storage/sqlite/host
 * Where the engine runs. In production in a thread of its own, so that no fsync blocks the event loop; in tests also in
 * this one. Both answer in the order they were asked.
 */
import { Worker } from 'node:worker_threads'
import { dataOf, errorOf, storageError, type Answer, type CallGroup, type ErrorData } from './calls.ts'
import { messageOf } from './driver.ts'
import { Engine, type EngineOptions, type Opened } from './engine.ts'
import type { OnCheck } from './store.ts'

export interface EngineHost {
  /**
   * @param onCheck called when the structure of the file is going to be checked, also at a later open after a fault.
   * @throws {FleetError} as the engine does.
   */
  open(options: EngineOptions, onCheck?: OnCheck): Promise<Opened>
  run(group: CallGroup): Promise<readonly Answer[]>
  /** One step of idle work. True: there is more. */
  maintain(nowMs: number, idle: boolean): Promise<boolean>
  /** Repeatable. */
  close(nowMs: number): Promise<void>
}

/** A request to the thread. Several may be in flight; the thread responds to each, in order. */
export type Request =
  | { readonly op: 'open'; readonly options: EngineOptions }
  | { readonly op: 'run'; readonly group: CallGroup }
  | { readonly op: 'maintain'; readonly nowMs: number; readonly idle: boolean }
  | { readonly op: 'close'; readonly nowMs: number }
export type Reply = { readonly ok: unknown } | { readonly error: ErrorData }
/** Sent while a request is in work, beside its reply. */
export interface Notice {
  readonly checkedBytes: number
}

/** The engine's side of the conversation, in a thread or not. */
export class EngineServer {
  readonly #onCheck: OnCheck
  #engine: Engine | undefined

  constructor(onCheck: OnCheck) {
    this.#onCheck = onCheck
  }

  answer(request: Request): Reply {
    try {
      return { ok: this.#do(request) }
    } catch (error) {
      return { error: dataOf(error) }
    }
  }

  #do(request: Request): unknown {
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

type Ask = (request: Request) => Promise<unknown>

abstract class AskingHost implements EngineHost {
  protected abstract readonly ask: Ask
  protected onCheck: OnCheck = () => undefined

  open = async (options: EngineOptions, onCheck: OnCheck = () => undefined): Promise<Opened> => {
    this.onCheck = onCheck
    return (await this.ask({ op: 'open', options })) as Opened
  }
  run = async (group: CallGroup): Promise<readonly Answer[]> =>
    (await this.ask({ op: 'run', group })) as readonly Answer[]
  maintain = async (nowMs: number, idle: boolean): Promise<boolean> =>
    (await this.ask({ op: 'maintain', nowMs, idle })) as boolean
  abstract close(nowMs: number): Promise<void>
}

/** The engine in this thread. */
export class InlineHost extends AskingHost {
  readonly #server = new EngineServer((bytes) => this.onCheck(bytes))

  protected readonly ask = async (request: Request): Promise<unknown> => resultOf(this.#server.answer(request))

  async close(nowMs: number): Promise<void> {
    await this.ask({ op: 'close', nowMs })
  }
}

interface Asked {
  resolve(result: unknown): void
  reject(error: unknown): void
}

/**
 * The engine in a thread. One that died is started and opened anew by the next call; what it had not answered is
 * unknown.
 */
export class ThreadHost extends AskingHost {
  readonly #url: URL
  #worker: Worker | undefined
  #asked: Asked[] = []
  #options: EngineOptions | undefined

  constructor(url: URL) {
    super()
    this.#url = url
  }

  protected readonly ask = async (request: Request): Promise<unknown> => {
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

  #post(request: Request): Promise<unknown> {
    const worker = this.#worker ?? this.#start()
    return new Promise((resolve, reject) => {
      this.#asked.push({ resolve, reject })
      worker.postMessage(request)
    })
  }

  #start(): Worker {
    const worker = new Worker(this.#url, { name: 'storage' })
    this.#worker = worker
    worker.on('message', (reply: Reply | Notice) => {
      if ('checkedBytes' in reply) return this.onCheck(reply.checkedBytes)
      const asked = this.#asked.shift()
      if ('error' in reply) asked?.reject(errorOf(reply.error))
      else asked?.resolve(reply.ok)
    })
    worker.on('error', (error) => this.#died(worker, error))
    worker.on('exit', () => this.#died(worker, new Error('the thread ended')))
    return worker
  }

  #died(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    const error = storageError(
      'STORAGE_UNAVAILABLE',
      `the storage thread failed: ${messageOf(cause)}; whether the change was made is not known`,
      'unknown',
      cause,
    )
    for (const each of this.#asked.splice(0)) each.reject(error)
  }
}

function resultOf(reply: Reply): unknown {
  if ('error' in reply) throw errorOf(reply.error)
  return reply.ok
}
