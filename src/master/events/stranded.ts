/**
 * @module master/events/stranded
 * Workers whose master is gone. Their records read as not connected from then on, by no act of anybody, so another
 * master tells it: the first of those that are left. Nothing is stored: a master that only could not reach the store
 * comes back with its sockets, and that is told as well.
 *
 * A master that starts alone on a store that outlived all masters tells what none was there to tell, and closes those
 * connections, so that it is told once.
 */
import type { Complaints } from '../../runtime/index.ts'
import type { WorkerRow } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import type { Announce } from '../registry/index.ts'

const PAGE = 250
const PAUSE_MS = 250
/** How long the death of a master stays news, should the one that had to tell it die as well. */
const NEWS_MS = 30_000
const MAX_GONE = 1_000

export class Stranded {
  readonly #deps: MasterDeps
  readonly #announce: Announce
  readonly #complaints: Complaints
  #alive: ReadonlySet<string> | null = null
  /** Masters that were there and are gone, by when that was noticed; the oldest first. */
  readonly #gone = new Map<string, number>()
  /** Of these and of those that came back: what was not told yet. */
  readonly #untold = new Map<string, number>()
  readonly #stopping = new AbortController()
  #work: Promise<void> = Promise.resolve()

  constructor(deps: MasterDeps, announce: Announce, complaints: Complaints) {
    this.#deps = deps
    this.#announce = announce
    this.#complaints = complaints
  }

  /** To be called with the masters that live, after each beat. */
  heard(alive: readonly string[]): void {
    const nowMs = this.#deps.clock.monotonicMs()
    const before = this.#alive
    this.#alive = new Set(alive)
    if (before === null) {
      if (this.#deps.backend.capabilities.shared && alive.length === 1) this.#do(() => this.#clear())
      return
    }
    for (const id of before) if (!this.#alive.has(id)) this.#note(id, nowMs)
    for (const id of alive) if (this.#gone.delete(id)) this.#untold.set(id, nowMs)
    for (const [id, atMs] of this.#untold) {
      if (this.#isMine(id)) this.#do(() => this.#tell(id))
      if (this.#isMine(id) || nowMs - atMs >= NEWS_MS) this.#untold.delete(id)
    }
  }

  stop(): Promise<void> {
    this.#stopping.abort()
    return this.#work
  }

  #note(id: string, nowMs: number): void {
    this.#gone.set(id, nowMs)
    this.#untold.set(id, nowMs)
    const [oldest] = this.#gone.size > MAX_GONE ? this.#gone.keys() : []
    if (oldest !== undefined) this.#gone.delete(oldest)
  }

  /** Whether of all masters but `id`, which cannot tell it of itself, this one is the first. */
  #isMine(id: string): boolean {
    return [...(this.#alive ?? [])].filter((each) => each !== id).toSorted()[0] === this.#deps.masterId
  }

  /** One thing at a time. What fails is left to the lists that readers fetch anyway. */
  #do(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return
      this.#complaints.about('stranded', (suppressed) =>
        this.#deps.log.warn('workers of a master that is gone could not be looked for', { error, suppressed }),
      )
    })
  }

  async #tell(id: string): Promise<void> {
    const connected = this.#alive?.has(id) === true
    let told = 0
    for await (const page of this.#pages((row) => row.connected === connected && ownerOf(row.conn) === id)) {
      for (const ref of page) {
        if (connected) this.#announce('worker.connected', ref, { connected: true })
        else this.#announce('worker.disconnected', ref, { connected: false })
      }
      told += page.length
    }
    if (told > 0)
      this.#deps.log.info(connected ? 'a master is back with its workers' : 'a master is gone, its workers with it', {
        master: id,
        workers: told,
      })
  }

  async #clear(): Promise<void> {
    const { workers } = this.#deps.backend
    for await (const page of this.#pages((row) => !row.connected)) {
      await workers.disconnect(page)
      for (const row of await workers.get(page))
        if (row !== null && row.conn === null) this.#announce('worker.disconnected', row, { connected: false })
    }
  }

  /** The records that match, as they are read; with a pause behind each page of them, since readers of events take so many at once. */
  async *#pages(matches: (row: Held) => boolean): AsyncGenerator<readonly Held[]> {
    for (const type of this.#deps.catalog.keys()) {
      for (let after: string | null = null; ;) {
        const page: readonly WorkerRow[] = await this.#deps.backend.workers.page(type, after, PAGE)
        const last = page.at(-1)
        if (last === undefined) break
        const found = page.filter(isHeld).filter(matches)
        if (found.length > 0) {
          yield found
          await this.#deps.timers.sleep(PAUSE_MS, this.#stopping.signal)
        }
        after = last.id
      }
    }
  }
}

/** A record that names a connection, whether that still lives or not. */
type Held = WorkerRow & { readonly conn: string }
const isHeld = (row: WorkerRow): row is Held => row.conn !== null
/** `conn` is "<masterId>/<n>". */
const ownerOf = (conn: string): string => conn.slice(0, conn.lastIndexOf('/'))
