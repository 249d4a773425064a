/**
 * Runs the published client in Node 22, this Node, Bun and Deno against a real master (D122). Chromium:
 * test/dashboard/browser/client.test.ts. Without hack/install-runtimes.sh the others are named skips; with CI=true the
 * installation itself fails.
 */
import { execFile } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { TOKENS } from '../kit/running-master.ts'
import { bundleProgram, EXPECTED, withWorker } from './runtime-fixture.ts'

const PROGRAMS = join(process.cwd(), '.tools/runtimes/bin')
const RUNTIMES = [
  { name: 'Node 22', program: join(PROGRAMS, 'node'), args: [], version: /^v22\./ },
  { name: 'this Node', program: process.execPath, args: [], version: /^v\d+\./ },
  { name: 'Bun', program: join(PROGRAMS, 'bun'), args: [], version: /^1\./ },
  {
    name: 'Deno',
    program: join(PROGRAMS, 'deno'),
    args: ['run', '--allow-net=127.0.0.1', '--v8-flags=--expose-gc'],
    version: /^deno 2\./,
  },
] as const
const run = promisify(execFile)

describe('the published client', () => {
  for (const { name, program, args, version } of RUNTIMES) {
    const test = existsSync(program) ? it : it.skip
    test(`works in ${name}${existsSync(program) ? '' : ': hack/install-runtimes.sh has not run'}`, async () => {
      expect((await run(program, ['--version'])).stdout).toMatch(version)
      const file = join(temporaryFolder(), 'program.mjs')
      const code = await bundleProgram('esm')
      const seen = await withWorker(async (url) => {
        const call = `exercise(${JSON.stringify(url)}, ${JSON.stringify(TOKENS.admin)})`
        writeFileSync(file, `${code}\nconsole.log(JSON.stringify(await ${call}))\n`)
        return (await run(program, [...args, file], { timeout: 40_000 })).stdout
      })
      expect(JSON.parse(seen)).toEqual(EXPECTED)
    }, 60_000)
  }
})
