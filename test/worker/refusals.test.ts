/** Runs a worker while its master, or a proxy in front of it, rejects every request and handshake for 75 s. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { RunnableEntry } from '../../src/automation/index.ts'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { startWorker, type RunningWorker } from '../../src/worker/index.ts'
import { Peer } from '../../src/worker-test/index.ts'
import { batchEntry, continuousEntry, recordingLog, testHost, runTurns } from './fixtures.ts'

const OUTAGE_MS = 75_000
const RECOVERY_MS = 31_000
const MOST_PER_SECOND = 3
const STEP_MS = 50
const STATUSES = [429, 500, 502, 503, 504]
const CASES = STATUSES.flatMap((status) => [
  { status, headers: {} },
  { status, headers: { 'retry-after': '2' } },
])

let time: VirtualTime
let peer: Peer
let worker: RunningWorker

beforeEach(async () => {
  time = new VirtualTime()
  peer = await new Peer().start()
  time.every(5_000, () => peer.ping())
})
afterEach(async () => {
  peer.refusal = null
  worker.drain('the test is over')
  const over = new Set<number>()
  void worker.done.then((code) => over.add(code))
  while (over.size === 0) await time.advance(500)
  await peer.close()
})

function start(entry: RunnableEntry): void {
  worker = startWorker({
    masterUrl: peer.url,
    token: 'worker-token',
    entry,
    workerId: 'w1',
    drainTimeoutSeconds: 1,
    clock: time,
    timers: time,
    random: seededRandom(1),
    log: recordingLog(),
    host: testHost,
  })
}

const sent = (): number => peer.requests.length + peer.handshakes.length

/** Advances time until `holds` returns true, for at most 31 s of virtual time. */
async function comesTrue(holds: () => boolean): Promise<boolean> {
  for (let passed = 0; passed < RECOVERY_MS && !holds(); passed += STEP_MS) {
    await time.advance(STEP_MS)
    await runTurns(6)
  }
  return holds()
}

/** @returns the number of requests in each step of the outage. */
async function refusedFor(ms: number, refusal: NonNullable<Peer['refusal']>): Promise<readonly number[]> {
  peer.refusal = refusal
  for (const socket of peer.sockets) socket.terminate()
  const steps: number[] = []
  for (let passed = 0; passed < ms; passed += STEP_MS) {
    const before = sent()
    await time.advance(STEP_MS)
    await runTurns(6)
    steps.push(sent() - before)
  }
  return steps
}

function expectFew(steps: readonly number[]): void {
  const perSecond = 1_000 / STEP_MS
  const busiest = Math.max(
    ...steps
      .slice(2 * perSecond)
      .map((_, from) => steps.slice(2 * perSecond + from, 3 * perSecond + from).reduce((sum, n) => sum + n, 0)),
  )
  const all = steps.reduce((sum, n) => sum + n, 0)
  expect(all).toBeLessThanOrEqual((OUTAGE_MS / 1_000) * MOST_PER_SECOND)
  expect(busiest).toBeLessThanOrEqual(MOST_PER_SECOND + 1) // A handshake may be in the same second as three requests.
  expect(all).toBeGreaterThan(10)
}

async function recovers(what: string, holds: () => boolean): Promise<void> {
  peer.refusal = null
  expect([what, await comesTrue(holds)]).toEqual([what, true])
}

describe('a worker whose master rejects everything', () => {
  it.each(CASES)(
    'sends at most three requests per second when slots loop, and recovers within 31 s: HTTP $status $headers',
    async ({ status, headers }) => {
      let served = 0
      peer.rpcMethods['kv.get'] = () => ({ value: 1 })
      peer.setConfig({ slots: 4 })
      start(
        continuousEntry(async (ctx) => {
          while (!ctx.signal.aborted) {
            await ctx.kv.get('key').then(
              () => (served += 1),
              () => {},
            ) // A plugin that retries without a delay.
            if (peer.refusal === null) await new Promise((resolve) => void time.after(1_000, () => resolve(null)))
          }
        }),
      )
      expect(await comesTrue(() => served >= 4)).toBe(true)
      expectFew(await refusedFor(OUTAGE_MS, { status, headers }))
      served = 0
      await recovers('it is served and connected', () => served >= 4 && worker.state().connected)
    },
  )

  it.each(CASES)(
    'sends at most three requests per second with tasks in flight, and settles within 31 s: HTTP $status $headers',
    async ({ status, headers }) => {
      const finish: (() => void)[] = []
      peer.setConfig({ slots: 8 })
      start(batchEntry(() => new Promise((resolve) => void finish.push(() => resolve(undefined))), 1))
      peer.submit('a', 'b', 'c', 'd')
      expect(await comesTrue(() => finish.length === 4)).toBe(true)
      const outage = refusedFor(OUTAGE_MS, { status, headers })
      for (const end of finish.slice(2)) end()
      expectFew(await outage)
      await recovers('the outcomes are there', () => peer.settled('tasks.ack').length === 2 && worker.state().connected)
      for (const end of finish) end()
    },
  )

  it('recovers within 31 s even if Retry-After is one hour', async () => {
    start(
      continuousEntry(
        ({ signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => resolve())
          }),
      ),
    )
    expect(await comesTrue(() => worker.state().connected)).toBe(true)
    await refusedFor(10_000, { status: 503, headers: { 'retry-after': '3600' } })
    await recovers('it is connected', () => worker.state().connected)
  })
})
