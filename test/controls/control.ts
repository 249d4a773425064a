/**
 * Reads and runs the controls of the simulation. A control is a deliberate defect that a test must find. It is one
 * replacement in one source file, applied while the program is loaded, so the source itself stays as it is.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { simulate } from '../simulation/simulate.ts'
import type { SearchResult } from '../simulation/search.ts'

/** Removes or breaks one safeguard. */
export interface Edit {
  /** What the safeguard does, as a sentence without its end. */
  readonly safeguard: string
  readonly file: string
  /** Must match exactly once. */
  readonly find: string
  readonly replace: string
  /** Why the edit is this one, where that is not obvious. */
  readonly reason?: string
}

interface Control extends Edit {
  readonly layer: 'simulation'
  /** What finds the defect. */
  readonly invariant: string
  /** Where it is found: the first seed, and how many are tried. */
  readonly seeds: { readonly base: number; readonly count: number }
}

export interface NamedControl extends Control {
  /** The name of its file, without the extension. */
  readonly name: string
}

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = join(ROOT, 'test/controls')
export const APPLY = join(FOLDER, 'apply.ts')
/** Compiled files of the product stay here, because each control starts a process. */
export const COMPILE_CACHE = join(ROOT, 'coverage/compile-cache')

/** Lists of controls that other tests find. */
const LISTS = new Set(['by-tests.json', 'elsewhere.json'])

const pathOf = (name: string): string => join(FOLDER, `${name}.json`)

/** Reads all controls of the simulation, in the order of their names. */
export async function readControls(): Promise<readonly NamedControl[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith('.json') && !LISTS.has(file))
  const names = files.map((file) => file.slice(0, -5))
  return Promise.all(
    names.toSorted().map(async (name) => ({ name, ...(JSON.parse(await readFile(pathOf(name), 'utf8')) as Control) })),
  )
}

/** Writes a control, with its seeds in one line. */
export function writeControl({ name, ...control }: NamedControl): Promise<void> {
  const text = JSON.stringify(control, null, 2).replace(/\{\s+("base": \d+,)\s+("count": \d+)\s+\}/, '{ $1 $2 }')
  return writeFile(pathOf(name), `${text}\n`)
}

/** How often the text of a control occurs in its file: 1 if it can be applied. */
export async function countMatches({ file, find }: Edit): Promise<number> {
  return (await readFile(join(ROOT, file), 'utf8')).split(find).length - 1
}

/** Runs the simulator with the defect of a control. */
export function simulateWith({ name }: NamedControl, args: readonly string[]): Promise<SearchResult> {
  return simulate(args, {
    nodeArgs: ['--import', APPLY],
    env: { CONTROL: pathOf(name), NODE_COMPILE_CACHE: COMPILE_CACHE },
  })
}

/** Searches for the defect of a control in `count` seeds from `base` on. */
export const searchWith = (control: NamedControl, { base, count } = control.seeds): Promise<SearchResult> =>
  simulateWith(control, ['--base', String(base), '--seeds', String(count), '--until', control.invariant])
