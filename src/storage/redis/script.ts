/**
 * @module storage/redis/script
 * Defines a Lua script as the backend runs it: one script per operation and batch, each atomic in Redis.
 *
 * Scripts are the files of `scripts/`; their shared parts are in `scripts/include/` (script-text.ts). ARGV[1] is always
 * the time of the store, empty unless a test brings its own clock (include/now.lua). The operation's own arguments
 * start at ARGV[2]. A script parses and checks all of ARGV, reads everything, decides, then writes. One that fails
 * midway keeps its earlier writes, so nothing after the first write may fail.
 */
import { createHash } from 'node:crypto'
import { SCRIPT_CONSTANTS } from './script-constants.ts'
import { SCRIPT_FILES } from './script-files.ts'
import { resolveScript } from './script-text.ts'

export interface Script {
  readonly name: string
  readonly source: string
  readonly sha: string
  readonly writes: boolean
  /** Names of its keys, for {@link keysOfType}. */
  readonly keys: readonly string[]
}

const made: Script[] = []

/** All scripts there are, for the connection, which loads them before the first call. */
export const scripts = (): readonly Script[] => made

/** The script of `scripts/<name>.lua`. */
export const script = (name: string): Script => defineScript(name, SCRIPT_FILES)

/** The end of the name of a grouped variant. */
export const GROUPED = ' (grouped)'

/** A script of the tasks, with its grouped variant (script-text.ts). */
export interface TaskScript {
  readonly plain: Script
  readonly grouped: Script
}

/** The script of `scripts/<name>.lua` in both variants. */
export const taskScript = (name: string): TaskScript => ({
  plain: script(name),
  grouped: defineScript(name, SCRIPT_FILES, true),
})

/** @param files text by path; includes are resolved among them. @param isGrouped Whether it is the grouped variant. */
export function defineScript(name: string, files: Readonly<Record<string, string>>, isGrouped = false): Script {
  const { source, keys, flags } = resolveScript(`${name}.lua`, files, SCRIPT_CONSTANTS, isGrouped)
  const result: Script = {
    name: isGrouped ? name + GROUPED : name,
    source,
    sha: createHash('sha1').update(source).digest('hex'),
    writes: !flags.includes('no-writes'),
    keys,
  }
  made.push(result)
  return result
}
