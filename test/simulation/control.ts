/** A control: a deliberate defect that a test must find. It is applied to a copy of the source. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SearchResult } from './main.ts'

export interface Control {
  readonly name: string
  readonly file: string
  /** Must match exactly once. */
  readonly find: string
  readonly replace: string
  readonly layer: 'simulation'
  readonly invariant: string
  /** Where it is found: the first seed, and how many are tried. */
  readonly seeds: { readonly base: number; readonly count: number }
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CONTROLS = join(ROOT, 'test/controls')
/** A simulator that takes longer is killed. */
const MAX_MS = process.env['SOAK'] === '1' ? 7_000_000 : 240_000
const MAX_OUTPUT_BYTES = 16 * 1_048_576

/** Reads all controls of the simulation. */
export async function readControls(): Promise<readonly Control[]> {
  const files = (await readdir(CONTROLS)).filter((file) => file.endsWith('.json')).toSorted()
  return Promise.all(
    files.map(async (file) => {
      const control = JSON.parse(await readFile(join(CONTROLS, file), 'utf8')) as Omit<Control, 'name'>
      return { ...control, name: file.replace('.json', '') }
    }),
  )
}

/** Runs the simulator of the repository, or of a copy of it, in a process of its own. */
export function simulate(args: readonly string[], root = ROOT): Promise<SearchResult> {
  return new Promise((resolve, reject) => {
    const main = join(root, 'test/simulation/main.ts')
    execFile(
      process.execPath,
      [main, ...args],
      { maxBuffer: MAX_OUTPUT_BYTES, timeout: MAX_MS },
      (error, stdout, stderr) => {
        try {
          resolve(JSON.parse(stdout) as SearchResult)
        } catch {
          reject(new Error(`the simulator failed: ${stderr}`, { cause: error }))
        }
      },
    )
  })
}

/** Applies a control to a copy of the source, and searches its seeds there. */
export async function searchWith({ file, find, replace, seeds }: Control): Promise<SearchResult> {
  const copy = await mkdtemp(join(tmpdir(), 'muster-control-'))
  try {
    for (const folder of ['src', 'test/simulation'])
      await cp(join(ROOT, folder), join(copy, folder), {
        recursive: true,
        filter: (path) => !path.startsWith(join(ROOT, 'src/dashboard')),
      })
    await cp(join(ROOT, 'package.json'), join(copy, 'package.json'))
    await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    const text = await readFile(join(copy, file), 'utf8')
    if (text.split(find).length !== 2) throw new Error(`a control must match ${file} exactly once: ${find}`)
    await writeFile(
      join(copy, file),
      text.replace(find, () => replace),
    )
    return await simulate(['--base', String(seeds.base), '--seeds', String(seeds.count)], copy)
  } finally {
    await rm(copy, { recursive: true })
  }
}
