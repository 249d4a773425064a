/**
 * Checks bounds.
 *
 *   I14  a queue is at most as long as its bound; the workers of a fleet reconnect spread over time  (G13, G17)
 */
import { RECONNECT_BASE_MS } from '../../../src/protocol/index.ts'
import type { NewTask, StorageCall } from '../../../src/storage/index.ts'
import type { CheckDeps, CreateCheck, InvariantCheck, LogLine } from './invariant.ts'

/** So many first delays of one run that are all equal are not drawn at random. */
const ENOUGH_DELAYS = 5

class BoundCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  /** Delays of workers before they dial again, whole milliseconds. */
  readonly #delays: number[] = []

  constructor(deps: CheckDeps) {
    this.#deps = deps
  }

  async executed({ group, method, args }: StorageCall, result: unknown): Promise<void> {
    if (group !== 'tasks' || method !== 'submit') return
    const [type, , tasks] = args as [string, number, readonly NewTask[]]
    const kinds = new Set((result as readonly { kind: string }[]).map(({ kind }) => kind))
    if (kinds.has('queue_full')) this.#deps.count('full queue refused a submit')
    if (!kinds.has('queued')) return
    const [counts] = await this.#deps.backend().tasks.counts([type])
    if (counts === undefined) return
    const { tiers, scheduled, inFlight, dead } = counts
    const length = tiers.reduce((sum, tier) => sum + tier, 0) + scheduled + inFlight + dead
    const { maxQueueLength } = this.#deps.plan.settings
    if (length > maxQueueLength)
      this.#deps.fail('I14', `${tasks.length} tasks made the queue ${length} long; its bound is ${maxQueueLength}`)
  }

  logged({ message, fields }: LogLine): void {
    if (message === 'control channel closed') this.#delays.push(Number(fields['retry_in_ms']))
  }

  finish(): void {
    const first = this.#delays.filter((ms) => ms <= RECONNECT_BASE_MS)
    if (first.length >= ENOUGH_DELAYS && new Set(first).size === 1)
      this.#deps.fail('I14', `workers dialled again after ${first[0]} ms, ${first.length} times without jitter`)
  }
}

export const checkBounds: CreateCheck = (deps) => new BoundCheck(deps)
