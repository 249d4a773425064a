/**
 * Checks pauses of queues.
 *
 *   I22  while a queue is paused, no task is leased or dropped; a pause and its end are executed before they are
 *        acknowledged                                                                                      (D106)
 */
import type { Pause, ReserveResult, StorageCall } from '../../../src/storage/index.ts'
import type { Exchange } from '../pool.ts'
import type { CheckDeps, CreateCheck, InvariantCheck } from './invariant.ts'

const PAUSE_PATH = /\/automations\/([^/]+)\/queue\/pause$/

class PauseCheck implements InvariantCheck {
  readonly #deps: CheckDeps
  /** When the pause of a type ends by time, or Infinity. */
  readonly #endsAtMs = new Map<string, number>()
  /** Calls that were executed and not acknowledged yet, by type and method. */
  readonly #executed = new Map<string, number>()

  constructor(deps: CheckDeps) {
    this.#deps = deps
  }

  executed({ group, method, args }: StorageCall, result: unknown, nowMs: number): void {
    if (group !== 'tasks') return
    const type = args[0] as string
    if (method === 'pause') {
      this.#endsAtMs.set(type, (result as Pause).untilMs ?? Infinity)
      this.#add(`${type} PUT`, 1)
    }
    if (method === 'resume') {
      this.#endsAtMs.delete(type)
      this.#add(`${type} DELETE`, 1)
    }
    if (method === 'reserve') this.#reserved(type, result as ReserveResult, nowMs)
  }

  storeLost(): void {
    this.#endsAtMs.clear()
  }

  received({ method, path, status }: Exchange): void {
    const [, type] = PAUSE_PATH.exec(path) ?? []
    if (type === undefined || status !== 200) return
    if (this.#add(`${type} ${method}`, -1) < 0)
      this.#deps.fail('I22', `${method} of the pause of ${type} was acknowledged, but the store has not executed it`)
  }

  #reserved(type: string, { results, dropped }: ReserveResult, nowMs: number): void {
    if (nowMs >= (this.#endsAtMs.get(type) ?? 0)) return
    const leased = results.flatMap((one) => (one.kind === 'leased' ? one.leases : []))
    if (leased.length + dropped > 0)
      this.#deps.fail('I22', `${leased.length} tasks of ${type} were leased and ${dropped} dropped during its pause`)
    else this.#deps.count('reserve during a pause')
  }

  #add(call: string, change: number): number {
    const executed = (this.#executed.get(call) ?? 0) + change
    this.#executed.set(call, executed)
    return executed
  }
}

export const checkPauses: CreateCheck = (deps) => new PauseCheck(deps)
