/** A minimal model of revisions. The labels of the workers say which of them are in use. */
import type { NewRevision, RevisionPutResult, RevisionRow, TallyIncrement } from '../../../src/storage/index.ts'

const KEPT = 32
const PLUGIN_COUNTERS = 64

interface Revision extends NewRevision {
  readonly type: string
  readonly createdAtMs: number
  firstUsedAtMs: number | null
  lastUsedAtMs: number | null
  tally: Record<string, number>
}

export class RevisionsModel {
  readonly #time: { readonly now: number }
  readonly #workersOf: (type: string, name: string) => number
  readonly #isEnrolled: (type: string, name: string) => boolean
  /** Oldest first. */
  #all: Revision[] = []

  /**
   * @param workersOf The number of workers whose label names a revision.
   * @param isEnrolled Whether an enrolment rule names it.
   */
  constructor(
    time: { readonly now: number },
    workersOf: (type: string, name: string) => number,
    isEnrolled: (type: string, name: string) => boolean,
  ) {
    this.#time = time
    this.#workersOf = workersOf
    this.#isEnrolled = isEnrolled
  }

  find(type: string, name: string): Revision | undefined {
    return this.#of(type).find((revision) => revision.name === name)
  }

  put(type: string, revision: NewRevision): RevisionPutResult {
    if (this.find(type, revision.name) !== undefined) return 'exists'
    const created = {
      type,
      createdAtMs: this.#time.now,
      firstUsedAtMs: null,
      lastUsedAtMs: null,
      tally: {},
      ...revision,
    }
    this.#all.push(created)
    const newest = new Set(this.#of(type).slice(-KEPT))
    this.#all = this.#all.filter(
      (each) =>
        each.type !== type ||
        newest.has(each) ||
        this.#workersOf(type, each.name) > 0 ||
        this.#isEnrolled(type, each.name),
    )
    return 'stored'
  }

  use(type: string, name: string): void {
    const used = this.find(type, name)
    if (used === undefined) return
    used.firstUsedAtMs ??= this.#time.now
    used.lastUsedAtMs = this.#time.now
  }

  list(type: string): RevisionRow[] {
    return this.#of(type)
      .toReversed()
      .map(({ type: _type, config: _config, ...row }) => ({ ...row, workers: this.#workersOf(type, row.name) }))
  }

  addTallies(type: string, increments: readonly TallyIncrement[]): void {
    for (const { revision, counters } of increments) {
      const tally = this.find(type, revision)?.tally
      if (tally === undefined) continue
      for (const [name, by] of Object.entries(counters)) {
        const others = Object.keys(tally).filter((each) => each.startsWith('counter.') && each !== name).length
        if (name.startsWith('counter.') && tally[name] === undefined && others >= PLUGIN_COUNTERS) continue
        tally[name] = Math.min((tally[name] ?? 0) + by, Number.MAX_SAFE_INTEGER)
      }
    }
  }

  #of(type: string): Revision[] {
    return this.#all.filter((each) => each.type === type)
  }
}
