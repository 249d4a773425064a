/**
 * Checks one Redis with appendfsync everysec: between power cuts all calls are linearizable, and after one the store
 * has a new epoch and the state of a prefix of the history. SOAK=1 makes 60 power cuts.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { seededRandom, systemTime } from '../../src/runtime/index.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { recordRun } from '../kit/record-run.ts'
import type { RedisOptions } from '../kit/redis-server.ts'
import { withGcc } from '../durability/crash-log.ts'
import { SteppedClock } from './clock-step.ts'
import { overlapping } from '../kit/overlapping.ts'
import { describeLab, IS_SOAK, SEED, TIMEOUT_MS, type Lab } from './lab.ts'
import { holesOf, reusedTokens } from './loss.ts'
import type { Verdict } from './judge.ts'
import { startClients, startRedisAt } from './one-redis.ts'
import { PowerCut } from './power-cut.ts'

const CUTS = IS_SOAK ? 60 : 2
const HOUR_MS = 3_600_000
const SHIFTS_MS = [-HOUR_MS, 0, HOUR_MS]
const nowNs = (): number => Number(process.hrtime.bigint())

interface Run {
  readonly verdict: Verdict
  readonly epochs: readonly string[]
  /** Of the clock of the store, whenever it was read. */
  readonly shiftsHours: readonly number[]
  readonly holes: readonly string[]
  readonly reused: readonly string[]
  readonly unexpected: readonly string[]
}

describeLab('one Redis with appendfsync everysec', (openLab) => {
  async function run(
    lab: Lab,
    appendfsync: RedisOptions['appendfsync'] & string,
    cuts: number,
    clock?: SteppedClock,
  ): Promise<Run> {
    const network = lab.network()
    const random = seededRandom(SEED)
    const step = (): void => clock?.shift(SHIFTS_MS[Math.floor(random.unit() * SHIFTS_MS.length)] ?? 0)
    const server = lab.open(await startRedisAt(network, network.add(), { appendfsync }, { clock }))
    const clients = lab.open(
      await startClients(network, {
        folder: join(server.folder, 'histories'),
        url: server.url,
        processes: 4,
        clientsPerProcess: 8,
        seed: SEED,
        hasDeadlines: clock === undefined,
      }),
    )
    const power = lab.open(new PowerCut(server))
    const epochs: string[] = []
    const shiftsHours = new Set<number>()
    const readStore = async (): Promise<void> => {
      const { epoch, nowMs } = await clients.observer.ask({ kind: 'store' }, 'store')
      epochs.push(epoch)
      shiftsHours.add(Math.round((nowMs - Date.now()) / HOUR_MS))
    }
    await readStore()
    const recoveries: { readonly endNs: number; readonly shardOf: () => string }[] = []
    for (let i = 0; i < cuts; i += 1) {
      await clients.resume()
      await systemTime.sleep(600 + 500 * random.unit())
      step()
      await systemTime.sleep(600 + 500 * random.unit())
      await power.cut(random)
      await clients.hold()
      step()
      await server.start()
      await clients.observer.ask({ kind: 'probe' }, 'served')
      await readStore()
      await clients.recover()
      recoveries.push({ endNs: nowNs(), shardOf: () => 'all' })
    }
    await clients.resume()
    await systemTime.sleep(500)
    const ended = await clients.end()
    const verdict = await lab.judge(clients.histories)
    const what = clock === undefined ? appendfsync : `${appendfsync}, its clock steps`
    writeSync(
      1,
      `one Redis, ${what}: ${cuts} power cuts, ${verdict.calls} calls, ` +
        `acknowledged changes lost ${JSON.stringify(verdict.lost)}\n`,
    )
    return {
      verdict,
      epochs,
      shiftsHours: [...shiftsHours],
      holes: holesOf(verdict.cuts, recoveries),
      reused: reusedTokens(clients.histories),
      unexpected: ended.flatMap((each) => each.unexpected),
    }
  }

  overlapping(
    'has a new epoch and the state of a prefix after each power cut (G1, G5, G26)',
    async () => {
      await using lab = openLab()
      const { verdict, epochs, holes, reused, unexpected } = await run(lab, 'everysec', CUTS)
      const lost = Object.values(verdict.lost).reduce((sum, each) => sum + each, 0)
      recordRun({
        layer: 'L5',
        command: `${IS_SOAK ? 'SOAK=1 ' : ''}npm test -- test/consistency/everysec`,
        count: CUTS,
        counted: 'power cuts of one Redis everysec, each with a state that is a prefix of the history',
        seedBase: SEED,
        mustHappen: { 'lost acknowledged change': lost },
        found: verdict.violations.length + holes.length + reused.length,
        figures: { calls: verdict.calls, 'lost a cut': Math.round(lost / CUTS) },
      })
      expect(unexpected).toEqual([])
      expect(verdict.violations).toEqual([])
      expect(verdict.undecided).toEqual([])
      expect(holes).toEqual([])
      expect(reused).toEqual([])
      expect(new Set(epochs).size).toBe(CUTS + 1)
      expect(lost).toBeGreaterThan(0)
    },
    TIMEOUT_MS,
  )

  withGcc('clock of the store', () => {
    overlapping(
      'reuses no token and ends no long hold when the clock of the store steps by hours (G5, G9)',
      async () => {
        await using lab = openLab()
        const clock = lab.open(new SteppedClock(temporaryFolder()))
        const { verdict, epochs, shiftsHours, holes, reused, unexpected } = await run(
          lab,
          'everysec',
          IS_SOAK ? 20 : 2,
          clock,
        )
        expect(shiftsHours.length).toBeGreaterThan(1)
        expect(unexpected).toEqual([])
        expect(verdict.violations).toEqual([])
        expect(verdict.undecided).toEqual([])
        expect(holes).toEqual([])
        expect(reused).toEqual([])
        expect(new Set(epochs).size).toBe(epochs.length)
      },
      TIMEOUT_MS,
    )
  })

  overlapping(
    'finds a store that keeps its epoch after it lost changes',
    async () => {
      // Under `always` nothing may be lost, so a restart keeps the epoch. This disk confirms what it has not written.
      await using lab = openLab()
      const { verdict, epochs } = await run(lab, 'always', 1)
      expect(Object.keys(verdict.lost).length).toBeGreaterThan(0)
      expect(new Set(epochs).size).toBe(1)
    },
    TIMEOUT_MS,
  )
})
