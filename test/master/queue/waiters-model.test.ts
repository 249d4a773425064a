/**
 * The line of waiting polls against a model of its rule (D78, D102), with ghosts: polls whose connection is dead, so
 * that they look alive and lose what they get. The model is a few arrays, and decides who is requested, served, passed
 * over, replaced and refused.
 */
import fc from 'fast-check'
import { describe, expect, it } from '@jest/globals'
import { Waiters } from '../../../src/master/queue/waiters.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import type { Lease } from '../../../src/storage/index.ts'

const MOST_PER_WORKER = 64
const REPLACEABLE_AFTER_MS = 5_000

interface PollStep {
  readonly worker: string
  readonly limit: number
  readonly pollId: string | undefined
}
type Step =
  | { readonly do: 'poll'; readonly poll: PollStep; readonly times: number }
  | { readonly do: 'leave' | 'loseConnection'; readonly which: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'call'; readonly ready: number; readonly tasks: number; readonly meanwhile: readonly PollStep[] }

/** One poll of the model, and what the real one returned. */
interface Poll extends PollStep {
  readonly name: string
  readonly atMs: number
  readonly leave: () => void
  isGhost: boolean
  isNew: boolean
  /** Whether it got nothing from a call that left tasks, since the queue was last seen empty. */
  isPassedOver: boolean
  expected: string | null
  seen: string | null
}

const lease = (id: string): Lease => ({ id }) as unknown as Lease

class Run {
  readonly #time = new VirtualTime()
  readonly #waiters = new Waiters({
    capacity: { taken: 0 },
    timers: this.#time,
    clock: this.#time,
    onRefused: () => {},
  })
  readonly polls: Poll[] = []
  /** The workers of the open turns, oldest first. */
  readonly #turns: string[] = []
  /** The polls that the next call carries in any case, in the order in which they came to need it. */
  #fresh: Poll[] = []
  #tasks = 0
  ghostsServed = 0

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'poll':
        for (let i = 0; i < step.times; i += 1) this.#poll(step.poll)
        break
      case 'leave': {
        const poll = this.#open()[step.which]
        poll?.leave()
        if (poll !== undefined) this.#end(poll, '')
        break
      }
      case 'loseConnection': {
        const poll = this.#open()[step.which]
        if (poll !== undefined) poll.isGhost = true
        break
      }
      case 'pass':
        await this.#time.advance(step.ms)
        break
      case 'call':
        this.#call(step.ready, step.tasks, step.meanwhile)
    }
    await this.#time.advance(0)
    expect(this.polls.map(({ name, seen }) => [name, seen])).toEqual(
      this.polls.map(({ name, expected }) => [name, expected]),
    )
    expect(this.#waiters.size).toBe(this.#open().length)
  }

  #open(worker?: string): Poll[] {
    return this.polls.filter((poll) => poll.expected === null && (worker === undefined || poll.worker === worker))
  }

  #poll(step: PollStep): void {
    const client = new AbortController()
    const poll: Poll = {
      ...step,
      name: `${step.worker}${this.polls.length}`,
      atMs: this.#time.monotonicMs(),
      leave: () => client.abort(),
      isGhost: false,
      isNew: true,
      isPassedOver: false,
      expected: null,
      seen: null,
    }
    this.#expectPoll(poll)
    this.polls.push(poll)
    void this.#waiters
      .wait({ ...step, waitMs: 1e9, signal: client.signal }, () => {})
      .then(
        (leases) => void (poll.seen = leases.map(({ id }) => id).join(' ')),
        () => void (poll.seen = 'refused'),
      )
  }

  #expectPoll(poll: Poll): void {
    const own = this.#open(poll.worker)
    const same = own.find(({ pollId }) => pollId !== undefined && pollId === poll.pollId)
    if (same !== undefined) this.#end(same, '')
    const [oldest] = own
    if (same === undefined && oldest !== undefined && own.length === MOST_PER_WORKER) {
      if (poll.atMs - oldest.atMs < REPLACEABLE_AFTER_MS) {
        poll.expected = 'refused'
        return
      }
      this.#end(oldest, '')
    }
    this.#turns.push(poll.worker)
    this.#fresh.push(poll)
  }

  /** A poll that was served uses the oldest turn of its worker, any other its own one. */
  #end(poll: Poll, outcome: string): void {
    const rank = outcome === '' ? this.#open(poll.worker).indexOf(poll) : 0
    const own = this.#turns.flatMap((worker, at) => (worker === poll.worker ? [at] : []))
    this.#turns.splice(own[rank] ?? -1, 1)
    this.#fresh = this.#fresh.filter((each) => each !== poll)
    poll.expected = outcome
  }

  #call(ready: number, tasks: number, meanwhile: readonly PollStep[]): void {
    const expected = this.#expectNext(ready)
    const groups = this.#waiters.next(ready, 100)
    expect(groups.map(({ worker, waiters }) => [worker, waiters.length])).toEqual(
      expected.map(([worker, carried]) => [worker, carried.length]),
    )
    for (const step of meanwhile) this.#poll(step)
    let left = tasks
    let isEmpty = false
    const granted = expected.map(([, carried]) => {
      const limit = carried.reduce((sum, poll) => sum + poll.limit, 0)
      const count = Math.min(limit, left)
      isEmpty ||= count < limit
      left -= count
      return Array.from({ length: count }, () => `t${(this.#tasks += 1)}`)
    })
    for (const [at, [worker]] of expected.entries()) {
      const ids = granted[at] ?? []
      const undelivered = this.#waiters.deliver(worker, ids.map(lease))
      expect(undelivered.map(({ id }) => id)).toEqual(this.#expectDelivery(worker, ids))
    }
    if (isEmpty) {
      this.#waiters.sawEmpty()
      for (const poll of this.polls) poll.isPassedOver = false
      return
    }
    for (const { waiters } of groups) for (const waiter of waiters) this.#waiters.passOver(waiter)
    for (const [, carried] of expected) {
      for (const poll of carried) {
        if (poll.expected !== null) continue
        poll.isPassedOver = true
        this.#fresh.push(poll)
      }
    }
  }

  #expectNext(ready: number): (readonly [string, readonly Poll[]])[] {
    const counts = new Map<string, number>()
    for (const worker of this.#turns.slice(0, ready)) counts.set(worker, (counts.get(worker) ?? 0) + 1)
    for (const { worker } of this.#fresh) counts.set(worker, counts.get(worker) ?? 0)
    return Array.from(counts, ([worker, count]) => {
      const own = this.#open(worker)
      const newest = count === 0 ? [] : own.slice(-count)
      const carried = own.filter((poll) => newest.includes(poll) || this.#fresh.includes(poll))
      this.#fresh = this.#fresh.filter((poll) => poll.worker !== worker)
      return [worker, carried] as const
    })
  }

  /** @returns the leases that no poll takes. */
  #expectDelivery(worker: string, ids: readonly string[]): readonly string[] {
    const rest = [...ids]
    const own = this.#open(worker)
    const line = [...own.filter((poll) => poll.isPassedOver), ...own.toReversed().filter((poll) => !poll.isPassedOver)]
    for (const poll of line) {
      if (rest.length === 0) break
      if (poll.isGhost) this.ghostsServed += 1
      this.#end(poll, rest.splice(0, poll.limit).join(' '))
    }
    return rest
  }
}

const anyPoll: fc.Arbitrary<PollStep> = fc.record({
  worker: fc.constantFrom('a', 'b', 'c'),
  limit: fc.integer({ min: 1, max: 5 }),
  pollId: fc.constantFrom(undefined, undefined, 'one', 'two'),
})
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('poll' as const), poll: anyPoll, times: fc.constantFrom(1, 1, 3, 40) }),
  },
  fc.record({
    do: fc.constantFrom('leave' as const, 'loseConnection' as const),
    which: fc.integer({ min: 0, max: 9 }),
  }),
  fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1, 2_500, 5_000) }),
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('call' as const),
      ready: fc.constantFrom(0, 1, 2, 10, Infinity),
      tasks: fc.integer({ min: 0, max: 12 }),
      meanwhile: fc.array(anyPoll, { maxLength: 3 }),
    }),
  },
)

describe('the line of polls and its model', () => {
  it('agree on every poll, in any order of polls, ghosts, disconnects and calls of the store (G31)', async () => {
    let ghostsServed = 0
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 40, size: 'max' }), async (steps) => {
        const run = new Run()
        for (const step of steps) await run.take(step)
        ghostsServed += run.ghostsServed
      }),
      { numRuns: 300, interruptAfterTimeLimit: 15_000 },
    )
    expect(ghostsServed).toBeGreaterThan(0)
  }, 30_000)
})
