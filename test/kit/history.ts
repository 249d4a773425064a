/**
 * History records the calls of all clients of a store in one order: operation, arguments, start, end and result. A call
 * without a result is unknown: it may have had its effect. The checkers of `history-checkers.ts` read it.
 */

/** A lease as a client knows it. */
export interface LeaseOf {
  readonly id: string
  readonly token: number
}

/** A submitted task. Fields that it does not have are omitted. */
export interface HistoryTask {
  readonly id: string
  readonly key: string | null
  readonly group?: string
  /** Held until the task has finished. */
  readonly unique?: string
  /** As JSON. */
  readonly labels?: string
  readonly isRetained?: true
}

type Settled = 'ok' | 'scheduled' | 'dead' | 'lease_lost' | 'not_issued'

/**
 * Operations on one of many keys, for `hack/tools/porcupine`. A key is `namespace/name` or `type/id`. `recover` is the
 * first read of a key after the store may have lost changes.
 */
interface KeyedOperations {
  readonly kv_set: [args: { readonly key: string; readonly value: string; readonly ttlMs: number | null }, result: null]
  readonly kv_get: [args: { readonly key: string }, result: string | null]
  readonly kv_delete: [args: { readonly key: string }, result: boolean]
  readonly kv_recover: [args: { readonly key: string }, result: string | null]
  /** Returns the token; `null` if the lock is held. */
  readonly lock_acquire: [args: { readonly key: string; readonly holdMs: number }, result: number | null]
  readonly lock_extend: [
    args: { readonly key: string; readonly token: number; readonly holdMs: number },
    result: boolean,
  ]
  readonly lock_release: [args: { readonly key: string; readonly token: number }, result: boolean]
  readonly lock_recover: [args: { readonly key: string; readonly holdMs: number }, result: number | null]
  readonly counter_add: [args: { readonly key: string; readonly delta: number }, result: number]
  readonly counter_get: [args: { readonly key: string }, result: number]
  readonly counter_recover: [args: { readonly key: string }, result: number]
  readonly config_register: [args: { readonly key: string; readonly config: string }, result: null]
  /** Returns the new generation, `null` for a conflict. */
  readonly config_put: [
    args: { readonly key: string; readonly expectGen: number; readonly config: string },
    result: number | null,
  ]
  /** Returns the stored generation. */
  readonly config_raise: [args: { readonly key: string; readonly above: number }, result: number | null]
  readonly config_get: [
    args: { readonly key: string },
    result: { readonly gen: number; readonly config: string } | null,
  ]
  readonly config_recover: [
    args: { readonly key: string },
    result: { readonly gen: number; readonly config: string } | null,
  ]
  readonly task_submit: [args: { readonly key: string }, result: null]
  readonly task_reserve: [args: { readonly type: string; readonly limit: number }, result: readonly LeaseOf[]]
  readonly task_ack: [args: { readonly key: string; readonly token: number }, result: Settled]
  readonly task_release: [args: { readonly key: string; readonly token: number }, result: Settled]
  readonly task_nack: [
    args: { readonly key: string; readonly token: number; readonly value: 'permanent' | 'retry' },
    result: Settled,
  ]
  readonly task_cancel: [args: { readonly key: string }, result: 'cancelled' | 'dead' | 'finished' | 'not_found']
  readonly task_locate: [args: { readonly key: string }, result: string | null]
  readonly task_recover: [args: { readonly key: string }, result: string | null]
  /**
   * Operations on the unique key of tasks; `value` is the id of a task. `keep` returns the task that has the key, or
   * `null` if the new one was queued; `replace` the task that it replaced, or `null` if there was none.
   */
  readonly unique_keep: [args: { readonly key: string; readonly value: string }, result: string | null]
  readonly unique_replace: [args: { readonly key: string; readonly value: string }, result: string | null]
  readonly unique_cancel: [
    args: { readonly key: string; readonly value: string },
    result: 'cancelled' | 'dead' | 'finished' | 'not_found',
  ]
  readonly unique_recover: [args: { readonly key: string; readonly value: string }, result: string | null]
}

/**
 * The arguments and the result of each operation. The operations that name no key have one stream, key, counter, config
 * and pool. The queue of a task is named by its client: that of the client `first/grouped` is `grouped`.
 */
interface Operations extends KeyedOperations {
  /** Returns the id that stands for each task: its own, or that of the task with the same idempotency or unique key. */
  readonly submit: [args: { readonly tasks: readonly HistoryTask[] }, result: readonly string[]]
  readonly reserve: [
    args: { readonly limit: number },
    result: readonly (LeaseOf & { readonly labels?: string | undefined })[],
  ]
  /** Returns the kind of each result. */
  readonly cancel: [args: { readonly ids: readonly string[] }, result: readonly string[]]
  /** Returns the place of each stored task, and the kind of the outcome of each other one. */
  readonly describe: [args: { readonly ids: readonly string[] }, result: readonly (string | null)[]]
  readonly ack: [args: { readonly leases: readonly LeaseOf[] }, result: readonly string[]]
  readonly nack: [args: { readonly leases: readonly LeaseOf[] }, result: readonly string[]]
  readonly release: [args: { readonly leases: readonly LeaseOf[] }, result: readonly string[]]
  /** Returns where each task is, `null` if the store does not have it. */
  readonly locate: [args: { readonly ids: readonly string[] }, result: readonly (string | null)[]]
  /** Each entry of the stream is a number; one client pushes them in ascending order. */
  readonly push: [args: { readonly entries: readonly number[] }, result: null]
  readonly pop: [args: { readonly limit: number }, result: readonly number[]]
  /** One client sets the key to ascending numbers; it reads as 0 without a value. */
  readonly set: [args: { readonly value: number }, result: null]
  readonly get: [args: null, result: number]
  readonly add: [args: { readonly delta: number }, result: number]
  readonly count: [args: null, result: number]
  /** Returns the new generation, `null` for a conflict. */
  readonly put_config: [args: { readonly config: string }, result: number | null]
  readonly get_config: [args: null, result: { readonly gen: number; readonly config: string } | null]
  readonly put_items: [args: { readonly ids: readonly string[] }, result: null]
  readonly claim: [args: { readonly limit: number }, result: readonly LeaseOf[]]
  readonly release_items: [args: { readonly leases: readonly LeaseOf[] }, result: readonly string[]]
  readonly remove_items: [args: { readonly ids: readonly string[] }, result: readonly boolean[]]
  readonly list_items: [args: null, result: readonly string[]]
}

export type Operation = keyof Operations
export type ArgsOf<O extends Operation> = Operations[O][0]
export type ResultOf<O extends Operation> = Operations[O][1]

/** One call. `start` and `end` are places in the order of the history. */
export interface Call<O extends Operation = Operation> {
  readonly operation: O
  readonly client: string
  readonly args: ArgsOf<O>
  readonly start: number
  /** Infinity without a result. */
  readonly end: number
  /** Undefined: unknown. */
  readonly result: ResultOf<O> | undefined
}

/** One line of a recorded history. `atNs`: when, if the history has a clock. */
type HistoryLine = { readonly atNs?: number } & (
  | { readonly start: number; readonly operation: Operation; readonly client: string; readonly args: unknown }
  | { readonly end: number; readonly result: unknown }
  | { readonly refused: number }
)

export class History {
  readonly #calls: (Call | null)[] = []
  readonly #onLine: (line: string) => void
  readonly #nowNs: (() => number) | undefined
  #position = 0

  /**
   * @param onLine Called with each line before the method that adds it returns.
   * @param nowNs Adds the time to each line, so that histories of several processes of one machine can be merged.
   */
  constructor(onLine: (line: string) => void = () => undefined, nowNs?: () => number) {
    this.#onLine = onLine
    this.#nowNs = nowNs
  }

  /** Continues a history whose lines were passed to `onLine`; calls without a result stay unknown. */
  static of(lines: Iterable<string>, onLine?: (line: string) => void): History {
    const history = new History(onLine)
    for (const line of lines) history.#apply(JSON.parse(line) as HistoryLine)
    return history
  }

  /** All calls, in the order of their starts, without those that were refused. */
  get calls(): readonly Call[] {
    return this.#calls.filter((call) => call !== null)
  }

  /**
   * Records a call that `run` makes.
   *
   * @param isRefusal Returns true for an error which proves that the call had no effect. Every other error is thrown
   *   again, and the call is unknown.
   * @returns the result; `undefined` if the call was refused.
   */
  async call<O extends Operation>(
    client: string,
    operation: O,
    args: ArgsOf<O>,
    run: () => Promise<ResultOf<O>>,
    isRefusal: (error: unknown) => boolean = () => false,
  ): Promise<ResultOf<O> | undefined> {
    const number = this.#calls.length
    this.#add({ start: number, operation, client, args })
    try {
      const result = await run()
      this.#add({ end: number, result })
      return result
    } catch (error) {
      if (!isRefusal(error)) throw error
      this.#add({ refused: number })
      return undefined
    }
  }

  #add(line: HistoryLine): void {
    this.#apply(line)
    this.#onLine(JSON.stringify(this.#nowNs === undefined ? line : { ...line, atNs: this.#nowNs() }))
  }

  #apply(line: HistoryLine): void {
    this.#position += 1
    if ('start' in line) {
      const { operation, client, args } = line
      const call = { operation, client, args, start: this.#position, end: Infinity, result: undefined }
      this.#calls[line.start] = call as Call
      return
    }
    if ('refused' in line) {
      this.#calls[line.refused] = null
      return
    }
    const call = this.#calls[line.end]
    if (call !== null && call !== undefined)
      this.#calls[line.end] = { ...call, end: this.#position, result: line.result as ResultOf<Operation> }
  }
}
