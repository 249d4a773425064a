/**
 * @module master/events/totals
 * Publishes the totals of queues and dead letters when they change, at most once a second per type (D31, D51). Every
 * master changes the queues, so the leader reads the totals for all. The others record the published totals, and
 * continue from them when they become the leader.
 */
import { toSeconds, type QueueTotals } from '../../protocol/index.ts'
import type { Cancel, LogThrottle } from '../../runtime/index.ts'
import type { LoggedEvent, NewEvent } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { totalsBody } from '../queue/index.ts'

const CHECK_EVERY_MS = 1_000
const NAME = 'queue.totals'

export class Totals {
  readonly #deps: MasterDeps
  readonly #isLeader: () => boolean
  readonly #logThrottle: LogThrottle
  readonly #types: readonly string[]
  /** The totals that were last published, by any master, as JSON. */
  readonly #published = new Map<string, string>()
  #isPublishing = false
  #ends: Cancel[] = []

  constructor(deps: MasterDeps, isLeader: () => boolean, logThrottle: LogThrottle) {
    this.#deps = deps
    this.#isLeader = isLeader
    this.#logThrottle = logThrottle
    this.#types = [...deps.catalog.values()].filter(({ kind }) => kind === 'BatchAutomation').map(({ type }) => type)
  }

  /** Reads the current totals without publishing them: clients fetch them when they start. */
  async start(): Promise<void> {
    if (this.#types.length === 0) return
    const { backend, timers } = this.#deps
    this.#ends = [
      backend.events.onAppend((events) => this.#onAppended(events)),
      timers.every(CHECK_EVERY_MS, () => void this.#publishChanges()),
    ]
    for (const [type, queue] of await this.#read()) this.#published.set(type, queue)
  }

  stop(): void {
    for (const end of this.#ends) end()
  }

  #onAppended(events: readonly LoggedEvent[]): void {
    for (const { name, scope, data } of events) {
      if (name === NAME) this.#published.set(scope, JSON.stringify((JSON.parse(data) as { queue: QueueTotals }).queue))
    }
  }

  async #publishChanges(): Promise<void> {
    if (this.#isPublishing || !this.#isLeader()) return
    this.#isPublishing = true
    try {
      const ts = toSeconds(this.#deps.clock.wallMs())
      const changed = [...(await this.#read())].filter(([type, queue]) => this.#published.get(type) !== queue)
      await this.#deps.backend.events.append(
        changed.map(([type, queue]): NewEvent => ({
          name: NAME,
          scope: type,
          data: `{"type":${JSON.stringify(type)},"ts":${ts},"queue":${queue}}`,
        })),
      )
      for (const [type, queue] of changed) this.#published.set(type, queue)
    } catch (error) {
      this.#logThrottle.run('totals', (suppressed) =>
        this.#deps.log.warn('failed to publish the queue totals', { error, suppressed }),
      )
    } finally {
      this.#isPublishing = false
    }
  }

  async #read(): Promise<ReadonlyMap<string, string>> {
    const counts = await this.#deps.backend.tasks.counts(this.#types)
    return new Map(counts.map((each, at) => [this.#types[at] ?? '', JSON.stringify(totalsBody(each))]))
  }
}
