/** Runs the simulator in a process of its own, because a simulation forbids the real clock. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { SearchResult } from './search.ts'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
/** A simulator that takes longer is killed. */
const MAX_MS = process.env['SOAK'] === '1' ? 7_000_000 : 600_000
/** Options of Node that let the garbage collector use one thread. With more, a search on all cores is slower. */
export const ONE_THREAD = ['--single-threaded-gc', '--max-semi-space-size=32']
const MAX_OUTPUT_BYTES = 64 * 1_048_576

/** Runs `main.ts` with `args`. `nodeArgs` are options of Node; `env` is added to the environment. */
export function simulate(
  args: readonly string[],
  { nodeArgs = [], env = {} }: { readonly nodeArgs?: readonly string[]; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<SearchResult> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [...ONE_THREAD, ...nodeArgs, MAIN, ...args],
      { maxBuffer: MAX_OUTPUT_BYTES, timeout: MAX_MS, env: { ...process.env, ...env } },
      (error, stdout, stderr) => {
        try {
          resolve(JSON.parse(stdout) as SearchResult)
        } catch {
          reject(new Error(`the simulator failed: ${stderr.slice(-4_000)}`, { cause: error }))
        }
      },
    )
  })
}
