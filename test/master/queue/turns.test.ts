/** Tests the line of waiting polls alone: turns, groups, limits, and how a poll ends. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import {
  MAX_WAITERS,
  Waiters,
  type RefusedReserve,
  type ReserveOptions,
  type Waiter,
} from '../../../src/master/queue/waiters.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import type { Lease } from '../../../src/storage/index.ts'

let time: VirtualTime
let capacity: { taken: number }
let refused: RefusedReserve[]
let late: Waiter[]
let ended: string[]
let waiters: Waiters
let serial: number

beforeEach(() => {
  time = new VirtualTime()
  capacity = { taken: 0 }
  refused = []
  late = []
  ended = []
  serial = 0
  waiters = new Waiters({ capacity, timers: time, clock: time, onRefused: (reason) => void refused.push(reason) })
})

const lease = (id: string): Lease => ({ id }) as unknown as Lease
const leases = (...ids: string[]): Lease[] => ids.map(lease)

/** A poll that writes its name and what it got to `ended`. */
function poll(worker: string, more: Partial<ReserveOptions> = {}): { readonly leave: () => void } {
  serial += 1
  const name = `${worker}${serial}`
  const client = new AbortController()
  void waiters
    .wait({ worker, limit: 1, waitMs: 30_000, signal: client.signal, ...more }, (waiter) => void late.push(waiter))
    .then(
      (got) => void ended.push(`${name}: ${got.map(({ id }) => id).join(' ')}`),
      (error: unknown) => void ended.push(`${name}: ${String(error)}`),
    )
  return { leave: () => client.abort() }
}
const settle = (): Promise<void> => time.advance(0)
/** The number of polls of each worker that the next request carries. */
const next = (ready: number, most = 100): string[] =>
  waiters.next(ready, most).map(({ worker, waiters: carried }) => `${worker}${carried.length}`)

describe('the line of polls', () => {
  it('carries each new poll once, and later only those whose turn it is', () => {
    for (const worker of ['a', 'b', 'a']) poll(worker)
    expect(next(0)).toEqual(['a2', 'b1'])
    expect(next(0)).toEqual([])
    expect(next(1)).toEqual(['a1'])
    expect(next(2)).toEqual(['a1', 'b1'])
    expect(next(3)).toEqual(['a2', 'b1'])
    expect(next(99)).toEqual(['a2', 'b1'])
    poll('c')
    expect(next(1)).toEqual(['a1', 'c1'])
    expect(next(1)).toEqual(['a1'])
  })

  it('requests for at most a number of workers, and for the others the next time', () => {
    for (const worker of ['a', 'b', 'c']) poll(worker)
    expect(next(0, 2)).toEqual(['a1', 'b1'])
    expect(next(0, 2)).toEqual(['c1'])
    for (const worker of ['a', 'd']) poll(worker)
    expect(next(2, 1)).toEqual(['a1'])
    expect(next(0, 1)).toEqual(['d1'])
  })

  it('carries the newest polls of a worker, as many as it has turns', () => {
    for (let i = 0; i < 3; i += 1) poll('a', { limit: i + 1 })
    next(0)
    expect(waiters.next(2, 9).map((group) => group.waiters.map(({ limit }) => limit))).toEqual([[2, 3]])
  })

  it('counts the turns of a worker that the request already carries, also when no other worker may join', () => {
    for (const worker of ['a', 'b', 'a', 'a']) poll(worker)
    next(0)
    expect(next(1, 1)).toEqual(['a1'])
    expect(next(4, 1)).toEqual(['a1'])
    expect(next(4, 2)).toEqual(['a3', 'b1'])
  })

  it('removes the own turn of a poll that a failed call ends, not the oldest of its worker', async () => {
    for (const worker of ['a', 'b', 'a']) poll(worker)
    const [group] = waiters.next(0, 9)
    group?.waiters.at(-1)?.reject('the store is unavailable')
    expect(next(1)).toEqual(['a1'])
    await settle()
    expect(ended).toEqual(['a3: the store is unavailable'])
  })

  it('carries a poll again when it asks for it, unless it has ended', async () => {
    poll('a')
    const [group] = waiters.next(0, 9)
    for (const waiter of group?.waiters ?? []) waiters.requeue(waiter)
    expect(next(0)).toEqual(['a1'])
    waiters.dismiss()
    for (const waiter of group?.waiters ?? []) waiters.requeue(waiter)
    poll('a')
    expect(next(0)).toEqual(['a1'])
    await settle()
    expect(ended).toEqual(['a1: '])
  })

  it('delivers to the newest poll first, up to its limit, and returns what is left', async () => {
    poll('a')
    poll('a', { limit: 2 })
    expect(waiters.deliver('a', leases('x', 'y', 'z', 'rest'))).toEqual(leases('rest'))
    await settle()
    expect(ended).toEqual(['a2: x y', 'a1: z'])
    poll('b')
    expect(waiters.deliver('a', leases('x'))).toEqual(leases('x'))
    expect(waiters.deliver('b', [])).toEqual([])
    await settle()
    expect([ended.length, waiters.size]).toEqual([2, 1])
  })

  it('delivers first to polls that were passed over, oldest first, until the queue was seen empty', async () => {
    for (let i = 0; i < 3; i += 1) poll('a')
    const passOver = (): void => {
      for (const { waiters: carried } of waiters.next(0, 9)) for (const waiter of carried) waiters.passOver(waiter)
    }
    passOver()
    for (let i = 0; i < 2; i += 1) poll('a')
    expect(next(0)).toEqual(['a5'])
    waiters.deliver('a', leases('x', 'y'))
    await settle()
    expect(ended).toEqual(['a1: x', 'a2: y'])
    waiters.sawEmpty()
    waiters.deliver('a', leases('z'))
    await settle()
    expect(ended.slice(2)).toEqual(['a5: z'])
    poll('a')
    passOver()
    poll('a')
    waiters.deliver('a', leases('u', 'v', 'w'))
    await settle()
    expect(ended.slice(3)).toEqual(['a6: u', 'a7: v', 'a4: w'])
  })

  it('names the polls of a worker that a request carried, and not those that came or were requeued since', () => {
    expect(waiters.requestedOf('a')).toEqual([])
    poll('a', { limit: 1 })
    poll('b', { limit: 2 })
    expect(waiters.requestedOf('a')).toEqual([])
    const [group] = waiters.next(0, 9)
    next(0)
    poll('a', { limit: 3 })
    expect(waiters.requestedOf('a').map(({ limit }) => limit)).toEqual([1])
    for (const waiter of group?.waiters ?? []) waiters.requeue(waiter)
    expect(waiters.requestedOf('a')).toEqual([])
  })

  it('uses the oldest turn of a worker for a lease, and the own turn of a poll that ends without one', async () => {
    const polls = ['a', 'b', 'a', 'c'].map((worker) => poll(worker)) // Turns a b a c.
    next(0)
    waiters.deliver('a', leases('x')) // The newest poll of a takes its oldest turn: b a c.
    expect(next(1)).toEqual(['b1'])
    polls[1]?.leave()
    expect(next(1)).toEqual(['a1'])
    poll('a') // Turns a c a.
    next(0)
    polls[0]?.leave() // The poll that left takes its own turn: c a.
    expect(next(1)).toEqual(['c1'])
    await settle()
    expect(ended).toEqual(['a3: x', 'b2: ', 'a1: '])
    expect([waiters.size, capacity.taken]).toEqual([2, 2])
  })

  it('ends the polls of one worker empty, or of all', async () => {
    for (const worker of ['a', 'b', 'a']) poll(worker)
    waiters.dismiss('unknown')
    waiters.dismiss('a')
    await settle()
    expect(ended).toEqual(['a1: ', 'a3: '])
    waiters.dismiss()
    await settle()
    expect([ended.length, waiters.size, capacity.taken]).toEqual([3, 0, 0])
  })

  it('reports the end of its time once, and not for a poll that has ended or does not wait', async () => {
    poll('a', { waitMs: 1_000 })
    poll('b', { waitMs: 1_000 })
    poll('c', { waitMs: 0 })
    expect(waiters.next(3, 9).flatMap((group) => group.waiters.map(({ isPatient }) => isPatient))).toEqual([
      true,
      true,
      false,
    ])
    waiters.deliver('b', leases('x'))
    await time.advance(999)
    expect(late).toEqual([])
    await time.advance(60_000)
    expect(late.map(({ worker, isOpen }) => [worker, isOpen])).toEqual([['a', true]])
    late[0]?.resolve([])
    late[0]?.resolve(leases('again'))
    late[0]?.reject(new Error('again'))
    await settle()
    expect([ended, capacity.taken]).toEqual([['b2: x', 'a1: '], 1])
  })

  it('fails a poll with the error of its request', async () => {
    poll('a')
    for (const { waiters: carried } of waiters.next(1, 9)) for (const waiter of carried) waiter.reject(new Error('no'))
    await settle()
    expect([ended, waiters.size]).toEqual([['a1: Error: no'], 0])
  })

  it('is not joined by a client that has left, and left without a trace', async () => {
    poll('a', { signal: AbortSignal.abort() })
    expect([waiters.size, capacity.taken]).toEqual([0, 0])
    const listeners: string[] = []
    const client = new AbortController()
    client.signal.removeEventListener = (type: string) => void listeners.push(type)
    poll('b', { signal: client.signal })
    waiters.deliver('b', leases('x'))
    await settle()
    expect([ended, listeners]).toEqual([['a1: ', 'b2: x'], ['abort']])
  })

  it('has a place for 20,000 polls on all types together (G17)', async () => {
    capacity.taken = MAX_WAITERS - 1
    poll('a', { pollId: 'one' })
    poll('b')
    poll('a', { pollId: 'one' })
    await settle()
    expect(ended).toEqual(['b2: FleetError: too many reserves are waiting on this master; try again', 'a1: '])
    expect([refused, capacity.taken]).toEqual([['in_all'], MAX_WAITERS])
    await expect(
      waiters.wait({ worker: 'b', limit: 1, waitMs: 0, signal: new AbortController().signal }, () => undefined),
    ).rejects.toMatchObject({ code: 'OVERLOADED', retryAfterSeconds: 1 })
  })

  it('has 64 places for each worker: the oldest poll ends for a new one, but not in its first 5 s (G17)', async () => {
    for (let i = 0; i < 64; i += 1) poll('a')
    await time.advance(4_999)
    poll('a')
    poll('b')
    await settle()
    const sentence = 'worker "a" already has 64 waiting reserves; reserve more tasks per call, or try again'
    expect([ended, refused]).toEqual([[`a65: FleetError: ${sentence}`], ['per_worker']])
    await time.advance(1)
    poll('a')
    await settle()
    expect([ended.slice(1), refused.slice(1), waiters.size]).toEqual([['a1: '], ['displaced'], 65])
  })

  it('holds one poll of each name of a worker', async () => {
    poll('a', { pollId: 'one' })
    poll('a', { pollId: 'two' })
    poll('a')
    poll('b', { pollId: 'one' })
    poll('a', { pollId: 'one' })
    poll('a')
    await settle()
    expect([ended, waiters.size]).toEqual([['a1: '], 5])
  })
})
