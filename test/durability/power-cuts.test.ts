/**
 * Cuts the power of stores on a real ext4, and opens a store on what the kernel had written. It checks the model of
 * the disk that the crash points use. Controls prove that a store that syncs too little is found.
 *
 * SOAK=1 makes 200 cuts a store, 60 of a Redis that syncs each second. CUT_SEED=7 chooses other moments.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { seededRandom } from '../../src/runtime/index.ts'
import { overlapping } from '../kit/overlapping.ts'
import { recordRun } from '../kit/record-run.ts'
import { withRedisServer } from '../kit/redis-server.ts'
import { copyWith, SYNCHRONOUS_NORMAL } from './controls.ts'
import type { CrashStore, Loss } from './crash-points.ts'
import { SQLITE } from './judge.ts'
import { withLoopDisks } from './loop-disk.ts'
import { lossesOf, powerCuts, type CutOptions, type PowerCut } from './power-cuts.ts'
import { noCounts, redisAlways, redisEverysec, repairFigures } from './redis-judge.ts'

const IS_SOAK = process.env['SOAK'] === '1'
const CUTS = IS_SOAK ? 200 : 10
const EVERYSEC_CUTS = IS_SOAK ? 60 : 6
const CONTROL_CUTS = IS_SOAK ? 20 : 6
/** The share of cuts that must lose changes. Of only six, several may happen just after the sync of that second. */
const EVERYSEC_SHARE = IS_SOAK ? 0.9 : 0.5
/** So that the history and the number of images stay small. */
const CUTS_PER_RUN = 5
const SEED = Number(process.env['CUT_SEED'] ?? 20_261_125)
const TIMEOUT_MS = IS_SOAK ? 7_200_000 : 600_000
const LIVES = ['first', 'second']
const LOAD_PHASES = ['start', 'load', 'checkpoint', 'load after a checkpoint']
const SQLITE_PHASES = [
  ...LOAD_PHASES.map((phase) => `first ${phase}`),
  'long log',
  'load after a long log',
  ...LOAD_PHASES.map((phase) => `second ${phase}`),
  'close',
]
const REDIS_PHASES = [
  ...LIVES.flatMap((life) => ['start', 'load', 'rewrite', 'load after a rewrite'].map((phase) => `${life} ${phase}`)),
  'close',
]

const EVERYSEC_PHASES = ['first load', 'first rewrite', 'first load after a rewrite']

const PARENT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

withLoopDisks('a store after a power cut of a real disk', () => {
  let folder = ''
  let runs = 0

  beforeAll(() => {
    folder = mkdtempSync(join(PARENT, 'muster-power-cuts-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  /**
   * Tries to cut in each of the phases equally often, at random moments. A short phase may end before its cut.
   *
   * @param control judges the same cuts as another store, which must find losses.
   */
  async function judged(
    load: Omit<CutOptions, 'folder' | 'phases' | 'random'>,
    phases: readonly string[],
    count: number,
    control?: CrashStore,
  ) {
    const random = seededRandom(SEED)
    const cuts: PowerCut[] = []
    const losses: Loss[] = []
    const controlLosses: Loss[] = []
    let tried = 0
    for (let run = 0; cuts.length < count && run < count; run += 1) {
      const wanted = Math.min(CUTS_PER_RUN, count - cuts.length)
      const chosen = new Set(Array.from({ length: wanted }, (_, i) => (tried + i) % phases.length))
      tried += wanted
      const runFolder = join(folder, `run-${(runs += 1)}`)
      const inOrder = phases.filter((_, i) => chosen.has(i))
      const made = await powerCuts({ ...load, folder: runFolder, phases: inOrder, random })
      losses.push(...(await lossesOf(made, load.store, runFolder)))
      if (control !== undefined) controlLosses.push(...(await lossesOf(made, control, runFolder)))
      cuts.push(...made)
      rmSync(runFolder, { recursive: true })
    }
    const byPhase = Object.fromEntries(phases.map((name) => [name, cuts.filter(({ phase }) => phase === name).length]))
    return { cuts: cuts.length, losses, controlLosses, byPhase }
  }

  type Run = Parameters<typeof recordRun>[0]

  function record(run: Pick<Run, 'count' | 'counted' | 'mustHappen' | 'found' | 'figures'>): void {
    const command = `${IS_SOAK ? 'SOAK=1 ' : ''}npm test -- test/durability/power-cuts`
    // Ten cuts do not reach eleven phases.
    recordRun({ layer: 'L4', command, seedBase: SEED, ...run, mustHappen: IS_SOAK ? (run.mustHappen ?? {}) : {} })
  }

  describe('a SQLite store after a power cut of a real disk', () => {
    overlapping(
      'has every acknowledged change, and reuses no token and no generation (G1, G2, G5, G7, G15)',
      async () => {
        const { cuts, losses, byPhase } = await judged({ store: SQLITE }, SQLITE_PHASES, CUTS)
        record({ count: cuts, counted: 'power cuts of SQLite on ext4', mustHappen: byPhase, found: losses.length })
        expect(losses).toEqual([])
        expect(cuts).toBe(CUTS)
        if (IS_SOAK) expect(Object.values(byPhase)).not.toContain(0)
      },
      TIMEOUT_MS,
    )

    overlapping(
      'fails this test if commits are synced by checkpoints only',
      async () => {
        mkdirSync(join(folder, 'normal'))
        const program = copyWith(SYNCHRONOUS_NORMAL, join(folder, 'normal'))
        const load = { store: SQLITE, program, lives: [['first']] }
        const { cuts, losses } = await judged(load, ['first load', 'load after a long log'], CONTROL_CUTS)
        expect(losses.length).toBeGreaterThanOrEqual(0.5 * cuts)
      },
      TIMEOUT_MS,
    )
  })

  withRedisServer('a Redis after a power cut of a real disk', () =>
    describe('a Redis after a power cut of a real disk', () => {
      overlapping(
        'has with appendfsync always every acknowledged change, and keeps its epoch (G1, G2, G5, G7, G15)',
        async () => {
          const counts = noCounts()
          const { cuts, losses, byPhase } = await judged({ store: redisAlways(counts) }, REDIS_PHASES, CUTS)
          record({
            count: cuts,
            counted: 'power cuts of Redis with always on ext4',
            mustHappen: byPhase,
            found: losses.length,
            figures: repairFigures(counts),
          })
          expect(losses).toEqual([])
          expect(cuts).toBe(CUTS)
          if (IS_SOAK) expect(Object.values(byPhase)).not.toContain(0)
        },
        TIMEOUT_MS,
      )

      overlapping(
        'has with appendfsync everysec all but the last 2 s, which fails the test above (G26)',
        async () => {
          const counts = noCounts()
          const load = { store: redisEverysec(counts), lives: [['everysec', 'first']] }
          const always = redisAlways(noCounts())
          const { cuts, losses, controlLosses, byPhase } = await judged(load, EVERYSEC_PHASES, EVERYSEC_CUTS, always)
          record({
            count: cuts,
            counted: 'power cuts of Redis with everysec on ext4: changes older than 2 s lost',
            mustHappen: { ...byPhase, 'cuts that lost changes of the last 2 s': counts.withLoss },
            found: losses.length,
            figures: {
              ...repairFigures(counts),
              'cuts with a damage before the last file': counts.unrepairable,
              'found if judged as always': controlLosses.length,
            },
          })
          expect(losses).toEqual([])
          expect(cuts).toBe(EVERYSEC_CUTS)
          expect(controlLosses.length).toBeGreaterThanOrEqual(EVERYSEC_SHARE * cuts)
          if (IS_SOAK) expect(Object.values(byPhase)).not.toContain(0)
        },
        TIMEOUT_MS,
      )
    }),
  )
})
