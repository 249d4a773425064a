/** A dashboard whose master or proxy rejects every request for 75 s. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createApi, type Api } from '../../../src/dashboard/api/client.ts'
import { Feed } from '../../../src/dashboard/api/feed.ts'
import { asProblem, Problem } from '../../../src/dashboard/api/problem.ts'
import { ServerClock } from '../../../src/dashboard/api/server-clock.ts'
import { nextPollDelayMs } from '../../../src/dashboard/api/poll-interval.ts'
import { EventReader } from '../../../src/protocol/event-stream/index.ts'
import { RefusalLimiter, seededRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { runTurns } from '../../kit/index.ts'

const OUTAGE_MS = 75_000
const RECOVERY_MS = 31_000
const MOST_PER_SECOND = 3
const STEP_MS = 50
const QUERIES = 12
const STATUSES = [429, 500, 502, 503, 504]
const CASES = STATUSES.flatMap((status) => [
  { status, headers: {} },
  { status, headers: { 'retry-after': '2' } },
])

let time: VirtualTime
let server: Server
let seen: number
let refusal: { readonly status: number; readonly headers: Record<string, string> } | null

beforeEach(async () => {
  time = new VirtualTime()
  seen = 0
  refusal = null
  server = createServer((request, response) => {
    seen += 1
    if (refusal !== null) return void response.writeHead(refusal.status, refusal.headers).end('<html>no</html>')
    if (request.url?.includes('/events') === true)
      return void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': here\n\n')
    response.writeHead(200, { 'content-type': 'application/json', 'muster-epoch': 'e' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

function apiOn(): Api {
  const base = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/`)
  const refusals = new RefusalLimiter({ clock: time, timers: time, random: seededRandom(1), capMs: 1_000 })
  return createApi({ base, token: 'secret', clock: new ServerClock(time.wallMs), localMs: time.wallMs, refusals })
}

/** Polls like the query library and follows the event stream. */
function open(api: Api, signal: AbortSignal) {
  const state = { served: 0 }
  const random = seededRandom(2)
  const query = async (name: string): Promise<void> => {
    while (!signal.aborted) {
      const problem = await api.get([name], {}, signal).then(
        () => null,
        (error: unknown) => asProblem(error),
      )
      if (problem === null) state.served += 1
      // Aborted: the loop ends.
      await time.sleep(nextPollDelayMs(5_000, time.wallMs(), problem), signal).catch(() => {})
    }
  }
  const feed = new Feed({
    open: async (_, either) => (await api.stream(['events'], {}, either)).body,
    reader: (lastId) => new EventReader(lastId),
    asProblem,
    localMs: time.wallMs,
    random: () => random.unit(),
    after: time.after,
  })
  feed.start()
  const done = Promise.all(Array.from({ length: QUERIES }, (_, n) => query(`q${n}`)))
  return { state, feed, done }
}

async function pass(ms: number, isOver = (): boolean => false): Promise<readonly number[]> {
  const steps: number[] = []
  for (let passed = 0; passed < ms && !isOver(); passed += STEP_MS) {
    const before = seen
    await time.advance(STEP_MS)
    await runTurns(6)
    steps.push(seen - before)
  }
  return steps
}

describe('a dashboard whose master rejects every request', () => {
  it.each(CASES)(
    'sends at most three requests a second and recovers within 31 s: HTTP $status $headers',
    async (how) => {
      const end = new AbortController()
      const { state, feed, done } = open(apiOn(), end.signal)
      await pass(10_000, () => state.served >= QUERIES && feed.state.kind === 'live')
      refusal = how
      server.closeAllConnections()
      const steps = await pass(OUTAGE_MS)
      const perSecond = 1_000 / STEP_MS
      // In the first seconds, each query may have one request in flight.
      const later = steps.slice(7 * perSecond)
      const busiest = Math.max(
        ...later.map((_, from) => later.slice(from, from + perSecond).reduce((sum, n) => sum + n, 0)),
      )
      expect(steps.reduce((sum, n) => sum + n, 0)).toBeLessThanOrEqual((OUTAGE_MS / 1_000) * MOST_PER_SECOND)
      expect(busiest).toBeLessThanOrEqual(MOST_PER_SECOND)
      state.served = 0
      refusal = null
      await pass(RECOVERY_MS, () => state.served >= QUERIES && feed.state.kind === 'live')
      feed.end()
      end.abort(new Error('over'))
      await done
      expect([state.served >= QUERIES, feed.state.kind]).toEqual([true, 'live'])
    },
  )

  it('never waits longer than 30 s for a Retry-After', async () => {
    refusal = { status: 503, headers: { 'retry-after': '3600' } }
    const problem = await apiOn()
      .get(['x'])
      .then(
        () => null,
        (error: unknown) => error as Problem,
      )
    expect(problem).toMatchObject({ status: 503, retryAfterSeconds: 30 })
    expect(nextPollDelayMs(5_000, 1, new Problem('no', { status: 503, retryAfterSeconds: 30 }))).toBeLessThanOrEqual(
      30_000,
    )
  })
})
