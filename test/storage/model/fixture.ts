/**
 * State of a model run: the model, the backend, and a record of everything the backend generated, so that commands can
 * use live, ended and unissued leases.
 */
import { isDeepStrictEqual } from 'node:util'
import { expect } from '@jest/globals'
import fc from 'fast-check'
import type { Backend, LeaseRef } from '../../../src/storage/index.ts'
import type { ManualClock } from '../contract/fixture.ts'
import { GroupStarts } from './group-starts.ts'
import { StoreModel } from './store-model.ts'
import type { Time } from './tasks-model.ts'

export interface Real {
  readonly backend: Backend
  readonly clock: ManualClock
  /** Runs the backend's idle work. */
  readonly idle: () => Promise<void>
}

/** Few names, so that commands often use the same one. Half of them are hostile. */
export const TYPES = ['render', `{q}*?['"\\`] as const
export const IDS = ['a', 'b', 'c', '__proto__', 'constructor', '{d}', '*', '🦊'] as const
export const KEYS = ['k', '__proto__', `'"`] as const
export const WORKERS = ['w1', '\uffff', '🦊', '__proto__'] as const
export const REVISIONS = ['r1', '__proto__', `{'"\\`] as const
export const OPERATIONS = ['a', '__proto__', `{'"\\:/`] as const
export const MASTERS = ['m1', 'm2'] as const

/** Which lease a command uses: a live one, a past one, one with the token of another, or one never issued. */
export interface Pick {
  readonly how: 'live' | 'past' | 'foreign' | 'unissued'
  readonly i: number
  readonly j: number
}
export const pick: fc.Arbitrary<Pick> = fc.record({
  how: fc.constantFrom('live', 'live', 'live', 'past', 'foreign', 'unissued'),
  i: fc.nat(50),
  j: fc.nat(50),
})

export class ModelFixture {
  readonly time: Time
  store: StoreModel
  epoch: string
  /** Bodies of acknowledged tasks. */
  readonly settled = new Set<string>()
  /** Generated task ids, the newest last. */
  readonly drawnIds: string[] = []
  /** The ids that each stream showed, in order. */
  /** All versions of enrolment rules so far. */
  readonly versions = new Set<string>()
  readonly #seenIds = new Map<string, string[]>()
  readonly #highest = new Map<string, number>()
  readonly #handed = new Map<string, LeaseRef[]>()
  readonly #groupStarts = new Map<string, GroupStarts>()
  readonly #ackedBefore: Map<string, Set<number>>[] = []
  #serial = 0

  constructor(epoch: string, now: number) {
    this.epoch = epoch
    this.time = { now }
    this.store = new StoreModel(this.time)
  }

  serial(): number {
    return (this.#serial += 1)
  }

  /** Records leases and checks that their tokens grow. */
  handOut(fence: string, leases: readonly LeaseRef[]): number[] {
    for (const { id, token } of leases) {
      expect(token).toBeGreaterThan(this.#highest.get(fence) ?? 0)
      expect(Number.isSafeInteger(token)).toBe(true)
      this.#highest.set(fence, token)
      this.handed(fence).push({ id, token })
    }
    return leases.map(({ token }) => token)
  }

  seenIds(type: string): string[] {
    const seen = this.#seenIds.get(type) ?? []
    this.#seenIds.set(type, seen)
    return seen
  }

  groupStarts(type: string): GroupStarts {
    const starts = this.#groupStarts.get(type) ?? new GroupStarts()
    this.#groupStarts.set(type, starts)
    return starts
  }

  handed(fence: string): LeaseRef[] {
    const handed = this.#handed.get(fence) ?? []
    this.#handed.set(fence, handed)
    return handed
  }

  leaseOf(fence: string, live: readonly LeaseRef[], { how, i, j }: Pick): LeaseRef {
    const handed = this.handed(fence)
    const unissued = { id: 'a', token: (this.#highest.get(fence) ?? 0) + 1 + i }
    const { id, token } =
      (how === 'live' && live.length > 0 ? live : handed)[
        i % ((how === 'live' && live.length) || handed.length || 1)
      ] ?? unissued
    if (how === 'foreign') return { id, token: handed[j % (handed.length || 1)]?.token ?? 1 }
    return how === 'unissued' ? { ...unissued, id } : { id, token }
  }

  /**
   * Call after the backend was reopened. A durable backend keeps everything except the live masters. Acks are
   * remembered for three segments of tokens, and each start begins a new segment.
   */
  reopened(isDurable: boolean): void {
    if (!isDurable) {
      this.store = new StoreModel(this.time)
      this.versions.clear()
      this.#seenIds.clear()
      this.#groupStarts.clear()
      return
    }
    this.store.fleet.masters.clear()
    this.#ackedBefore.push(new Map(TYPES.map((type) => [type, new Set(this.store.tasks(type).acked.keys())])))
    const tooOld = this.#ackedBefore.length > 2 ? this.#ackedBefore.shift() : undefined
    for (const [type, tokens] of tooOld ?? []) {
      this.#handed.set(
        type,
        this.handed(type).filter(({ token }) => !tokens.has(token)),
      )
    }
  }
}

/** Deep equality. Jest is only used to print a difference, because it is slower. */
export function same(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected)) expect(actual).toEqual(expected)
}
