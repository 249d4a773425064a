/** Concurrent reserves of one worker id: all of them wait and are served, and none ends another (D78). */
import fc from 'fast-check'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { RpcResult } from '../../../src/protocol/index.ts'
import { settled, QueueFixture } from './fixture.ts'
import { Watched } from './watched.ts'

let fixture: QueueFixture
const store = new Watched()
async function open(): Promise<QueueFixture> {
  store.calls.length = 0
  store.gate = () => undefined
  fixture = await QueueFixture.open({ backend: store.wrap })
  await fixture.workers(['w', 'v'])
  return fixture
}
afterEach(() => fixture.close())

interface PollOptions {
  readonly limit?: number
  readonly waitMs?: number
  readonly pollId?: string
}

/** One reserve. `seen` shows its outcome as soon as it is known. */
function poll(worker: string, { limit = 1, waitMs = 30_000, pollId }: PollOptions = {}) {
  const client = new AbortController()
  const seen: { ids: string[] | null; error: { code?: string } | null } = { ids: null, error: null }
  void fixture.queue.reserve('mailer', { worker, limit, waitMs, pollId, signal: client.signal }).then(
    (leases) => void (seen.ids = leases.map(({ id }) => id)),
    (error: unknown) => void (seen.error = error as { code?: string }),
  )
  return { seen, leave: () => client.abort() }
}
const polls = (count: number, worker = 'w') => Array.from({ length: count }, () => poll(worker))
const submit = (count: number): Promise<string[]> => Promise.all(Array.from({ length: count }, () => fixture.submit()))

/** Blocks the next calls of the store. @returns a function that lets them continue. */
function holdStore(call = 'tasks.reserve'): () => void {
  let letGo = (): void => {}
  const held = new Promise<void>((resolve) => (letGo = resolve))
  store.gate = (name) => (name === call ? held : undefined)
  return () => {
    store.gate = () => undefined
    letGo()
  }
}

describe('64 reserves of one worker id', () => {
  it('wait together, and each gets a task', async () => {
    await open()
    const waiting = polls(64)
    await fixture.time.advance(6_000)
    expect(waiting.filter(({ seen }) => seen.ids !== null || seen.error !== null)).toEqual([])
    const ids = await submit(64)
    await settled(fixture)
    expect(waiting.flatMap(({ seen }) => seen.ids ?? []).toSorted()).toEqual(ids.toSorted())
    expect(waiting.every(({ seen }) => seen.ids?.length === 1)).toBe(true)
    expect(store.named('tasks.release')).toEqual([])
  })

  it('cause at most one store call per second on an empty queue, with one request in it', async () => {
    await open()
    polls(64)
    await settled(fixture)
    store.calls.length = 0
    await fixture.time.advance(20_000)
    const requests = store.named('tasks.reserve').map(([, , list]) => list as { limit: number }[])
    expect(requests.length).toBeLessThanOrEqual(20)
    expect(requests.every(([first, ...more]) => first?.limit === 64 && more.length === 0)).toBe(true)
  })

  it('of one JSON-RPC batch each get a task', async () => {
    await open()
    const calls = Array.from({ length: 64 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'tasks.reserve',
      params: { limit: 1, wait_ms: 10_000 },
    }))
    const answered = fixture.post('w', calls)
    await settled(fixture)
    const ids = await submit(64)
    await settled(fixture)
    const responses = (await answered).json as { result: RpcResult<'tasks.reserve'> }[]
    expect(responses.flatMap(({ result }) => result.tasks.map(({ task_id }) => task_id)).toSorted()).toEqual(
      ids.toSorted(),
    )
    expect(responses.every(({ result }) => result.tasks.length === 1)).toBe(true)
  })

  it('are the limit: one more is rejected, or ends the oldest one if that has waited 5 s (G17)', async () => {
    await open()
    const waiting = polls(64)
    const early = poll('w')
    await settled(fixture)
    expect(early.seen.error).toMatchObject({ code: 'OVERLOADED', retryAfterSeconds: 1 })
    await fixture.time.advance(5_000)
    const late = poll('w')
    await settled(fixture)
    expect([late.seen, ...waiting.map(({ seen }) => seen)].map(({ ids }) => ids)).toEqual([
      null,
      [],
      ...Array<null>(63).fill(null),
    ])
    const text = await fixture.deps.metrics.metrics()
    expect(text).toContain('svc_reserves_refused_total{automation_type="mailer",reason="per_worker"} 1')
    expect(text).toContain('svc_reserves_refused_total{automation_type="mailer",reason="displaced"} 1')
  })
})

describe('polls of one worker', () => {
  it('are served newest first, so that a poll with a lost connection comes last', async () => {
    await open()
    const [lost, first, second] = [poll('w'), poll('w'), poll('w')]
    await settled(fixture)
    const ids = [await fixture.submit()]
    await settled(fixture)
    ids.push(await fixture.submit())
    await settled(fixture)
    expect([lost, first, second].map(({ seen }) => seen.ids)).toEqual([null, [ids[1]], [ids[0]]])
  })

  it('do not take the turn of another worker, however long the oldest one waits', async () => {
    await open()
    polls(2, 'w')
    const [first, other] = [poll('w'), poll('v')]
    await settled(fixture)
    const outcomes: string[] = []
    for (let i = 0; i < 4; i += 1) {
      await fixture.submit()
      await settled(fixture)
      outcomes.push(other.seen.ids === null ? 'w' : 'v')
      if (i < 3) poll('w')
      await settled(fixture)
    }
    expect(first.seen.ids).toHaveLength(1)
    expect(outcomes).toEqual(['w', 'w', 'w', 'v'])
  })

  it('of the same poll_id replace each other, and no others', async () => {
    await open()
    const [before, other] = [poll('w', { pollId: 'poller-1' }), poll('w', { pollId: 'poller-2' })]
    await settled(fixture)
    const after = poll('w', { pollId: 'poller-1' })
    await settled(fixture)
    expect([before, other, after].map(({ seen }) => seen.ids)).toEqual([[], null, null])
  })

  it('get the task that was leased for a poll that has left', async () => {
    await open()
    await fixture.submit()
    const letGo = holdStore()
    const [left, stays] = [poll('w', { limit: 1 }), poll('w', { limit: 1 })]
    await settled(fixture)
    left.leave()
    const late = poll('w')
    letGo()
    await settled(fixture)
    expect([left, stays, late].map(({ seen }) => seen.ids?.length)).toEqual([0, undefined, 1])
    await fixture.submit()
    await settled(fixture)
    expect(stays.seen.ids).toHaveLength(1)
  })

  it('that arrive after an acknowledged drain get nothing from an earlier reserve (G14)', async () => {
    await open()
    const id = await fixture.submit()
    const letGo = holdStore()
    poll('w')
    await settled(fixture)
    fixture.queue.dismissWaiters({ type: 'mailer', id: 'w' })
    const late = poll('w')
    letGo()
    const letGoRelease = holdStore('tasks.release')
    await settled(fixture)
    expect([late.seen.ids, await fixture.place(id)]).toEqual([null, 'in_flight'])
    await fixture.deps.backend.workers.drain([{ type: 'mailer', id: 'w' }])
    letGoRelease()
    await settled(fixture)
    expect([late.seen.ids, await fixture.place(id)]).toEqual([[], 'pending'])
  })
})

describe('any mix of polls, limits, disconnects and submits', () => {
  type Step =
    | { readonly do: 'submit' | 'leave' | 'pass' | 'hold' | 'free' }
    | { readonly do: 'poll'; readonly worker: 'w' | 'v'; readonly limit: number; readonly waitMs: number }
  const anyStep: fc.Arbitrary<Step> = fc.oneof(
    fc.record({
      do: fc.constantFrom('submit' as const, 'leave' as const, 'pass' as const, 'hold' as const, 'free' as const),
    }),
    fc.record({
      do: fc.constant('poll' as const),
      worker: fc.constantFrom('w' as const, 'v' as const),
      limit: fc.integer({ min: 1, max: 50 }),
      waitMs: fc.constantFrom(0, 30_000),
    }),
  )

  it('leaves no task pending while a poll waits, and ends no poll because of another', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 60 }), async (steps) => {
        await open()
        const all: { readonly poller: ReturnType<typeof poll>; readonly patient: boolean }[] = []
        const departed = new Set<object>()
        let letGo = (): void => {}
        for (const step of steps) {
          if (step.do === 'submit') void fixture.submit()
          else if (step.do === 'poll') all.push({ poller: poll(step.worker, step), patient: step.waitMs > 0 })
          else if (step.do === 'pass') await settled(fixture)
          else if (step.do === 'hold') {
            letGo()
            letGo = holdStore()
          } else if (step.do === 'free') letGo()
          else {
            const first = all.find(({ poller: { seen } }) => seen.ids === null)?.poller
            first?.leave()
            if (first !== undefined) departed.add(first)
          }
        }
        letGo()
        for (let turn = 0; turn < 5; turn += 1) await settled(fixture)
        const waiting = all.filter(({ poller: { seen } }) => seen.ids === null)
        const { length } = await fixture.deps.backend.tasks.queue('mailer', 1)
        const endedEmpty = all.filter(
          ({ poller, patient }) => patient && !departed.has(poller) && poller.seen.ids?.length === 0,
        )
        await fixture.close()
        expect([length === 0 || waiting.length === 0, endedEmpty.length]).toEqual([true, 0])
      }),
      { numRuns: 200, interruptAfterTimeLimit: 10_000 },
    )
    await open() // The afterEach hook closes it.
  }, 20_000)
})
