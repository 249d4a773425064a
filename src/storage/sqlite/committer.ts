/**
 * @module storage/sqlite/committer
 * Committer does group commit. Calls that arrive while a group is in the engine form the next one, so the slower the
 * disk, the more calls share an fsync; there is no timer, and a single caller never waits for others. A call settles
 * with its group, and calls that are made on receiving the result belong to the next group.
 *
 *   call ──▶ waiting (≤ 10,000 items, 64 MiB) ──▶ one group in the engine (≤ 2,000 items, 8 MiB) ──▶ results
 *               └ beyond: STORAGE_OVERLOADED            └ no result within 5 s: STORAGE_UNAVAILABLE, unknown
 *
 * It is no Batcher of the runtime: calls of different operations share a group, each has a deadline, and each succeeds
 * or fails on its own.
 */
import { FleetError } from '../../protocol/index.ts'
import type { StorageCall } from '../index.ts'
import { errorOf, storageError, type CallGroup, type CallResult, type CallRule } from './calls.ts'

const GROUP_ITEMS = 2_000
const GROUP_BYTES = 8 * 1_048_576
const WAITING_ITEMS = 10_000
const WAITING_BYTES = 64 * 1_048_576
/** Ticks of a second within which a call settles. */
const DEADLINE_TICKS = 5

interface PendingCall {
  readonly call: StorageCall
  readonly kind: CallRule['kind']
  readonly items: number
  readonly bytes: number
  /** When the call is given up, in ticks. */
  readonly deadline: number
  resolve(value: unknown): void
  reject(error: unknown): void
}

export interface CommitterOptions {
  readonly nowMs: () => number
  readonly run: (group: CallGroup) => Promise<readonly CallResult[]>
  /** Called after every group with the failure of the disk or file, or null. */
  readonly onOutcome: (failure: FleetError | null, kind: CallRule['kind']) => void
}

export class Committer {
  readonly #options: CommitterOptions
  #waiting: PendingCall[] = []
  #waitingItems = 0
  #waitingBytes = 0
  #running: readonly PendingCall[] = []
  #busy = false
  #scheduled = false
  #ticks = 0
  #idle: (() => void)[] = []

  constructor(options: CommitterOptions) {
    this.#options = options
  }

  get busy(): boolean {
    return this.#busy || this.#waiting.length > 0
  }

  call(call: StorageCall, kind: CallRule['kind']): Promise<unknown> {
    const { items, bytes } = sizeOf(call.args)
    const isTooMuch = this.#waitingItems + items > WAITING_ITEMS || this.#waitingBytes + bytes > WAITING_BYTES
    if (this.#waiting.length > 0 && isTooMuch) {
      return Promise.reject(
        storageError('STORAGE_OVERLOADED', 'too many calls wait for the store; retry in a moment', 'not_sent'),
      )
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, kind, items, bytes, deadline: this.#ticks + DEADLINE_TICKS, resolve, reject })
      this.#waitingItems += items
      this.#waitingBytes += bytes
      this.#schedule()
    })
  }

  /** Once a second: gives up what has waited too long. */
  tick(): void {
    this.#ticks += 1
    for (const each of this.#running) {
      if (each.deadline < this.#ticks)
        each.reject(
          storageError(
            'STORAGE_UNAVAILABLE',
            'the store did not respond within 5 s; whether the change was made is unknown',
            'unknown',
          ),
        )
    }
    if ((this.#waiting[0]?.deadline ?? Infinity) >= this.#ticks) return
    const late = this.#waiting.filter(({ deadline }) => deadline < this.#ticks)
    this.#take(late.length)
    for (const each of late)
      each.reject(storageError('STORAGE_UNAVAILABLE', 'the store was busy for 5 s; nothing was changed', 'not_sent'))
  }

  /** Resolves once everything that was accepted is settled. */
  drained(): Promise<void> {
    if (!this.busy) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  /** At the end of the turn, so that its calls share a group. */
  #schedule(): void {
    if (this.#scheduled || this.#busy) return
    this.#scheduled = true
    process.nextTick(() => {
      this.#scheduled = false
      void this.#pump()
    })
  }

  async #pump(): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    while (this.#waiting.length > 0) {
      this.#running = this.#take(this.#groupLength())
      await this.#commit(this.#running)
      await new Promise((resolve) => process.nextTick(resolve)) // Until callers have received their results.
    }
    this.#running = []
    this.#busy = false
    for (const each of this.#idle.splice(0)) each()
  }

  async #commit(members: readonly PendingCall[]): Promise<void> {
    const kind = kindOf(members)
    try {
      const results = await this.#options.run({
        nowMs: this.#options.nowMs(),
        kind,
        calls: members.map(({ call }) => call),
      })
      this.#options.onOutcome(failureOf(results), kind)
      for (const [i, each] of members.entries()) settle(each, results[i])
    } catch (error) {
      this.#options.onOutcome(error instanceof FleetError ? error : null, kind)
      for (const each of members) each.reject(error)
    }
  }

  /** How many of those that wait make up the next group: one at least. */
  #groupLength(): number {
    let [items, bytes, length] = [0, 0, 0]
    for (const each of this.#waiting) {
      items += each.items
      bytes += each.bytes
      if (length > 0 && (items > GROUP_ITEMS || bytes > GROUP_BYTES)) break
      length += 1
    }
    return length
  }

  #take(count: number): readonly PendingCall[] {
    const taken = this.#waiting.splice(0, count)
    for (const { items, bytes } of taken) {
      this.#waitingItems -= items
      this.#waitingBytes -= bytes
    }
    return taken
  }
}

function kindOf(members: readonly PendingCall[]): CallRule['kind'] {
  if (members.some(({ kind }) => kind === 'write')) return 'write'
  return members.some(({ kind }) => kind === 'relaxed') ? 'relaxed' : 'read'
}

function settle(pending: PendingCall, result: CallResult | undefined): void {
  if (result === undefined) pending.reject(storageError('STORAGE_UNAVAILABLE', 'the store is closing', 'not_sent'))
  else if (result.kind === 'threw') pending.reject(errorOf(result.error))
  else pending.resolve(result.value)
}

/** Only a failure of the medium meets every call of a group. */
function failureOf(results: readonly CallResult[]): FleetError | null {
  const codes = ['STORAGE_UNAVAILABLE', 'STORAGE_CORRUPT', 'STORAGE_LOCKED', 'STORAGE_SCHEMA']
  const first = results[0]
  if (first?.kind !== 'threw' || !codes.includes(first.error.code ?? '')) return null
  const error = errorOf(first.error)
  return error instanceof FleetError ? error : null
}

/** What a call weighs: the items of its longest list, and the length of all its texts. */
function sizeOf(args: readonly unknown[]): { items: number; bytes: number } {
  const items = args.reduce<number>((most, each) => (Array.isArray(each) ? Math.max(most, each.length) : most), 1)
  return { items, bytes: textOf(args) }
}

function textOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let length = 0
  if (Array.isArray(value)) for (const each of value) length += textOf(each)
  else {
    const fields = value as Readonly<Record<string, unknown>>
    for (const name in fields) length += textOf(fields[name])
  }
  return length
}
