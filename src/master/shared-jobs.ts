/**
 * @module master/shared-jobs
 * Distributes periodic jobs over the masters of a store, such as the sweep of one queue. Two masters do each job, so
 * that it continues while the heartbeat of a dead master has not expired. Both may do it at the same time.
 *
 * The two are chosen by rendezvous hashing: each master hashes the job with the id of every live master, and the two
 * highest hashes win. A master that joins or leaves moves only the jobs that it gets or had.
 */
import { createHash } from 'node:crypto'

const MASTERS_PER_JOB = 2

export class SharedJobs {
  readonly #masterId: string
  #others: readonly string[] = []
  /** The results of `isMine` with the current masters. */
  readonly #known = new Map<string, boolean>()

  constructor(masterId: string) {
    this.#masterId = masterId
  }

  /** @param alive The ids of all live masters. */
  update(alive: readonly string[]): void {
    const others = alive.filter((id) => id !== this.#masterId).toSorted()
    if (others.join() === this.#others.join()) return
    this.#others = others
    this.#known.clear()
  }

  /** Whether this master does the job. */
  isMine(job: string): boolean {
    if (this.#others.length < MASTERS_PER_JOB) return true
    const known = this.#known.get(job)
    if (known !== undefined) return known
    const own = weightOf(this.#masterId, job)
    const isMine = this.#others.filter((id) => weightOf(id, job) > own).length < MASTERS_PER_JOB
    this.#known.set(job, isMine)
    return isMine
  }
}

const weightOf = (masterId: string, job: string): string =>
  createHash('sha256').update(`${job}\n${masterId}`).digest('hex')
