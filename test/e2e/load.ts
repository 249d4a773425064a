/** Submits tasks through several masters, and checks that none of them was lost. */
import { expect } from '@jest/globals'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../kit/index.ts'
import type { Fleet } from './fleet.ts'
import { allGone, isGone, lengthOf, type Masters, type Submitted } from './masters.ts'

const SLOW = '/automations/slow'
const SUBMITTERS_EACH = 2
/**
 * Pause between two submits of one submitter. A few hundred per second in total are enough, because the tests are about
 * faults.
 */
const PAUSE_MS = 10

/** Submits tasks with ids of its own through all masters until `end`. A submit without a response is not repeated. */
export class Load {
  /** Every id that was sent. */
  readonly sent: string[] = []
  /** Acknowledged ids, by the index of the master. */
  readonly acknowledged: string[][]
  /** When a task was first missing in the store, in ms of the clock that the workers' notes use. */
  readonly goneAtMs = new Map<string, number>()
  readonly #masters: Masters
  readonly #ended = new AbortController()
  readonly #all: Promise<void>[]

  constructor(masters: Masters) {
    this.#masters = masters
    this.acknowledged = masters.all.map(() => [])
    this.#all = masters.all.flatMap((fleet, at) =>
      Array.from({ length: SUBMITTERS_EACH }, (_, n) => this.#submit(fleet, at, n)),
    )
    this.#all.push(this.#watch())
  }

  get all(): readonly string[] {
    return this.acknowledged.flat()
  }

  /** Waits until each of these masters has acknowledged `more` further tasks. */
  async continues(places: readonly number[], more = 50): Promise<void> {
    const before = this.acknowledged.map(({ length }) => length)
    await eventually(
      'the masters accept tasks',
      async () => places.every((at) => (this.acknowledged[at]?.length ?? 0) >= (before[at] ?? 0) + more),
      { context: () => this.acknowledged.map(({ length }) => length).join(' ') },
    )
  }

  async end(): Promise<void> {
    this.#ended.abort()
    await Promise.all(this.#all)
  }

  async #submit(fleet: Fleet, at: number, submitter: number): Promise<void> {
    for (let n = 0; !this.#ended.signal.aborted; n += 1) {
      const id = `${at}-${submitter}-${n}`
      this.sent.push(id)
      const answer = await fleet
        .call<Submitted>('POST', `${SLOW}/tasks`, { task_id: id, payload: { ms: 1 } })
        .catch(() => null) // The master is unavailable.
      if (answer?.status === 200) {
        expect(answer.body).toEqual({ task_id: id, queued: true, priority: 0 })
        this.acknowledged[at]?.push(id)
      }
      await pause(PAUSE_MS)
    }
  }

  /** Checks the tasks in turn, so that a task whose lease has to expire first does not delay the others. */
  async #watch(): Promise<void> {
    const taken = this.acknowledged.map(() => 0)
    const watched: string[] = []
    for (let at = 0; !this.#ended.signal.aborted; at = (at + 1) % taken.length) {
      watched.push(...(this.acknowledged[at] ?? []).slice(taken[at]))
      taken[at] = this.acknowledged[at]?.length ?? 0
      const id = watched.shift() ?? ''
      if (id !== '' && (await isGone(this.#masters.at(at), id).catch(() => false))) this.goneAtMs.set(id, Date.now())
      else if (id !== '') watched.push(id)
      await pause(1)
    }
  }
}

/** Checks that every acknowledged task ran, that no unknown task ran, and that no finished task ran again. */
export async function expectNothingLost(masters: Masters, load: Load): Promise<void> {
  await allGone(masters.at(-1), load.all)
  expect(await lengthOf(masters.at(0), `${SLOW}/dead`)).toBe(0)
  const [starts, sent] = [masters.starts(), new Set(load.sent)]
  const begun = new Set(starts.map(({ id }) => id))
  expect(load.all.filter((id) => !begun.has(id))).toEqual([])
  expect([...begun].filter((id) => !sent.has(id))).toEqual([])
  expect(load.goneAtMs.size).toBeGreaterThan(50)
  expect(starts.filter(({ id, atMs }) => atMs > (load.goneAtMs.get(id) ?? Infinity))).toEqual([])
}
