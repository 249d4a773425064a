/**
 * Two masters of the built command on one Redis: an autoscaler that sums a series of the fleet over their pods gets the
 * right number or none, whatever happens to the leader (D134).
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { systemTime } from '../../src/runtime/index.ts'
import { eventually, SLACK } from '../kit/index.ts'
import { withRedisServer } from '../kit/redis-server.ts'
import type { Fleet } from './fleet.ts'
import { Masters, submitMany } from './masters.ts'

const TASKS = [{ ms: 1 }, { ms: 1 }, { ms: 1 }]
const EVERY_MS = 200
/** A heartbeat expires after 15 s, and the other masters look every 5 s. */
const GAP_MS = 20_000

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

/** The pending tasks that this master exports; null if it exports none or does not respond. */
async function exported({ url }: Fleet): Promise<number | null> {
  const response = await fetch(`${url}/metrics`).catch(() => null)
  const line = /^svc_queue_size\{automation_type="slow"\} (\d+)$/m.exec((await response?.text()) ?? '')
  return line === null ? null : Number(line[1])
}

/** What each scrape of both masters sums up to, every 200 ms; null for a scrape without the series. */
async function sums(masters: Masters, forMs: number, isEnough = (_sum: number | null): boolean => false) {
  const seen: (number | null)[] = []
  for (const startMs = systemTime.monotonicMs(); systemTime.monotonicMs() - startMs < forMs;) {
    const numbers = (await Promise.all(masters.all.map(exported))).filter((each) => each !== null)
    const sum = numbers.length === 0 ? null : numbers.reduce((total, each) => total + each, 0)
    seen.push(sum)
    if (isEnough(sum)) break
    await systemTime.sleep(EVERY_MS)
  }
  return seen
}

withRedisServer('metrics of two masters', () => {
  describe('the sum over /metrics of two masters', () => {
    it('is right or missing after the leader was killed, and after it was started again (D134)', async () => {
      const masters = await Masters.start(2)
      open.push(() => masters.stop())
      await submitMany(masters.at(0), TASKS)
      await eventually('a master leads', async () => (await sums(masters, 1)).includes(TASKS.length))
      const leader = (await exported(masters.at(0))) === null ? 1 : 0
      await masters.end(leader)
      const afterKill = await sums(masters, (GAP_MS + 5_000) * SLACK, (sum) => sum === TASKS.length)
      expect([...new Set(afterKill)]).toEqual([null, TASKS.length])
      await masters.restart(leader)
      const afterStart = await sums(masters, GAP_MS)
      expect(afterStart.filter((sum) => sum !== null && sum !== TASKS.length)).toEqual([])
      expect(afterStart.at(-1)).toBe(TASKS.length)
    }, 120_000)
  })
})
