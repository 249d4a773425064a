/**
 * Many reserves of one worker id in closed loops, as a process with threads sends them. While tasks are free, each of
 * them is served within a few calls of the store, and none returns empty (G31).
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import type { RpcError } from '../../../src/protocol/index.ts'
import type { Lease } from '../../../src/storage/index.ts'
import { task } from '../../storage/contract/fixture.ts'
import { settled, QueueFixture } from './fixture.ts'
import { Watched } from './watched.ts'

/** How long each call of the store takes. Lanes that were served reserve again meanwhile. */
const STORE_MS = 1

let fixture: QueueFixture
const store = new Watched()
async function open(workers = ['w', 'v']): Promise<void> {
  store.calls.length = 0
  store.gate = () => undefined
  fixture = await QueueFixture.open({ backend: store.wrap })
  await fixture.workers(workers)
}
afterEach(() => fixture.close())

function delayReserves(): void {
  store.gate = (name) => (name === 'tasks.reserve' ? fixture.time.sleep(STORE_MS) : undefined)
}
const reserves = (): number => store.named('tasks.reserve').length

async function fill(count: number, body?: string, ttlMs: number | null = null): Promise<void> {
  const { tasks } = fixture.deps.backend
  for (let from = 0; from < count; from += 500) {
    const ids = Array.from({ length: Math.min(500, count - from) }, (_, at) => `${ttlMs ?? 'task'}-${from + at}`)
    await tasks.submit(
      'mailer',
      1_000,
      ids.map((id) => task(id, { ttlMs, ...(body !== undefined && { body }) })),
    )
  }
}

interface PollOptions {
  readonly limit?: number
  readonly waitMs?: number
}
function reserve(worker: string, { limit = 1, waitMs = 30_000 }: PollOptions = {}): Promise<readonly Lease[]> {
  return fixture.queue.reserve('mailer', { worker, limit, waitMs, signal: new AbortController().signal })
}

/** How long a lane works: not all of them reserve again in the same moment. */
const workMs = (lane: number): number => (STORE_MS / 2) * (lane % 4)

/** What one lane saw: the tasks of each response, and the most calls of the store during one of its reserves. */
interface Lane {
  readonly counts: number[]
  mostCalls: number
}

/** Reserves and acks until `count` tasks are done, with `lanes` reserves under way. */
async function drain(worker: string, lanes: number, limit: number, count: number): Promise<readonly Lane[]> {
  const remaining = { tasks: count }
  const seen = Array.from({ length: lanes }, (): Lane => ({ counts: [], mostCalls: 0 }))
  const loops = seen.map(async (lane, at) => {
    while (remaining.tasks > 0) {
      const before = reserves()
      const leases = await reserve(worker, { limit })
      lane.mostCalls = Math.max(lane.mostCalls, reserves() - before)
      lane.counts.push(leases.length)
      remaining.tasks -= leases.length
      if (leases.length > 0) await fixture.queue.ack('mailer', leases)
      await fixture.time.sleep(workMs(at))
    }
  })
  void Promise.all(loops)
  for (let ms = 0; remaining.tasks > 0 && ms < 5_000; ms += 50) await fixture.time.advance(50)
  fixture.queue.close()
  await Promise.all(loops)
  return seen
}

describe('lanes of one worker while tasks are free', () => {
  it.each([
    [4, 1, 2],
    [8, 1, 2],
    [64, 1, 2],
    [8, 50, 2],
    [64, 50, 8],
  ])(
    '%d lanes that reserve %d tasks are each served within %d calls of the store (G31)',
    async (lanes, limit, calls) => {
      await open()
      const each = 10 * limit
      await fill(3 * each * lanes)
      delayReserves()
      const seen = await drain('w', lanes, limit, each * lanes)
      expect(Math.max(...seen.map(({ mostCalls }) => mostCalls))).toBeLessThanOrEqual(calls)
      expect(seen.flatMap(({ counts }) => counts.slice(0, -1)).filter((count) => count === 0)).toEqual([])
      const totals = seen.map(({ counts }) => counts.reduce((sum, count) => sum + count, 0))
      expect(Math.min(...totals)).toBeGreaterThanOrEqual(each / 2)
      expect(store.named('tasks.release')).toEqual([])
    },
  )
})

describe('a reserve without wait_ms', () => {
  it('gets a task although reserves of another worker use up the call of the store (G31)', async () => {
    await open()
    await fill(600)
    const [first, other] = await Promise.all([reserve('w', { limit: 500 }), reserve('v', { waitMs: 0 })])
    expect([first.length, other.length]).toEqual([500, 1])
  })

  it('gets a task although large tasks use up the call of the store (G31)', async () => {
    await open()
    await fill(20, JSON.stringify({ payload: { to: 'x'.repeat(1_000_000) }, priority: 0, submitted_at: 1 }))
    const [first, other] = await Promise.all([reserve('w', { limit: 500 }), reserve('v', { waitMs: 0 })])
    expect([first.length < 20, other.length]).toEqual([true, 1])
  })

  it('gets the task behind more expired tasks than one call of the store drops (G31)', async () => {
    await open()
    await fill(1_500, undefined, 1_000)
    await fill(1)
    await fixture.time.advance(2_000)
    expect((await reserve('w', { waitMs: 0 })).map(({ id }) => id)).toEqual(['task-0'])
  })

  it('returns empty on an empty queue after one call of the store', async () => {
    await open()
    await fill(1)
    const got = await Promise.all([
      reserve('w', { waitMs: 0 }),
      reserve('w', { waitMs: 0 }),
      reserve('v', { waitMs: 0 }),
    ])
    expect([got.map(({ length }) => length), reserves()]).toEqual([[0, 1, 0], 1])
  })
})

describe('a worker that may reserve', () => {
  const W = { type: 'mailer', id: 'w' }
  it.each([
    ['is draining, after a lost signal', () => fixture.deps.backend.workers.drain([W]), []],
    ['was deleted', () => fixture.deps.backend.workers.forget([W]), 'unknown_worker'],
  ])('gets a task after two calls, although 64 older reserves wait whose worker %s (G31)', async (_, end, outcome) => {
    await open()
    const older = Array.from({ length: 64 }, () => reserve('w').catch((error: unknown) => (error as RpcError).code))
    const waiting = reserve('v')
    await settled(fixture)
    await end()
    const before = reserves()
    const id = await fixture.submit()
    await settled(fixture)
    expect(reserves() - before).toBe(2)
    expect((await waiting).map((lease) => lease.id)).toEqual([id])
    expect(await Promise.all(older)).toEqual(Array(64).fill(outcome))
  })
})

describe('ghosts: reserves whose connection was lost without a sign', () => {
  it('get no task while tasks are scarce and a newer reserve of their worker waits (G31)', async () => {
    await open()
    const ghosts = Array.from({ length: 63 }, () => reserve('w'))
    const lost: number[] = []
    for (const ghost of ghosts) void ghost.then(({ length }) => void lost.push(length))
    await settled(fixture)
    delayReserves()
    const got: string[] = []
    const sent: string[] = []
    for (let i = 0; i < 30; i += 1) {
      void reserve('w').then((leases) => void got.push(...leases.map(({ id }) => id)))
      if (i % 3 === 0) await fixture.time.advance(STORE_MS)
      sent.push(await fixture.submit())
      await fixture.time.advance(3 * STORE_MS)
    }
    expect([got, lost]).toEqual([sent, []])
  })

  it('take as many tasks as their limit once, and then no more (G31)', async () => {
    await open()
    const ghosts = Array.from({ length: 60 }, () => reserve('w', { limit: 2 }))
    await settled(fixture)
    await fill(1_000)
    delayReserves()
    const seen = await drain('w', 4, 10, 500)
    const lost = (await Promise.all(ghosts)).reduce((sum, { length }) => sum + length, 0)
    expect(lost).toBeLessThanOrEqual(120)
    expect(seen.flatMap(({ counts }) => counts.slice(0, -1)).every((count) => count > 0)).toBe(true)
  })

  it('make place for new reserves: at most 64 end in any 5 s, so 13 a second (G17)', async () => {
    await open(['w'])
    const endedMs: number[] = []
    let refused = 0
    for (let ms = 0; ms < 30_000; ms += 20) {
      void reserve('w').then(
        () => void endedMs.push(fixture.time.monotonicMs()),
        () => void (refused += 1),
      )
      await fixture.time.advance(20)
    }
    expect(endedMs.length).toBeGreaterThan(200)
    expect(refused).toBe(1_500 - 64 - endedMs.length)
    for (const [at, ms] of endedMs.entries())
      if (at >= 64) expect(ms - (endedMs[at - 64] ?? 0)).toBeGreaterThanOrEqual(5_000)
  }, 20_000)
})
