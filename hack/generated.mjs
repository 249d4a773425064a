// Writes and compares generated files: `write` writes those that differ, `compare` returns the names of those that
// differ. Used by the update-* and verify-* programs, which pass paths and texts.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

const stale = (files) => [...files].filter(([path, text]) => !existsSync(path) || readFileSync(path, 'utf8') !== text)

export function write(files) {
  for (const [path, text] of stale(files)) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(`${path}.tmp`, text)
    renameSync(`${path}.tmp`, path)
    console.log(`${path}: written`)
  }
}

/** The exit code is 1 when one differs. `update`: the program that writes them. */
export function compare(files, update) {
  for (const [path] of stale(files)) {
    console.error(`${path}: differs from the code; run node ${update}`)
    process.exitCode = 1
  }
}
