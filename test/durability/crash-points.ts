/** Records a run of a load, chooses crash points in it, and judges what a store recovers after each of them. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { seededRandom } from '../../src/runtime/index.ts'
import { History } from '../kit/history.ts'
import { buildCrashLog, readCrashLog, runRecorded, type DiskOperation } from './crash-log.ts'
import { Disk, VARIANTS, writeImage, type DiskImage, type Variant } from './disk.ts'
import { historyOf, noteOf } from './marks.ts'

/** A folder in memory where there is one, because recovered stores sync their files and the result is not kept. */
const MEMORY_FOLDER = '/dev/shm'

export interface Recording {
  /** The file that has it. */
  readonly log: string
  readonly operations: readonly DiskOperation[]
  /** The phase of each operation. */
  readonly phases: readonly string[]
}

export interface RecordOptions {
  /** The load program, if it is not that of the store: a file of this folder, or a path. */
  readonly program?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** In place of those of the store. */
  readonly lives?: readonly (readonly string[])[]
}

/** A moment right after an operation, and what a crash keeps of the operations that were not synced. */
export interface CrashPoint {
  /** The number of operations before the crash. */
  readonly operation: number
  readonly variant: Variant
}

export interface Loss {
  readonly point: CrashPoint
  readonly phase: string
  readonly violations: readonly string[]
}

/** A store whose crash points are judged. */
export interface CrashStore {
  /** The load program, a file of this folder. */
  readonly program: string
  /** The first arguments of each run of the program; the runs share a folder. */
  readonly lives: readonly (readonly string[])[]
  /** Whether the store needs a file system that keeps the order of changes of names, as ext4 and XFS do. */
  readonly needsOrderedNames: boolean
  /** So many points are judged simultaneously; 1 by default. More are of use where the judge waits for a process. */
  readonly maxJudged?: number
  /**
   * Opens the store on the files below `root`, and returns what it lost or doubled.
   *
   * @param marks The lines that the recorded process had written before the crash.
   */
  readonly judge: (root: string, marks: readonly string[]) => Promise<readonly string[]>
}

/** Keeps recordings and recovered stores in folders of its own. */
export class CrashLab {
  readonly #store: CrashStore
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), 'muster-durability-')))
  readonly #recovered = mkdtempSync(join(existsSync(MEMORY_FOLDER) ? MEMORY_FOLDER : tmpdir(), 'muster-recovered-'))
  readonly #library = join(this.#folder, 'crashlog.so')
  #runs = 0
  #judged = 0

  constructor(store: CrashStore) {
    this.#store = store
    buildCrashLog(this.#library)
  }

  /** Removes the folders. */
  close(): void {
    for (const folder of [this.#folder, this.#recovered]) rmSync(folder, { recursive: true, force: true })
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** Returns the path of a new folder. */
  folder(name: string): string {
    const path = join(this.#folder, name)
    mkdirSync(path)
    return path
  }

  /** Runs a program on a new folder, and returns what it printed. */
  run(program: string): Promise<string> {
    const root = this.folder(`run-${(this.#runs += 1)}`)
    const args = [join(import.meta.dirname, program), root]
    return runRecorded({ library: this.#library, root, log: `${root}.log`, args })
  }

  /** Runs the load, each of its lives once. */
  async record({
    program = this.#store.program,
    args = [],
    env = {},
    lives = this.#store.lives,
  }: RecordOptions = {}): Promise<Recording> {
    const name = join(this.#folder, `recording-${(this.#runs += 1)}`)
    const root = join(name, 'root')
    mkdirSync(root, { recursive: true })
    const log = join(name, 'log')
    for (const life of lives)
      await runRecorded({
        library: this.#library,
        root,
        log,
        args: [resolve(import.meta.dirname, program), root, ...life, ...args],
        env,
      })
    const operations = readCrashLog(log)
    requireComplete(operations, root)
    rmSync(root, { recursive: true })
    return { log, operations, phases: phasesOf(operations) }
  }

  /** Reads the recording that CRASH_LOG names, or makes one. */
  async recordOrLoad(): Promise<Recording> {
    const log = process.env['CRASH_LOG']
    if (log === undefined) return this.record()
    const operations = readCrashLog(log)
    return { log, operations, phases: phasesOf(operations) }
  }

  /**
   * Judges the points, in the order of their operations.
   *
   * @param isEnough Called with the losses so far, before each point; true ends the search.
   */
  async losses(
    { operations, phases }: Recording,
    points: readonly CrashPoint[],
    isEnough: (losses: readonly Loss[]) => boolean = () => false,
  ): Promise<readonly Loss[]> {
    const disk = new Disk(this.#store.needsOrderedNames)
    const losses: Loss[] = []
    const marks = marksOf(operations)
    const underWay = new Set<Promise<void>>()
    const judge = async (point: CrashPoint): Promise<void> => {
      const violations = await this.#judge(disk.image(point.variant, randomOf(point)), marks, point.operation)
      if (violations.length > 0) losses.push({ point, phase: phases[point.operation - 1] ?? '', violations })
    }
    let done = 0
    try {
      for (const point of points.toSorted((a, b) => a.operation - b.operation)) {
        if (isEnough(losses)) break
        for (; done < point.operation; done += 1) disk.apply(operations[done] as DiskOperation)
        const judged = judge(point).finally(() => underWay.delete(judged))
        underWay.add(judged)
        if (underWay.size >= (this.#store.maxJudged ?? 1)) await Promise.race(underWay)
      }
      await Promise.all(underWay)
    } finally {
      await Promise.allSettled(underWay)
    }
    return losses
  }

  async #judge(image: DiskImage, marks: readonly Mark[], operation: number): Promise<readonly string[]> {
    const lines = marks.filter((each) => each.operation < operation).map(({ line }) => line)
    const root = join(this.#recovered, `root-${(this.#judged += 1)}`)
    writeImage(image, root)
    try {
      return await this.#store.judge(root, lines)
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  }
}

/** Two points of one name get the same random choices. */
function randomOf({ operation, variant }: CrashPoint): ReturnType<typeof seededRandom> {
  return seededRandom(operation * 8 + variant.charCodeAt(0))
}

/**
 * Chooses operations: first one of each kind in each phase, then random ones, the same number in each phase if it has
 * that many. Marks are not chosen, because they change nothing on the disk. A point lies behind the marks that follow
 * its operation: they are what was acknowledged because of it.
 */
export function chooseOperations({ operations, phases }: Recording, count: number, seed: number): readonly number[] {
  const random = seededRandom(seed)
  const shuffled = operations
    .flatMap(({ kind }, index) => (kind === 'mark' ? [] : [{ index, order: random.unit() }]))
    .toSorted((a, b) => a.order - b.order)
  const kinds = new Set<string>()
  const perPhase = new Map<string, number>()
  const ranked = shuffled.map(({ index }) => {
    const kind = kindInPhase({ operations, phases }, index)
    const phase = phases[index] ?? ''
    const rank = kinds.has(kind) ? (perPhase.get(phase) ?? 0) + 1 : 0
    kinds.add(kind)
    perPhase.set(phase, Math.max(rank, perPhase.get(phase) ?? 0))
    return { index, rank }
  })
  return ranked
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, count)
    .map(({ index }) => {
      let end = index + 1
      while (operations[end]?.kind === 'mark') end += 1
      return end
    })
}

/** One point from CRASH_POINT, or all variants of the operations. */
export function allVariants(operations: readonly number[]): readonly CrashPoint[] {
  const point = process.env['CRASH_POINT']
  if (point !== undefined) return [{ operation: Number.parseInt(point, 10), variant: point.slice(-1) as Variant }]
  return operations.flatMap((operation) => VARIANTS.map((variant) => ({ operation, variant })))
}

/** Points at which a client already has an acknowledged change, and of which a crash keeps only what was synced. */
export function afterFirstChange(recording: Recording, count: number, seed: number): readonly CrashPoint[] {
  const isResult = ({ kind, data }: DiskOperation): boolean => kind === 'mark' && data.includes('{"end"')
  const first = recording.operations.findIndex(isResult)
  return chooseOperations(recording, 4 * count, seed)
    .filter((operation) => operation > first)
    .slice(0, count)
    .map((operation) => ({ operation, variant: 'B' }))
}

/** The ends of the faults, and of the work after each of them. */
export function afterEachFault({ operations, phases }: Recording): readonly CrashPoint[] {
  const ends = phases.flatMap((phase, i) => (i > 0 && phase !== phases[i - 1] ? [i] : []))
  return [...ends, operations.length].flatMap((operation) => VARIANTS.map((variant) => ({ operation, variant })))
}

/** The number of rounds in which a call of the store failed because of its fault. */
export function roundsWithFaults({ operations, phases }: Recording): number {
  return new Set(phases.filter((_, i) => operations[i]?.kind === 'fault')).size
}

/** The number of calls without a result. */
export function unknownCalls({ operations }: Recording): number {
  const lines = historyOf(marksOf(operations).map(({ line }) => line))
  return History.of(lines).calls.filter(({ end }) => end === Infinity).length
}

/** How many of the operations are in each phase. */
export function countByPhase({ phases }: Recording, operations: readonly number[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const operation of operations) {
    const phase = phases[operation - 1] ?? ''
    counts[phase] = (counts[phase] ?? 0) + 1
  }
  return counts
}

/** The kinds of operations in each phase that are no crash point. */
export function uncovered(recording: Recording, operations: readonly number[]): readonly string[] {
  const { operations: all } = recording
  const kinds = new Set(all.flatMap(({ kind }, i) => (kind === 'mark' ? [] : [kindInPhase(recording, i)])))
  for (const operation of operations) {
    let index = operation - 1
    while (all[index]?.kind === 'mark') index -= 1
    kinds.delete(kindInPhase(recording, index))
  }
  return [...kinds]
}

/** `write of master.db-wal in first load`: what a set of points has to cover. */
function kindInPhase({ operations, phases }: Omit<Recording, 'log'>, index: number): string {
  const { kind, path } = operations[index] as DiskOperation
  const name = path === '' ? 'the folder' : path.replaceAll(/\d+/g, 'N')
  return `${kind} of ${name} in ${phases[index]}`
}

interface Mark {
  readonly operation: number
  readonly line: string
}

function marksOf(operations: readonly DiskOperation[]): readonly Mark[] {
  return operations.flatMap(({ kind, data }, operation) =>
    kind === 'mark' ? [{ operation, line: data.toString().trimEnd() }] : [],
  )
}

function phasesOf(operations: readonly DiskOperation[]): readonly string[] {
  let phase = 'before the start'
  return operations.map(({ kind, data }) => {
    if (kind === 'mark') phase = noteOf('phase', data.toString()) ?? phase
    return phase
  })
}

/** Compares the replay of all operations with the files of the program: the log must not lack any operation. */
function requireComplete(operations: readonly DiskOperation[], root: string): void {
  const disk = new Disk()
  for (const operation of operations) disk.apply(operation)
  const image = disk.image('A', seededRandom(1))
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => path !== 'marks')
  const expected = [...image.keys()]
  if (found.toSorted().join() !== expected.toSorted().join())
    throw new Error(`the log describes ${expected.join()}, the program left ${found.join()}`)
  for (const [path, content] of image)
    if (content?.equals(readFileSync(join(root, path))) === false)
      throw new Error(`the log describes another content of ${path} than the program left`)
}
