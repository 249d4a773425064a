/**
 * Cuts the power at recorded disk operations of a redis-server under load, and starts a server on what is left. Redis
 * runs by real time, so each recording is another one.
 *
 * SOAK=1 runs 1,000 points. After a loss the recording is kept: its path and the points stand in the message, and
 * CRASH_LOG=PATH CRASH_POINT=1234C judges a point of it again. CRASH_SEED=7 chooses other points.
 */
import { copyFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect } from '@jest/globals'
import { overlapping } from '../kit/overlapping.ts'
import { recordRun } from '../kit/record-run.ts'
import { withRedisServer } from '../kit/redis-server.ts'
import { withGcc } from './crash-log.ts'
import {
  afterFirstChange,
  allVariants,
  chooseOperations,
  countByPhase,
  CrashLab,
  uncovered,
  type Loss,
  type Recording,
} from './crash-points.ts'
import { noCounts, redisAlways, redisEverysec, repairFigures } from './redis-judge.ts'

const IS_SOAK = process.env['SOAK'] === '1'
const POINTS = IS_SOAK ? 1_000 : 25
const EVERYSEC_POINTS = IS_SOAK ? 250 : 5
const CONTROL_POINTS = IS_SOAK ? 100 : 10
/** Of ten points more may lie just behind a sync of the second than of a hundred. */
const CONTROL_SHARE = IS_SOAK ? 0.9 : 0.5
const COMMAND = `${IS_SOAK ? 'SOAK=1 ' : ''}npm test -- test/durability/redis-crash-points`
const SEED = Number(process.env['CRASH_SEED'] ?? 20_261_123)
/** Where a recording that has a loss is kept. */
const KEPT = join(tmpdir(), 'muster-crash-log')
const TIMEOUT_MS = IS_SOAK ? 7_200_000 : 600_000

withGcc('a Redis after a power cut', () =>
  withRedisServer('a Redis after a power cut', () => {
    describe('a Redis after a power cut', () => {
      overlapping(
        'has with appendfsync always every acknowledged change, and keeps its epoch (G1, G2, G5, G7, G15)',
        async () => {
          const counts = noCounts()
          using lab = new CrashLab(redisAlways(counts))
          const recording = await lab.recordOrLoad()
          const operations = chooseOperations(recording, POINTS, SEED)
          const points = allVariants(operations)
          const losses = await lab.losses(recording, points)
          recordRun({
            layer: 'L3',
            command: COMMAND,
            count: operations.length,
            counted: 'crash points of Redis with always, 4 variants each',
            seedBase: SEED,
            mustHappen: countByPhase(recording, operations),
            found: losses.length,
            figures: repairFigures(counts),
          })
          expectNoLoss(recording, losses)
          if (IS_SOAK) expect(uncovered(recording, operations)).toEqual([])
        },
        TIMEOUT_MS,
      )

      overlapping(
        'has with appendfsync everysec all but the last 2 s, a new epoch, and reuses no token (G26)',
        async () => {
          const counts = noCounts()
          using lab = new CrashLab(redisEverysec(counts))
          const recording = await lab.recordOrLoad()
          const operations = chooseOperations(recording, EVERYSEC_POINTS, SEED)
          const losses = await lab.losses(recording, allVariants(operations))
          recordRun({
            layer: 'L3',
            command: COMMAND,
            count: operations.length,
            counted: 'crash points of Redis with everysec, 4 variants each: changes older than 2 s lost',
            seedBase: SEED,
            mustHappen: { 'crashes that lost changes of the last 2 s': counts.withLoss },
            found: losses.length,
            figures: { ...repairFigures(counts), 'crashes with a damage before the last file': counts.unrepairable },
          })
          expectNoLoss(recording, losses)
          expect(counts.lost).toBeGreaterThan(0)
        },
        TIMEOUT_MS,
      )

      overlapping.each([
        ['the disk drops every fsync', ['always', 'first'], { CRASHLOG_DROP: 'all' }],
        ['the server syncs each second', ['everysec', 'first'], {}],
      ])(
        'fails this test if %s',
        async (_, life, env) => {
          using lab = new CrashLab(redisAlways(noCounts()))
          const recording = await lab.record({ env, lives: [life] })
          const points = afterFirstChange(recording, CONTROL_POINTS, SEED)
          const losses = await lab.losses(recording, points)
          expect(losses.length).toBeGreaterThanOrEqual(CONTROL_SHARE * points.length)
        },
        TIMEOUT_MS,
      )

      overlapping(
        'fails this test if the names of new files are not synced',
        async () => {
          using lab = new CrashLab(redisAlways(noCounts()))
          const recording = await lab.record({ env: { CRASHLOG_DROP: 'folders' }, lives: [['always', 'first']] })
          const points = afterFirstChange(recording, CONTROL_POINTS, SEED)
          expect(await lab.losses(recording, points, (losses) => losses.length > 0)).not.toEqual([])
        },
        TIMEOUT_MS,
      )
    })
  }),
)

/** Keeps a recording that has a loss. */
function expectNoLoss({ log }: Recording, losses: readonly Loss[]): void {
  if (losses.length > 0) copyFileSync(log, KEPT)
  const sentences = losses.map(
    ({ point: { operation, variant }, phase, violations }) =>
      `${operation}${variant} in ${phase}: ${violations.length} violations: ${violations.slice(0, 3).join('; ')}`,
  )
  expect(sentences.length === 0 ? [] : [KEPT, ...sentences]).toEqual([])
}
