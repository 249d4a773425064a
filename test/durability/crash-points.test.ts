/**
 * Cuts the power at recorded disk operations of a SQLite store under load, and opens a store on what is left. Controls
 * prove that the same points find a store or a disk that loses changes.
 *
 * CRASH_POINT=1234C runs one point again. CRASH_SEED=7 chooses other points. SOAK=1 runs 1,000 points.
 */
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { overlapping } from '../kit/overlapping.ts'
import { recordRun } from '../kit/record-run.ts'
import { copyWith, NO_FOLDER_SYNC, SYNCHRONOUS_NORMAL } from './controls.ts'
import { withGcc } from './crash-log.ts'
import { afterFirstChange, allVariants, chooseOperations, countByPhase, CrashLab, uncovered } from './crash-points.ts'
import { SQLITE } from './judge.ts'

const IS_SOAK = process.env['SOAK'] === '1'
const POINTS = IS_SOAK ? 1_000 : 100
const CONTROL_POINTS = 20
const LATE_COMMIT_POINTS = 50
/** Enough for the share of losses, about seven tenths, to be far above the bound at any seed. */
const CHECKPOINT_POINTS = 80
const SEED = Number(process.env['CRASH_SEED'] ?? 20_261_123)
const TIMEOUT_MS = IS_SOAK ? 3_600_000 : 600_000

withGcc('a SQLite store after a power cut', () => {
  describe('a SQLite store after a power cut', () => {
    let lab: CrashLab

    beforeAll(() => {
      lab = new CrashLab(SQLITE)
    }, TIMEOUT_MS)
    afterAll(() => lab.close())

    overlapping(
      'has every acknowledged change, and reuses no token and no generation (G1, G2, G5, G7, G15)',
      async () => {
        const recording = await lab.record()
        const operations = chooseOperations(recording, POINTS, SEED)
        const started = performance.now()
        const points = allVariants(operations)
        const losses = await lab.losses(recording, points)
        recordRun({
          layer: 'L3',
          command: `${IS_SOAK ? 'SOAK=1 ' : ''}npm test -- test/durability/crash-points`,
          count: operations.length,
          counted: 'crash points of SQLite, 4 variants each',
          seedBase: SEED,
          mustHappen: countByPhase(recording, operations),
          found: losses.length,
          figures: { 'ms a crash': Math.round((performance.now() - started) / points.length) },
        })
        expect(losses).toEqual([])
        if (process.env['CRASH_POINT'] === undefined) expect(uncovered(recording, operations)).toEqual([])
      },
      TIMEOUT_MS,
    )

    overlapping(
      'fails this test if the disk drops every fsync',
      async () => {
        const recording = await lab.record({ env: { CRASHLOG_DROP: 'all' }, lives: [['first']] })
        const points = afterFirstChange(recording, CONTROL_POINTS, SEED)
        const losses = await lab.losses(recording, points)
        expect(losses.length).toBeGreaterThanOrEqual(0.9 * points.length)
      },
      TIMEOUT_MS,
    )

    overlapping(
      'fails this test if commits are synced by checkpoints only',
      async () => {
        const program = copyWith(SYNCHRONOUS_NORMAL, lab.folder('normal'))
        const recording = await lab.record({ program, lives: [['first']] })
        const points = afterFirstChange(recording, CHECKPOINT_POINTS, SEED)
        const losses = await lab.losses(recording, points)
        expect(losses.length).toBeGreaterThanOrEqual(0.5 * points.length)
      },
      TIMEOUT_MS,
    )

    overlapping(
      'fails this test if the name of a new folder is not synced',
      async () => {
        const program = copyWith(NO_FOLDER_SYNC, lab.folder('no-folder-sync'))
        const recording = await lab.record({ program, lives: [['first']] })
        const points = afterFirstChange(recording, CONTROL_POINTS, SEED)
        expect(await lab.losses(recording, points, (losses) => losses.length > 0)).not.toEqual([])
      },
      TIMEOUT_MS,
    )

    overlapping(
      'fails this test if calls are confirmed before their commit',
      async () => {
        const recording = await lab.record({ args: ['late'], lives: [['first']] })
        const points = afterFirstChange(recording, LATE_COMMIT_POINTS, SEED)
        expect(await lab.losses(recording, points, (losses) => losses.length > 0)).not.toEqual([])
      },
      TIMEOUT_MS,
    )
  })
})
