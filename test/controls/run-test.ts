/**
 * Runs the tests of one file whose titles contain a text, in this process: `node test/controls/run-test.ts FILE TITLE`.
 * Stops at the first failure. Prints one line of JSON: how many tests ran, and the title of the one that failed.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InProcessTests, replaceJest } from '../mutation/in-process.ts'
import { collect } from '../mutation/jest-globals.ts'

export interface TestRun {
  readonly tests: number
  readonly failed: string | null
}

const LIMIT_MS = 30_000
const [file = '', title = ''] = process.argv.slice(2)

replaceJest()
const all = await collect(file, () => import(pathToFileURL(resolve(file)).href))
const tests = all.filter((test) => test.title.includes(title))
const inProcess = new InProcessTests()
let failed: string | null = null
for (const test of tests) {
  if ((await inProcess.run(test, LIMIT_MS)).kind === 'passed') continue
  failed = test.title
  break
}
process.stdout.write(`${JSON.stringify({ tests: tests.length, failed } satisfies TestRun)}\n`)
process.exit() // A test that failed may leave servers and timers behind.
