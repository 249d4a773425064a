/**
 * @module storage/redis/script
 * A Lua script as the backend runs it: one script an operation and batch, each atomic in Redis.
 *
 * Every script gets the same prelude: `now`, the store's time in integer milliseconds (Redis TIME; ARGV[1] when a test
 * brings its own clock), and `int(x)`, a number as text without an exponent. What the operation brings starts at
 * ARGV[2]. Shape of a body: parse and check all of ARGV, read everything, decide, then write; a script that fails
 * midway keeps its earlier writes, so nothing after the first write may fail.
 */
import { createHash } from 'node:crypto'

/** `allow-oom`: runs at the memory limit, for scripts that only shrink or settle. `no-writes`: reads alone. */
export type ScriptFlag = 'allow-oom' | 'no-writes'

export interface Script {
  readonly name: string
  readonly source: string
  readonly sha: string
  readonly writes: boolean
}

const PRELUDE = `
local now
if ARGV[1] ~= '' then now = tonumber(ARGV[1]) else local t = redis.call('TIME'); now = t[1] * 1000 + math.floor(t[2] / 1000) end
local function int(x) return string.format('%.0f', x) end
`

const made: Script[] = []

/** All scripts there are, for the connection, which loads them before the first call. */
export const scripts = (): readonly Script[] => made

export function script(name: string, flags: readonly ScriptFlag[], body: string): Script {
  const header = flags.length === 0 ? '#!lua' : `#!lua flags=${flags.join(',')}`
  const source = `${header}\n${PRELUDE}\n${body.trim()}\n`
  const result: Script = {
    name,
    source,
    sha: createHash('sha1').update(source).digest('hex'),
    writes: !flags.includes('no-writes'),
  }
  made.push(result)
  return result
}
