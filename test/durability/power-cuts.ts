/**
 * Cuts the power of a store on a real ext4: stops the processes that write, copies the image of their disk, and lets
 * them continue. The kernel decides what was on the disk.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../src/runtime/index.ts'
import { eventually } from '../kit/eventually.ts'
import type { CrashStore, Loss } from './crash-points.ts'
import { LoopDisk } from './loop-disk.ts'
import { noteOf } from './marks.ts'

const DISK_MIB = 64
/** A cut comes up to this time after the beginning of its phase. */
const WITHIN_PHASE_MS = 120
const POLL_MS = 2

export interface PowerCut {
  /** The copied image. */
  readonly image: string
  /** What the process was doing, and all that it had marked. */
  readonly phase: string
  readonly marks: readonly string[]
}

export interface CutOptions {
  readonly store: CrashStore
  /** In place of that of the store. */
  readonly program?: string
  readonly lives?: readonly (readonly string[])[]
  /** A new folder. It has the images until it is removed. */
  readonly folder: string
  /** The phase in which each cut is made, as far as the process is still in it. In their order. */
  readonly phases: readonly string[]
  readonly random: Random
}

/** Runs the load once on a new disk, with cuts. A load that ends sooner gets fewer. */
export async function powerCuts(options: CutOptions): Promise<readonly PowerCut[]> {
  const { store, folder, random } = options
  const { program = join(import.meta.dirname, store.program), lives = store.lives } = options
  mkdirSync(folder)
  const disk = LoopDisk.create(join(folder, 'disk'), DISK_MIB)
  const cuts: (PowerCut | undefined)[] = []
  const phases = [...options.phases]
  let load: Load | undefined
  try {
    for (const life of lives) {
      load = new Load([program, disk.root, ...life], folder)
      while (await load.reaches(phases[0])) {
        const phase = phases.shift() ?? ''
        // Phases without load may take a few milliseconds.
        const share = phase.includes('load') ? random.unit() : random.unit() ** 3
        await sleep(share * WITHIN_PHASE_MS)
        cuts.push(await load.cut(disk, join(folder, `image-${cuts.length}`)))
      }
      await load.ended
      load.kill()
    }
  } finally {
    load?.kill()
    disk.close()
  }
  return cuts.filter((each) => each !== undefined)
}

/** Judges what each cut left. */
export async function lossesOf(cuts: readonly PowerCut[], store: CrashStore, folder: string): Promise<readonly Loss[]> {
  const losses: Loss[] = []
  for (const [number, { image, phase, marks }] of cuts.entries()) {
    const disk = LoopDisk.of(join(folder, `recovered-${number}`), image)
    try {
      const violations = await store.judge(disk.root, marks)
      if (violations.length > 0) losses.push({ point: { operation: number, variant: 'B' }, phase, violations })
    } finally {
      disk.close()
    }
  }
  return losses
}

/** A load program and the processes that it starts, which are one process group. */
class Load {
  readonly ended: Promise<unknown>
  readonly #folder: string
  readonly #group: number
  #hasEnded = false
  readonly #onExit = (): void => this.kill()

  /** @param folder Gets the marks, so that they are not on the disk. */
  constructor(args: readonly string[], folder: string) {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
      env: { PATH: process.env['PATH'] ?? '', MARKS: folder },
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    this.#folder = folder
    this.#group = child.pid ?? 0
    this.ended = once(child, 'exit').then(() => (this.#hasEnded = true))
    process.once('exit', this.#onExit)
  }

  /** Waits until this phase has begun. False: the load ended before. */
  async reaches(phase: string | undefined): Promise<boolean> {
    if (phase === undefined) return false
    while (!this.#hasEnded && !this.#phases().includes(phase)) await sleep(POLL_MS)
    return !this.#hasEnded
  }

  /** Copies the image while the processes are stopped. Returns undefined if they have ended. */
  async cut(disk: LoopDisk, image: string): Promise<PowerCut | undefined> {
    if (!this.#signal('SIGSTOP')) return undefined
    await eventually('the processes are stopped', () =>
      threadStates(this.#group).every((state) => 'TZX'.includes(state)),
    )
    const marks = marksIn(this.#folder)
    await disk.copyImage(image)
    this.#signal('SIGCONT')
    return { image, phase: this.#phases().at(-1) ?? '', marks }
  }

  /** Repeatable. */
  kill(): void {
    process.off('exit', this.#onExit)
    if (!this.#hasEnded) this.#signal('SIGKILL')
  }

  #signal(signal: NodeJS.Signals): boolean {
    try {
      return process.kill(-this.#group, signal)
    } catch {
      return false // All processes have ended.
    }
  }

  #phases(): readonly string[] {
    return marksIn(this.#folder).flatMap((line) => noteOf('phase', line) ?? [])
  }
}

function marksIn(folder: string): readonly string[] {
  try {
    return readFileSync(join(folder, 'marks'), 'utf8').split('\n').slice(0, -1)
  } catch {
    return [] // The process has not started yet.
  }
}

/** The state of each thread of a process group, one letter each. */
function threadStates(group: number): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const [, , processGroup] = statOf(`/proc/${pid}/stat`)
      if (processGroup !== `${group}`) return []
      return tasksOf(pid).map((task) => statOf(`/proc/${pid}/task/${task}/stat`)[0] ?? 'X')
    })
}

/** The fields behind the name of a process: state, parent, group. Empty if it has ended. */
function statOf(path: string): readonly string[] {
  try {
    const text = readFileSync(path, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

function tasksOf(pid: string): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}
