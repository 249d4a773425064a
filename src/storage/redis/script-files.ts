/**
 * @module storage/redis/script-files
 * Reads the Lua files of `scripts/`. The build replaces this module with one that contains their texts
 * (hack/build.mjs), so that a built package reads no such file.
 */
import { readdirSync, readFileSync } from 'node:fs'

const FOLDER = new URL('scripts/', import.meta.url)

/** Text by path, such as `tasks.ack.lua` and `include/lease.lua`. */
export const SCRIPT_FILES: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.lua'))
    .map((path) => [path, readFileSync(new URL(path, FOLDER), 'utf8')]),
)
