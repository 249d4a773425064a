/**
 * Tests a master, or a proxy in front of it, that rejects every request for 75 s while four edited FleetWorkers wait.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { PASS } from './faults.ts'
import { FakeWorker, TYPE } from './worker.ts'
import { startMasters, FaultFixture, type Masters } from './fixture.ts'

const OUTAGE_MS = 75_000
const RECOVERY_MS = 31_000
const MOST_PER_SECOND = 3
const STATUSES = [429, 500, 502, 503, 504]
const CASES = STATUSES.flatMap((status) => [
  { status, retryAfterSeconds: null },
  { status, retryAfterSeconds: 2 },
])

let masters: Masters
let fixture: FaultFixture
const others: FakeWorker[] = []
beforeAll(async () => {
  masters = await startMasters()
})
afterEach(async () => {
  await fixture.close()
  for (const other of others.splice(0)) {
    other.leave()
    await masters.first.backend.workers.forget([{ type: TYPE, id: other.id }])
  }
})
afterAll(() => masters.stop())

/** Creates four FleetWorkers in sync with their workers. */
async function begun(): Promise<readonly string[]> {
  fixture = new FaultFixture(masters)
  const names = [fixture.id, ...['a', 'b', 'c'].map((each) => `${fixture.id}-${each}`)]
  await fixture.work()
  for (const name of names.slice(1)) others.push(await FakeWorker.join(fixture.master, name))
  await fixture.start()
  for (const name of names) fixture.create({ config: { url: 'http://old' } }, name)
  const isInSync = (): boolean => names.every((name) => fixture.condition('Synced', name) === 'True InSync')
  expect(await fixture.comesTrue(20_000, isInSync)).toBe(true)
  return names
}

async function urlOf(name: string): Promise<unknown> {
  const [row] = await fixture.master.backend.workers.get([{ type: TYPE, id: name }])
  return (JSON.parse(row?.config.config ?? '{}') as { url?: unknown }).url
}

/** Rejects all further requests. @returns the times of the requests. */
function refuseAll(status: number, retryAfterSeconds: number | null): number[] {
  const sentMs: number[] = []
  const startedMs = fixture.time.monotonicMs()
  fixture.faults.rule = ({ side }) => {
    if (side === 'api') return PASS
    sentMs.push(fixture.time.monotonicMs() - startedMs)
    return { kind: 'refuse', status, retryAfterSeconds }
  }
  return sentMs
}

const busiestSecond = (sentMs: readonly number[]): number =>
  Math.max(0, ...sentMs.map((from) => sentMs.filter((at) => at >= from && at < from + 1_000).length))

describe('an operator whose master rejects every request', () => {
  it.each(CASES)(
    'sends at most three requests a second and recovers within 31 s: HTTP $status, Retry-After $retryAfterSeconds',
    async ({ status, retryAfterSeconds }) => {
      const names = await begun()
      const sentMs = refuseAll(status, retryAfterSeconds)
      fixture.cutFeeds()
      for (const name of names) fixture.edit({ config: { url: 'http://new' } }, {}, name)
      await fixture.pass(OUTAGE_MS)
      expect(sentMs.length).toBeLessThanOrEqual((OUTAGE_MS / 1_000) * MOST_PER_SECOND)
      expect(busiestSecond(sentMs.filter((at) => at > 2_000))).toBeLessThanOrEqual(MOST_PER_SECOND)
      expect(sentMs.filter((at) => at > OUTAGE_MS - 32_000).length).toBeGreaterThan(0)
      fixture.faults.rule = () => PASS
      const isThere = async (): Promise<boolean> =>
        (await Promise.all(names.map(urlOf))).every((url) => url === 'http://new')
      expect(await fixture.comesTrue(RECOVERY_MS, isThere)).toBe(true)
    },
  )

  it('recovers within 31 s although the last rejection has a Retry-After of an hour', async () => {
    const names = await begun()
    const sentMs = refuseAll(503, 3_600)
    fixture.edit({ config: { url: 'http://new' } }, {}, names[0])
    await fixture.pass(OUTAGE_MS)
    expect(sentMs.length).toBeLessThan(40)
    fixture.faults.rule = () => PASS
    expect(await fixture.comesTrue(RECOVERY_MS, async () => (await urlOf(fixture.id)) === 'http://new')).toBe(true)
  })

  it('logs the rejections with their status, at most once a minute', async () => {
    const names = await begun()
    refuseAll(429, 2)
    fixture.edit({ config: { url: 'http://new' } }, {}, names[0])
    await fixture.pass(10_000)
    const lines = fixture.log.lines.filter(({ message }) => message.includes('rejects calls'))
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({
      level: 'warn',
      fields: { status: 429, retry_after_ms: 2_000, wait_ms: expect.any(Number) },
    })
  })
})
