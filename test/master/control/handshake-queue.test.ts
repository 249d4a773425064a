/** The rules of the handshake queue on virtual time, without sockets. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { FIRST_BUDGET, MAX_BUDGET, MIN_BUDGET, TICK_MS } from '../../../src/master/control/admission-rate.ts'
import { HandshakeQueue } from '../../../src/master/control/handshake-queue.ts'
import { HANDSHAKE_WAIT_MS, MAX_UNREGISTERED, MAX_WAITING_HANDSHAKES } from '../../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../../src/runtime/index.ts'

/** One turn of the event loop for each timer: nothing here does input or output. */
const TURNS = 1

let time: VirtualTime
let queue: HandshakeQueue
let [delayMs, memoryShare, unregistered, drawn] = [0, 0, 0, 0]
let admitted: number[]
let refused: { id: number; detail: string; retryAfterSeconds: number }[]

beforeEach(() => {
  ;[delayMs, memoryShare, unregistered, drawn] = [0, 0, 0, 0]
  ;[admitted, refused] = [[], []]
  time = new VirtualTime(0, TURNS)
  queue = new HandshakeQueue({
    clock: time,
    timers: time,
    random: { ...seededRandom(1), unit: () => drawn },
    load: { takeLongestDelayMs: () => delayMs, memoryShare: () => memoryShare, stop: () => {} },
    unregistered: () => unregistered,
  })
})

const add = (id: number, arrivedAtMs = time.monotonicMs()): (() => void) | null =>
  queue.add(
    {
      admit: () => void admitted.push(id),
      refuse: (detail, retryAfterSeconds) => void refused.push({ id, detail, retryAfterSeconds }),
    },
    arrivedAtMs,
  )
const ids = (count: number, from = 0): number[] => Array.from({ length: count }, (_, at) => from + at)
const addAll = (count: number, from = 0): (() => void)[] => ids(count, from).flatMap((id) => add(id) ?? [])

/** How many each of the next ticks admits. */
async function perTick(count: number): Promise<number[]> {
  const counts: number[] = []
  for (let tick = 0; tick < count; tick += 1) {
    const before = admitted.length
    await time.advance(TICK_MS)
    counts.push(admitted.length - before)
  }
  return counts
}

describe('the queue of handshakes', () => {
  it('admits up to the budget immediately, and the others in order, with each tick', async () => {
    addAll(50)
    expect(admitted).toEqual(ids(FIRST_BUDGET))
    expect(queue.length).toBe(50 - FIRST_BUDGET)
    await perTick(2)
    expect(admitted).toEqual(ids(50))
    expect(refused).toEqual([])
  })

  it('lets a new handshake wait behind those that wait', async () => {
    unregistered = MAX_UNREGISTERED
    addAll(1)
    unregistered = 0
    add(1)
    expect(admitted).toEqual([])
    await perTick(1)
    expect(admitted).toEqual([0, 1])
  })

  it('admits a trickle below the budget without waiting', async () => {
    for (let at = 0; at < 10; at += 1) {
      expect(addAll(FIRST_BUDGET, at * FIRST_BUDGET)).toEqual([])
      await time.advance(TICK_MS)
    }
    expect(admitted).toHaveLength(10 * FIRST_BUDGET)
  })

  it('has no timer while nothing waits', async () => {
    addAll(FIRST_BUDGET + 1)
    await perTick(1)
    expect(await time.advanceToNext()).toBe(false)
  })

  it('forgets a handshake that leaves', async () => {
    addAll(FIRST_BUDGET)
    const [, second] = addAll(3, FIRST_BUDGET)
    second?.()
    expect(queue.length).toBe(2)
    await perTick(2)
    expect(admitted).toEqual(ids(FIRST_BUDGET + 3).filter((id) => id !== FIRST_BUDGET + 1))
    second?.() // Again: without effect.
    expect(queue.length).toBe(0)
  })

  it('refuses a handshake beyond 20,000 that wait (G17)', () => {
    addAll(FIRST_BUDGET + MAX_WAITING_HANDSHAKES)
    expect(refused).toEqual([])
    add(-1)
    expect(refused.map(({ id }) => id)).toEqual([-1])
    expect(queue.length).toBe(MAX_WAITING_HANDSHAKES)
  })

  it('refuses those that have waited 10 s, and no other', async () => {
    unregistered = MAX_UNREGISTERED
    addAll(2)
    await time.advance(5_000)
    addAll(1, 2)
    await time.advance(HANDSHAKE_WAIT_MS - 5_000 - 1)
    expect(refused).toEqual([])
    await time.advance(TICK_MS)
    expect(refused.map(({ id }) => id)).toEqual([0, 1])
    expect(queue.length).toBe(1)
  })

  it('counts the time that a handshake waited while the master started', async () => {
    await time.advance(9_000)
    unregistered = MAX_UNREGISTERED
    add(0, 0)
    add(1)
    await time.advance(1_000 + TICK_MS)
    expect(refused.map(({ id }) => id)).toEqual([0])
    expect(queue.length).toBe(1)
  })

  it('names the length of the queue over the rate in Retry-After, and up to 50 % more', () => {
    addAll(FIRST_BUDGET + MAX_WAITING_HANDSHAKES)
    add(-1)
    drawn = 0.999
    add(-2)
    // 20,000 waiting at 1,000 a second.
    expect(refused.map(({ retryAfterSeconds }) => retryAfterSeconds)).toEqual([20, 30])
  })

  it('names at least one second', async () => {
    unregistered = MAX_UNREGISTERED
    addAll(1)
    await time.advance(HANDSHAKE_WAIT_MS)
    expect(refused.map(({ retryAfterSeconds }) => retryAfterSeconds)).toEqual([1])
  })

  it('refuses all that wait when it closes', async () => {
    addAll(FIRST_BUDGET + 3)
    queue.close('the master is stopping')
    expect(refused.map(({ id, detail }) => [id, detail])).toEqual(
      ids(3, FIRST_BUDGET).map((id) => [id, 'the master is stopping']),
    )
    expect(queue.length).toBe(0)
    expect(await time.advanceToNext()).toBe(false)
  })
})

describe('the pace of handshakes', () => {
  it('admits none while 256 sockets have not registered (S15)', async () => {
    unregistered = MAX_UNREGISTERED
    addAll(1)
    expect(await perTick(3)).toEqual([0, 0, 0])
    unregistered = MAX_UNREGISTERED - 1
    expect(await perTick(1)).toEqual([1])
  })

  it('admits none above 85 % of the memory, also if nothing waits', async () => {
    memoryShare = 0.86
    addAll(1)
    expect(admitted).toEqual([])
    expect(queue.isMemoryShort).toBe(true)
    expect(await perTick(10)).toEqual(Array(10).fill(0))
    memoryShare = 0.85
    await time.advance(100) // Memory is measured every 100 ms.
    expect(admitted).toEqual([0])
  })

  it('grows by 10 % a tick while the event loop is in time, up to 200 (G13)', async () => {
    addAll(5_000)
    const counts = await perTick(40)
    expect(counts.slice(0, 4)).toEqual([22, 24, 26, 29])
    expect(Math.max(...counts)).toBe(MAX_BUDGET)
    expect(admitted).toEqual(ids(5_000))
  })

  it('stays while the delay is between 20 and 50 ms', async () => {
    addAll(5_000)
    delayMs = 35
    expect(await perTick(3)).toEqual([20, 20, 20])
  })

  it('halves above 50 ms, down to 2', async () => {
    addAll(5_000)
    delayMs = 51
    expect(await perTick(6)).toEqual([10, 5, 2, 2, 2, 2].map((each) => Math.max(MIN_BUDGET, each)))
    delayMs = 0
    expect((await perTick(8)).at(-1)).toBeGreaterThan(MIN_BUDGET)
  })

  it('grows only after 100 ms without delay', async () => {
    addAll(5_000)
    delayMs = 30
    await perTick(1)
    delayMs = 0
    expect(await perTick(5)).toEqual([20, 20, 20, 20, 22])
  })

  it('halves once for one pause', async () => {
    addAll(5_000)
    delayMs = 400
    await perTick(1)
    delayMs = 0
    expect(await perTick(1)).toEqual([11])
  })

  it('starts anew after a second without a waiting handshake', async () => {
    addAll(500)
    await perTick(20)
    expect(queue.length).toBe(0)
    expect(queue.perSecond).toBeGreaterThan(1_000)
    await time.advance(1_001)
    addAll(FIRST_BUDGET)
    expect(queue.perSecond).toBe(1_000)
  })
})
