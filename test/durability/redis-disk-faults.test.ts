/**
 * Makes disk operations of a redis-server fail, lets the disk work again, and cuts the power later. A server with
 * `always` ends when it cannot write or sync its file, so nothing is acknowledged that is not on the disk.
 *
 * SOAK=1 makes each of the first 24 operations of each kind fail.
 */
import { describe, expect } from '@jest/globals'
import { overlapping } from '../kit/overlapping.ts'
import { recordRun } from '../kit/record-run.ts'
import { withRedisServer } from '../kit/redis-server.ts'
import { withGcc } from './crash-log.ts'
import { afterEachFault, CrashLab, roundsWithFaults, unknownCalls, type Loss, type Recording } from './crash-points.ts'
import { noCounts, redisAlways } from './redis-judge.ts'

const IS_SOAK = process.env['SOAK'] === '1'
const TIMEOUT_MS = IS_SOAK ? 3_600_000 : 600_000
const [EIO, ENOSPC, EROFS] = [5, 28, 30]
const MAX_PAIRS = 3
/** An even number of them. */
const FIRSTS = IS_SOAK ? Array.from({ length: 24 }, (_, i) => i) : [0, 3]

withGcc('a Redis on a disk with faults', () =>
  withRedisServer('a Redis on a disk with faults', () => {
    describe('a Redis on a disk with faults', () => {
      let recordings = 0

      async function recorded(lab: CrashLab, faults: readonly string[], appendfsync = 'always'): Promise<Recording> {
        const env = { CRASHLOG_FAULT_FILE: `${lab.folder(`fault-${(recordings += 1)}`)}/current` }
        const recording = await lab.record({ program: 'redis-fault-load.ts', env, lives: [[appendfsync, ...faults]] })
        expect(roundsWithFaults(recording)).toBe(faults.length)
        return recording
      }

      overlapping(
        'ends if it cannot write or sync, loses nothing, and serves all calls within 10 s of its start (G1, G18)',
        async () => {
          using lab = new CrashLab(redisAlways(noCounts()))
          const kinds = [`write:${ENOSPC}`, `write:${EIO}`, `write:${EROFS}`]
          const losses: Loss[] = []
          const endsIn = async (pair: readonly string[]): Promise<void> => {
            const recording = await recorded(lab, pair)
            expect(new Set(recording.phases.filter((phase) => phase.startsWith('after')))).toEqual(
              new Set(pair.map((fault) => `after ${fault}: the server ended`)),
            )
            losses.push(...(await lab.losses(recording, afterEachFault(recording))))
          }
          const pairs = [...pairsOf(kinds.flatMap((kind) => FIRSTS.map((first) => `${kind}:${first}`)))]
          while (pairs.length > 0) await Promise.all(pairs.splice(0, MAX_PAIRS).map(endsIn))
          recordRun({
            layer: 'disk',
            command: `${IS_SOAK ? 'SOAK=1 ' : ''}npm test -- test/durability/redis-disk-faults`,
            count: kinds.length * FIRSTS.length,
            counted: 'failed writes of Redis with always, each followed by power cuts in 4 variants',
            found: losses.length,
          })
          expect(losses).toEqual([])
        },
        TIMEOUT_MS,
      )

      overlapping(
        'may lose acknowledged changes if an fsync fails, it is started again, and the power is cut',
        async () => {
          using lab = new CrashLab(redisAlways(noCounts()))
          const recording = await recorded(lab, [`fsync:${EIO}:0`, `fsync:${EIO}:3`])
          const losses = await lab.losses(recording, afterEachFault(recording))
          const variants = new Set(losses.map(({ point }) => point.variant))
          expect(variants.has('A')).toBe(false)
          expect(variants.has('B')).toBe(true)
        },
        TIMEOUT_MS,
      )

      overlapping(
        'makes calls unknown during a write of 6 s, and then serves all calls (G18)',
        async () => {
          using lab = new CrashLab(redisAlways(noCounts()))
          const recording = await recorded(lab, ['fsync:6000ms:0:1'])
          expect(recording.phases).toContain('after fsync:6000ms:0:1: the server lives')
          expect(unknownCalls(recording)).toBeGreaterThan(0)
          expect(await lab.losses(recording, afterEachFault(recording))).toEqual([])
        },
        TIMEOUT_MS,
      )

      overlapping(
        'lives with everysec on a full disk, and serves all calls within 10 s of free space (G18)',
        async () => {
          using lab = new CrashLab(redisAlways(noCounts()))
          const recording = await recorded(lab, [`write:${ENOSPC}`], 'everysec')
          expect(recording.phases).toContain(`after write:${ENOSPC}: the server lives`)
        },
        TIMEOUT_MS,
      )
    })
  }),
)

/** The store forgets the acks of a life after three more (G2), so a recording has two faults. */
function pairsOf(faults: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: faults.length / 2 }, (_, i) => faults.slice(2 * i, 2 * i + 2))
}
