/**
 * @module cmd/admin/watch-workers
 * `muster workers ls --watch` prints the list, and then a row for each worker that changes (D214).
 *
 *   stream opens ──▶ list, print what differs ──▶ event: read its worker, print it if it differs ──▶ …
 *        ▲                    └── `reset`: list again                       │
 *        └────────────────────── the stream is lost ◀───────────────────────┘
 *
 * The master begins a stream at the newest event before it sends the head of its response. So a change is in the list,
 * which is read afterwards, or in the stream, or in both. What is printed is always a record as the API has it.
 */
import { MasterError, type FeedItem } from '../../client/index.ts'
import { singleEvents } from '../../protocol/event-stream/index.ts'
import type { WorkerBody } from '../../protocol/index.ts'
import { sleep } from '../../runtime/index.ts'
import type { Column } from './printer.ts'
import type { Invocation } from './verb.ts'

const RETRY_MS = 1_000
/** More workers of one event are read with a list. */
const MAX_SINGLE_READS = 20
/** Fields that change all the time. No event reports them. */
const UNREPORTED = new Set<string>(['last_seen', 'current_stats', 'tasks_held'] satisfies (keyof WorkerBody)[])

interface WatchDeps extends Pick<Invocation, 'client' | 'io' | 'printer'> {
  readonly columns: readonly Column<WorkerBody>[]
  /** Lists the workers of this type, or of every type. */
  readonly list: (type?: string) => Promise<readonly WorkerBody[]>
  /** @returns undefined if the worker was forgotten. */
  readonly read: (type: string, id: string) => Promise<WorkerBody | undefined>
  readonly isShown: (worker: WorkerBody) => boolean
  /** null: all types. */
  readonly type: string | null
}

/** A worker that was printed, and the fields by which a change is noticed. */
interface Known {
  readonly worker: WorkerBody
  readonly text: string
}

const keyOf = ({ automation_type: type, worker_id: id }: Pick<WorkerBody, 'automation_type' | 'worker_id'>): string =>
  `${type}/${id}`
const textOf = (worker: WorkerBody): string =>
  JSON.stringify(Object.entries(worker).filter(([name]) => !UNREPORTED.has(name)))

export class WorkerWatch {
  readonly #deps: WatchDeps
  /** The workers that match the filter. */
  readonly #known = new Map<string, Known>()
  #noted: string | null = null
  #hasOpened = false

  constructor(deps: WatchDeps) {
    this.#deps = deps
  }

  /**
   * Resolves when the reader of the output has closed it.
   * @throws {MasterError} if the stream cannot be opened, and later for a failure that does not end by itself.
   */
  async run(): Promise<void> {
    const { client, io } = this.#deps
    const { signal, end } = io.unread()
    try {
      for await (const item of client.events({ signal, isBatched: true })) await this.#apply(item, signal)
    } finally {
      end()
    }
  }

  async #apply(item: FeedItem, signal: AbortSignal): Promise<void> {
    if (item.kind === 'lost') {
      if (!this.#hasOpened) throw item.error
      return this.#note(item.error)
    }
    this.#hasOpened = true
    if (item.kind === 'open' || item.name === 'reset') return this.#patiently(signal, () => this.#relist())
    const changed = new Map<string, Set<string>>()
    for (const { name, data } of singleEvents(item)) {
      const { type, worker_id: id } = data
      const isWatched = this.#deps.type === null || type === this.#deps.type
      if (!name.startsWith('worker.') || typeof type !== 'string' || typeof id !== 'string' || !isWatched) continue
      changed.set(type, (changed.get(type) ?? new Set()).add(id))
    }
    for (const [type, ids] of changed)
      await this.#patiently(signal, () =>
        ids.size > MAX_SINGLE_READS ? this.#relist(type) : this.#reread(type, [...ids]),
      )
  }

  /** Lists all workers, or those of one type, and prints those that differ from what was printed. */
  async #relist(type?: string): Promise<void> {
    const listed = await this.#deps.list(type)
    const keys = new Set(listed.map(keyOf))
    const gone = [...this.#known.values()].filter(
      ({ worker }) => (type === undefined || worker.automation_type === type) && !keys.has(keyOf(worker)),
    )
    await this.#print(listed, gone)
  }

  async #reread(type: string, ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const worker = await this.#deps.read(type, id)
      const known = this.#known.get(keyOf({ automation_type: type, worker_id: id }))
      if (worker !== undefined) await this.#print([worker], [])
      else if (known !== undefined) await this.#print([], [known])
    }
  }

  async #print(workers: readonly WorkerBody[], gone: readonly Known[]): Promise<void> {
    const { printer, columns, isShown } = this.#deps
    const changed = workers.filter((worker) => {
      const before = this.#known.get(keyOf(worker))
      // A worker that no longer matches the filter is printed once more, so that one sees why.
      return before === undefined ? isShown(worker) : before.text !== textOf(worker)
    })
    for (const worker of changed) {
      if (isShown(worker)) this.#known.set(keyOf(worker), { worker, text: textOf(worker) })
      else this.#known.delete(keyOf(worker))
    }
    await printer.stream(changed, columns)
    for (const { worker } of gone) {
      this.#known.delete(keyOf(worker))
      if (printer.isTable) await printer.stream([{ ...worker, state: 'FORGOTTEN' as WorkerBody['state'] }], columns)
      else await printer.stream([{ ...worker, forgotten: true }], columns)
    }
  }

  /** Repeats reads until one succeeds, because the events that made them necessary are not sent again. */
  async #patiently(signal: AbortSignal, act: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await act()
        this.#noted = null
        return
      } catch (error) {
        if (!(error instanceof MasterError)) throw error
        this.#note(error)
        await sleep(this.#deps.io.time, RETRY_MS, signal)
      }
    }
  }

  /** @throws the error, if it does not end by itself. */
  #note(error: MasterError): void {
    if (!error.isRetryable) throw error
    if (this.#noted !== error.message) this.#deps.printer.note(`cannot read the workers, retrying: ${error.message}`)
    this.#noted = error.message
  }
}
