/** @module cmd/admin/migrate/noun  `muster migrate` replaces old names of fields in manifests (D249). */
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from '../../readers.ts'
import { SettingsError } from '../../settings.ts'
import { readInput } from '../input.ts'
import type { Io } from '../io.ts'
import { EXIT, Failure, localVerb, type Noun } from '../verb.ts'
import type { Renamed } from './rename-fields.ts'
import { DRY_RUN } from '../options.ts'

const MANIFEST = /\.(?:ya?ml|json)$/
const NOT_SEARCHED = /^(?:\.|node_modules$)/

const migrate = localVerb({
  name: '',
  operands: '',
  least: 0,
  most: 0,
  summary: 'Replaces old names of fields of FleetWorkers and FleetWorkerSets in manifests. Keeps comments and layout.',
  examples: ['-f clusters/prod', '-f worker.yaml --dry-run', '-f - < worker.yaml | kubectl apply -f -'],
  options: {
    file: {
      name: 'file',
      short: 'f',
      value: 'FILE|DIR|-',
      help: 'Rewrite this file, or all manifests of this folder; - rewrites stdin to stdout.',
      read: text,
    },
    dryRun: { ...DRY_RUN, help: 'Print what would change; write nothing.' },
  },
  run: async ({ options: { file, dryRun }, io }) => {
    if (file === undefined)
      throw new SettingsError([{ name: '-f', problem: 'is missing; pass a file, a folder, or - for stdin' }])
    return file === '-' ? migrateStdin(io, dryRun) : migrateFiles(file, io, dryRun)
  },
})

/** Prints nothing when a part is left, so that a command which reads the output gets all or nothing. */
async function migrateStdin(io: Io, dryRun: boolean): Promise<number> {
  const { text: after, changes, faults } = await renamed(await readInput('-f', '-', io))
  if (faults.length > 0) throw new Failure(EXIT.FAILED, 'stdin was not rewritten', faults, 'change these lines by hand')
  if (dryRun) io.out(changes.map((each) => `${each}\n`).join(''))
  else io.out(after)
  return EXIT.OK
}

async function migrateFiles(path: string, io: Io, dryRun: boolean): Promise<number> {
  const left: string[] = []
  for (const file of await manifestsIn(path)) {
    const before = await readFile(file, 'utf8')
    // Other manifests may be templates that are no YAML.
    if (!before.includes('muster.dev/')) continue
    const { text: after, changes, faults } = await renamed(before)
    left.push(...faults.map((each) => `${file}: ${each}`))
    if (!dryRun && after !== before) await writeFile(file, after)
    for (const each of changes) io.out(`${file}: ${each}\n`)
  }
  if (left.length > 0)
    throw new Failure(EXIT.FAILED, 'some manifests were not rewritten', left, 'change these lines by hand')
  return EXIT.OK
}

/** The module loads the YAML library. */
async function renamed(before: string): Promise<Renamed> {
  const { renameFields } = await import('./rename-fields.ts')
  return renameFields(before)
}

/** The file itself, or all manifests below a folder; links are not followed. @throws {SettingsError} */
async function manifestsIn(path: string): Promise<readonly string[]> {
  try {
    return (await stat(path)).isDirectory() ? await filesBelow(path) : [path]
  } catch (error) {
    const { code = (error as Error).message } = error as NodeJS.ErrnoException
    throw new SettingsError([{ name: '-f', problem: `${path} cannot be read: ${code}` }])
  }
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = (await readdir(folder, { withFileTypes: true })).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const found: string[] = []
  for (const entry of entries.filter(({ name }) => !NOT_SEARCHED.test(name))) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) found.push(...(await filesBelow(path)))
    else if (entry.isFile() && MANIFEST.test(entry.name)) found.push(path)
  }
  return found
}

export const migrateNoun: Noun = { summary: 'replace old names of fields in manifests', verbs: [migrate] }
