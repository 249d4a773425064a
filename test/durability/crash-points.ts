/** Records a run of the load, chooses crash points in it, and judges what a store recovers after each of them. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededRandom } from '../../src/runtime/index.ts'
import { History } from '../kit/history.ts'
import { buildCrashLog, readCrashLog, runRecorded, type DiskOperation } from './crash-log.ts'
import { Disk, writeImage, type DiskImage, type Variant } from './disk.ts'
import { judge } from './judge.ts'

/** A folder in memory where there is one, because recovered stores sync their files and the result is not kept. */
const MEMORY_FOLDER = '/dev/shm'
const PHASE = '{"phase":"'

export interface Recording {
  readonly operations: readonly DiskOperation[]
  /** The phase of each operation. */
  readonly phases: readonly string[]
}

export interface RecordOptions {
  /** The load program, if it is not the one of this folder. */
  readonly program?: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** The first arguments of each run of the program; the runs share a folder. */
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

/** Keeps recordings and recovered stores in folders of its own. */
export class CrashLab {
  readonly #folder = realpathSync(mkdtempSync(join(tmpdir(), 'muster-durability-')))
  readonly #recovered = mkdtempSync(join(existsSync(MEMORY_FOLDER) ? MEMORY_FOLDER : tmpdir(), 'muster-recovered-'))
  readonly #library = join(this.#folder, 'crashlog.so')
  #runs = 0

  constructor() {
    buildCrashLog(this.#library)
  }

  /** Removes the folders. */
  close(): void {
    for (const folder of [this.#folder, this.#recovered]) rmSync(folder, { recursive: true, force: true })
  }

  /** Returns the path of a new folder. */
  folder(name: string): string {
    const path = join(this.#folder, name)
    mkdirSync(path)
    return path
  }

  /** Runs the load once: a first life that ends by SIGKILL, and a second one that ends in order. */
  async record({
    program = join(import.meta.dirname, 'load.ts'),
    args = [],
    env = {},
    lives = [['first'], ['second']],
  }: RecordOptions = {}): Promise<Recording> {
    const name = join(this.#folder, `recording-${(this.#runs += 1)}`)
    const root = join(name, 'root')
    mkdirSync(root, { recursive: true })
    const log = join(name, 'log')
    for (const life of lives)
      await runRecorded({ library: this.#library, root, log, args: [program, root, ...life, ...args], env })
    const operations = readCrashLog(log)
    requireComplete(operations, root)
    rmSync(root, { recursive: true })
    return { operations, phases: phasesOf(operations) }
  }

  /**
   * Judges the points, in the order of their operations.
   *
   * @param isEnough Called with the losses so far, after each point; true ends the search.
   */
  async losses(
    { operations, phases }: Recording,
    points: readonly CrashPoint[],
    isEnough: (losses: readonly Loss[]) => boolean = () => false,
  ): Promise<readonly Loss[]> {
    const disk = new Disk()
    const losses: Loss[] = []
    const history = marksOf(operations)
    let done = 0
    for (const point of points.toSorted((a, b) => a.operation - b.operation)) {
      for (; done < point.operation; done += 1) disk.apply(operations[done] as DiskOperation)
      const violations = await this.#judge(disk.image(point.variant, randomOf(point)), history, point.operation)
      if (violations.length > 0) losses.push({ point, phase: phases[point.operation - 1] ?? '', violations })
      if (isEnough(losses)) break
    }
    return losses
  }

  async #judge(image: DiskImage, marks: readonly Mark[], operation: number): Promise<readonly string[]> {
    const lines = marks.filter((each) => each.operation < operation).map(({ line }) => line)
    const root = join(this.#recovered, 'root')
    writeImage(image, root)
    try {
      return await judge(join(root, 'state', 'master.db'), History.of(lines))
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

/** `write of master.db-wal in first load`: what a set of points has to cover. */
export function kindInPhase({ operations, phases }: Recording, index: number): string {
  const { kind, path } = operations[index] as DiskOperation
  return `${kind} of ${path === '' ? 'the folder' : path} in ${phases[index]}`
}

interface Mark {
  readonly operation: number
  readonly line: string
}

/** The lines of the history, each with the number of the operation that completed it. */
function marksOf(operations: readonly DiskOperation[]): readonly Mark[] {
  return operations.flatMap(({ kind, data }, operation) =>
    kind === 'mark' && !data.toString().startsWith(PHASE) ? [{ operation, line: data.toString() }] : [],
  )
}

function phasesOf(operations: readonly DiskOperation[]): readonly string[] {
  let phase = 'before the start'
  return operations.map(({ kind, data }) => {
    const line = kind === 'mark' ? data.toString() : ''
    if (line.startsWith(PHASE)) ({ phase } = JSON.parse(line) as { phase: string })
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
