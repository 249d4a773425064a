/**
 * @module master/events/orphaned-worker-monitor
 * Publishes `worker.disconnected` for the workers of a master that stopped. Their records become disconnected without
 * an update being written, so the surviving master with the lowest id publishes the events. Nothing is stored. If the
 * master only could not reach the store, it comes back with its sockets, and `worker.connected` is published.
 *
 * A master that starts alone on a shared store also publishes the disconnects that no master was left to publish. It
 * closes those connections in the store, so that each event is published once.
 */
import { BoundedMap, type LogThrottle } from '../../runtime/index.ts'
import type { WorkerRow } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { departureBody, type Announce } from '../registry/index.ts'

const PAGE = 250
const PAUSE_MS = 250
/** How long a change of a master may be published, in case the responsible master stops as well. */
const PUBLISH_WITHIN_MS = 30_000
const MAX_STOPPED = 1_000

export class OrphanedWorkerMonitor {
  readonly #deps: MasterDeps
  readonly #announce: Announce
  readonly #logThrottle: LogThrottle
  #alive: ReadonlySet<string> | null = null
  /** Masters that stopped, with the monotonic time at which this was noticed; the oldest first. */
  readonly #stoppedAtMs = new BoundedMap<string, number>(MAX_STOPPED)
  /** Masters that stopped or came back, whose workers were not published yet. */
  readonly #unpublished = new Map<string, number>()
  readonly #stopping = new AbortController()
  #work: Promise<void> = Promise.resolve()

  constructor(deps: MasterDeps, announce: Announce, logThrottle: LogThrottle) {
    this.#deps = deps
    this.#announce = announce
    this.#logThrottle = logThrottle
  }

  /** Compares the running masters with the previous ones. To be called after each heartbeat. */
  update(alive: readonly string[]): void {
    const nowMs = this.#deps.clock.monotonicMs()
    const before = this.#alive
    this.#alive = new Set(alive)
    if (before === null) {
      if (this.#deps.backend.capabilities.shared && alive.length === 1) this.#do(() => this.#clear())
      return
    }
    for (const id of before) if (!this.#alive.has(id)) this.#note(id, nowMs)
    for (const id of alive) if (this.#stoppedAtMs.delete(id)) this.#unpublished.set(id, nowMs)
    for (const [id, atMs] of this.#unpublished) {
      if (this.#isResponsibleFor(id)) this.#do(() => this.#publish(id))
      if (this.#isResponsibleFor(id) || nowMs - atMs >= PUBLISH_WITHIN_MS) this.#unpublished.delete(id)
    }
  }

  stop(): Promise<void> {
    this.#stopping.abort()
    return this.#work
  }

  #note(id: string, nowMs: number): void {
    this.#stoppedAtMs.set(id, nowMs)
    this.#unpublished.set(id, nowMs)
  }

  /** Whether this master is responsible for `id`: it has the lowest id of all running masters except `id`. */
  #isResponsibleFor(id: string): boolean {
    return [...(this.#alive ?? [])].filter((each) => each !== id).toSorted()[0] === this.#deps.masterId
  }

  /** Runs one task at a time. Failures are not retried: clients fetch the lists of workers anyway. */
  #do(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return
      this.#logThrottle.run('stranded', (suppressed) =>
        this.#deps.log.warn('failed to list the workers of a master that stopped responding', { error, suppressed }),
      )
    })
  }

  async #publish(id: string): Promise<void> {
    const connected = this.#alive?.has(id) === true
    let published = 0
    for await (const page of this.#pages((row) => row.connected === connected && ownerOf(row.conn) === id)) {
      for (const ref of page) {
        if (connected) this.#announce('worker.connected', ref, { connected: true })
        else this.#announce('worker.disconnected', ref, { connected: false, ended: false })
      }
      published += page.length
    }
    if (published > 0)
      this.#deps.log.info(
        connected
          ? 'a master is back: its workers are connected'
          : 'a master stopped responding: its workers are disconnected',
        {
          master: id,
          workers: published,
        },
      )
  }

  async #clear(): Promise<void> {
    const { workers } = this.#deps.backend
    for await (const page of this.#pages((row) => !row.connected)) {
      await workers.disconnect(page.map(({ type, id, conn }) => ({ type, id, conn })))
      for (const row of await workers.get(page))
        if (row !== null && row.conn === null)
          this.#announce('worker.disconnected', row, {
            connected: false,
            ended: row.ended,
            departure: departureBody(row),
          })
    }
  }

  /** Yields the matching records page by page. Pauses after each page, so that event stream clients can keep up. */
  async *#pages(matches: (row: ConnectedRow) => boolean): AsyncGenerator<readonly ConnectedRow[]> {
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

/** A record that names a connection, open or not. */
type ConnectedRow = WorkerRow & { readonly conn: string }
const isHeld = (row: WorkerRow): row is ConnectedRow => row.conn !== null
/** `conn` is "<masterId>/<n>". */
const ownerOf = (conn: string): string => conn.slice(0, conn.lastIndexOf('/'))
