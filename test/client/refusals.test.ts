/**
 * Tests a client whose callers retry in a loop while the master, or a proxy in front of it, rejects everything for 75
 * s.
 */
import { describe, expect, it } from '@jest/globals'
import { MasterError, type MasterClient } from '../../src/client/index.ts'
import { VirtualTime } from '../../src/runtime/index.ts'
import { runTurns } from '../kit/index.ts'
import type { FaultyProxy } from './faulty-proxy.ts'
import { register, throughProxy } from './fixture.ts'

const OUTAGE_MS = 75_000
const RECOVERY_MS = 31_000
const MOST_PER_SECOND = 3
const STEP_MS = 50
const STATUSES = [429, 500, 502, 503, 504]
const CASES = STATUSES.flatMap((status) => [
  { status, headers: {} },
  { status, headers: { 'retry-after': '2' } },
])

/** Callers that retry immediately, each with another kind of call, and a follower of the events. */
function hammer(client: MasterClient, signal: AbortSignal) {
  const served = { reads: 0, writes: 0, feed: 0 }
  const errors: MasterError[] = []
  const loop = async (call: () => Promise<unknown>, onServed: () => void): Promise<void> => {
    while (!signal.aborted) {
      await call().then(onServed, (error: unknown) => error instanceof MasterError && errors.push(error))
      await runTurns(1)
    }
  }
  const follow = async (): Promise<void> => {
    for await (const item of client.events({ signal })) if (item.kind === 'open') served.feed += 1
  }
  const done = Promise.all([
    loop(
      () => client.me({ signal }),
      () => (served.reads += 1),
    ),
    loop(
      () => client.overview({ signal }),
      () => (served.reads += 1),
    ),
    loop(
      () => client.workers.drain('mailer', 'w1', { signal }),
      () => (served.writes += 1),
    ),
    follow(),
  ])
  return { served, errors, done }
}

async function pass(
  time: VirtualTime,
  proxy: FaultyProxy,
  ms: number,
  isOver = (): boolean => false,
): Promise<readonly number[]> {
  const steps: number[] = []
  for (let passed = 0; passed < ms && !isOver(); passed += STEP_MS) {
    const before = proxy.seen.length
    await time.advance(STEP_MS)
    await runTurns(6)
    steps.push(proxy.seen.length - before)
  }
  return steps
}

describe('a client whose master rejects every request', () => {
  it.each(CASES)(
    'sends at most three requests per second and recovers within 31 s: HTTP $status $headers',
    async ({ status, headers }) => {
      const time = new VirtualTime()
      const { master, proxy, client } = await throughProxy([], { clock: time, timers: time })
      await register(master, 'w1')
      proxy.rule = () => ({ status, headers, body: '<html>no</html>' })
      const end = new AbortController()
      const { served, errors, done } = hammer(client, end.signal)
      const steps = await pass(time, proxy, OUTAGE_MS)
      const perSecond = 1_000 / STEP_MS
      const busiest = Math.max(
        ...steps
          .slice(perSecond)
          .map((_, from) => steps.slice(perSecond + from, 2 * perSecond + from).reduce((sum, n) => sum + n, 0)),
      )
      expect(proxy.seen.length).toBeLessThanOrEqual((OUTAGE_MS / 1_000) * MOST_PER_SECOND)
      expect(busiest).toBeLessThanOrEqual(MOST_PER_SECOND)
      expect(proxy.seen.length).toBeGreaterThan(15)
      expect(errors.length).toBeGreaterThan(0)
      proxy.rule = () => 'pass'
      await pass(time, proxy, RECOVERY_MS, () => served.reads > 0 && served.writes > 0 && served.feed > 0)
      end.abort(new Error('over'))
      await done
      expect(served.reads > 0 && served.writes > 0 && served.feed > 0).toBe(true)
    },
  )

  it('reports that nothing was done for a call that was not sent in time', async () => {
    const time = new VirtualTime()
    const { proxy, client } = await throughProxy([], { clock: time, timers: time })
    proxy.rule = () => ({ status: 503, headers: { 'retry-after': '3600' }, body: '' })
    for (let call = 0; call < 3; call += 1) await client.me().catch(() => {})
    const sent = proxy.seen.length
    const patch = client.workers.drain('mailer', 'w1').then(
      () => undefined,
      (error: unknown) => error as MasterError,
    )
    await pass(time, proxy, 16_000)
    const error = await patch
    expect(error).toMatchObject({
      code: 'RATE_LIMITED',
      status: 503,
      outcome: 'not_done',
      message: 'not sent: the master is rejecting requests with HTTP 503',
    })
    expect(proxy.seen).toHaveLength(sent)
  })
})
