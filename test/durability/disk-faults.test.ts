/**
 * Makes disk operations of a SQLite store fail, lets the disk work again, and cuts the power later. After a failed
 * fsync, the kernel treats its pages as written, although they are not on the disk.
 *
 * SOAK=1 makes each of the first 24 operations of each kind fail.
 */
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { overlapping } from '../kit/overlapping.ts'
import { SLACK } from '../kit/slack.ts'
import { copyWith, LOG_KEPT_AFTER_FAULT, LOG_NOT_WRITTEN_AGAIN } from './controls.ts'
import { withGcc } from './crash-log.ts'
import { afterEachFault, CrashLab, roundsWithFaults, type Recording } from './crash-points.ts'
import { SQLITE } from './judge.ts'

const IS_SOAK = process.env['SOAK'] === '1'
const TIMEOUT_MS = IS_SOAK ? 3_600_000 : 600_000
const [EIO, ENOSPC, EROFS] = [5, 28, 30]
const FIRSTS = IS_SOAK ? Array.from({ length: 24 }, (_, i) => i) : [0, 1, 4, 5]

/** The close of the handle that failed makes a checkpoint, which has to fail as well. */
const LONG_FSYNC_FAULTS = FIRSTS.map((first) => `fsync:${EIO}:${first}`)

withGcc('a SQLite store on a disk with faults', () => {
  describe('a SQLite store on a disk with faults', () => {
    let lab: CrashLab

    beforeAll(() => {
      lab = new CrashLab(SQLITE)
    }, TIMEOUT_MS)
    afterAll(() => lab.close())

    overlapping(
      'makes a call unknown whose fsync takes 9 s, blocks no event loop, and then serves all calls (G18)',
      async () => {
        const { outcome, p99Ms } = JSON.parse(await lab.run('slow-disk-load.ts')) as { outcome: string; p99Ms: number }
        expect(outcome).toBe('STORAGE_UNAVAILABLE, unknown')
        expect(p99Ms).toBeLessThan(100 * SLACK)
      },
      TIMEOUT_MS,
    )

    overlapping.each([
      ['an fsync fails once', FIRSTS.map((first) => `fsync:${EIO}:${first}:1`)],
      ['fsyncs fail for a while', LONG_FSYNC_FAULTS],
      ['a write fails', FIRSTS.map((first) => `write:${EIO}:${3 * first}:1`)],
      ['a read fails', FIRSTS.map((first) => `read:${EIO}:${first}:1`)],
      ['reads fail for a while', FIRSTS.map((first) => `read:${EIO}:${first}`)],
      [
        'the disk is full',
        FIRSTS.flatMap((first) => [`write,fsync:${ENOSPC}:${3 * first}`, `write:${ENOSPC}:${first}:1`]),
      ],
      ['the disk is read-only', FIRSTS.map((first) => `write,truncate,open:${EROFS}:${3 * first}`)],
    ])(
      'loses nothing in a power cut after %s, and serves all calls within 10 s (G1, G18)',
      async (_, faults) => {
        const recording = await recorded(lab, faults)
        expect(roundsWithFaults(recording)).toBeGreaterThanOrEqual(faults.length / 2)
        expect(await lab.losses(recording, afterEachFault(recording))).toEqual([])
      },
      TIMEOUT_MS,
    )

    overlapping(
      'loses nothing if it is restarted on a full disk after a failed fsync (G1)',
      async () => {
        const recording = await lab.record({ program: 'full-disk-load.ts', lives: [[]] })
        expect(roundsWithFaults(recording)).toBe(2)
        expect(await lab.losses(recording, afterEachFault(recording))).toEqual([])
      },
      TIMEOUT_MS,
    )

    overlapping(
      'fails this test if a log on a full disk is not written again',
      async () => {
        const program = copyWith(LOG_NOT_WRITTEN_AGAIN, lab.folder('not-again'), 'full-disk-load.ts')
        const recording = await lab.record({ program, lives: [[]] })
        expect(await lab.losses(recording, afterEachFault(recording), ({ length }) => length > 0)).not.toEqual([])
      },
      TIMEOUT_MS,
    )

    overlapping(
      'fails this test if the log is used further after a failed fsync',
      async () => {
        const program = copyWith(LOG_KEPT_AFTER_FAULT, lab.folder('log-kept'), 'fault-load.ts')
        const recording = await recorded(lab, LONG_FSYNC_FAULTS, program)
        expect(await lab.losses(recording, afterEachFault(recording), ({ length }) => length > 0)).not.toEqual([])
      },
      TIMEOUT_MS,
    )
  })
})

function recorded(lab: CrashLab, faults: readonly string[], program?: string): Promise<Recording> {
  return lab.record({ program: program ?? 'fault-load.ts', lives: [faults] })
}
