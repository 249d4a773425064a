/**
 * Restarts Redis repeatedly under load, with a clean stop or a kill. After each restart every waiting reserve is served
 * within 2 s, and no acknowledged task is lost (regression waiter-survives-restart; G1, G2, G3).
 *
 *   SEED=… [SOAK=1] npm test -- test/e2e/redis-restarts     SOAK=1: 100 restarts instead of 5
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import { setTimeout as pause } from 'node:timers/promises'
import { seededRandom } from '../../src/runtime/index.ts'
import { recordRun } from '../kit/record-run.ts'
import { withRedisServer } from '../kit/redis-server.ts'
import { OutageFixture, WAITERS_SERVED_WITHIN_MS } from './outage.ts'

const isSoak = process.env['SOAK'] === '1'
const RESTARTS = isSoak ? 100 : 5
const TIMEOUT_MS = isSoak ? 3_600_000 : 180_000
const SEED = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1_000_000))
/** Number of reserves that always wait: the maximum of one worker. */
const WAITERS = 4
const LONGEST_ABSENCE_MS = 2_500

const open: OutageFixture[] = []
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.close()
})

const tell = (line: string): void => void process.stderr.write(`redis-restarts: ${line}\n`)

withRedisServer('a fleet whose Redis is restarted', () => {
  describe('a fleet whose Redis is restarted', () => {
    it(
      `${RESTARTS} times under load serves each waiting reserve within 2 s of a restart and loses no task (G1, G2, G3)`,
      async () => {
        tell(`seed ${SEED}`)
        const random = seededRandom(SEED)
        const fixture = await OutageFixture.start()
        open.push(fixture)
        const epoch = await fixture.epoch
        fixture.startLoad(isSoak ? 50 : 5)
        let slowestMs = 0
        for (let restart = 1; restart <= RESTARTS; restart += 1) {
          const waiting = Array.from({ length: WAITERS }, () => fixture.waitForTask())
          await fixture.moreAcknowledged(20)
          await (random.unit() < 0.5 ? fixture.redis.kill() : fixture.redis.stop())
          await pause(random.unit() * LONGEST_ABSENCE_MS)
          await fixture.redis.start()
          const returnedMs = performance.now()
          const ids = waiting.map((_, n) => `still-${restart}-${n}`)
          await Promise.all(ids.map((id) => fixture.submitted('still', 0, id)))
          expect((await Promise.all(waiting)).toSorted()).toEqual(ids)
          const servedMs = Math.round(performance.now() - returnedMs)
          if (servedMs >= WAITERS_SERVED_WITHIN_MS)
            throw new Error(
              `restart ${restart} of seed ${SEED}: the waiting reserves were served after ${servedMs} ms\n` +
                fixture.master.output().slice(-8_000),
            )
          slowestMs = Math.max(slowestMs, servedMs)
          if (restart % 10 === 0)
            tell(
              `${restart} of ${RESTARTS} restarts, ${fixture.acknowledged.length} tasks acknowledged, ` +
                `${fixture.refused.length} requests rejected, reserves served after ${slowestMs} ms at most, ` +
                `longest request ${fixture.longest.ms} ms`,
            )
        }
        await fixture.allDone(isSoak ? 600_000 : 60_000)
        expect(await fixture.epoch).toBe(epoch)
        recordRun({
          layer: 'L5',
          command: `SEED=${SEED} ${isSoak ? 'SOAK=1 ' : ''}npm test -- test/e2e/redis-restarts`,
          count: RESTARTS,
          counted: 'restarts of Redis under load',
          seedBase: SEED,
          figures: {
            'tasks acknowledged': fixture.acknowledged.length,
            'reserves served after at most, ms': slowestMs,
          },
        })
      },
      TIMEOUT_MS,
    )
  })
})
