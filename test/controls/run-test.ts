/**
 * Runs the tests of one file whose titles contain a text, in this process: `node test/controls/run-test.ts FILE TITLE`.
 * Stops at the first failure. Prints one line of JSON: how many tests ran, and how the first one failed. An exception
 * that no code catches counts as a failure of the running test.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InProcessTests, replaceJest, type Outcome } from '../mutation/in-process.ts'
import { collect, type Test } from '../mutation/jest-globals.ts'

export interface TestRun {
  readonly tests: number
  readonly failure: TestFailure | null
}

export interface TestFailure {
  readonly title: string
  readonly kind: Exclude<Outcome['kind'], 'passed'>
  readonly error: string
}

const [file = '', title = '', limitMs = '30000'] = process.argv.slice(2)
let tests: readonly Test[] = []
let running: Test | undefined

process.on('uncaughtException', (error) => {
  if (running !== undefined) end({ title: running.title, kind: 'failed', error: error.message })
})
replaceJest()
const all = await collect(file, () => import(pathToFileURL(resolve(file)).href))
tests = all.filter((test) => test.title.includes(title))
const inProcess = new InProcessTests()
for (running of tests) {
  const outcome = await inProcess.run(running, Number(limitMs))
  if (outcome.kind !== 'passed') end({ title: running.title, ...outcome })
}
end(null)

/** A test that failed may leave servers and timers behind. */
function end(failure: TestFailure | null): never {
  process.stdout.write(`${JSON.stringify({ tests: tests.length, failure } satisfies TestRun)}\n`)
  process.exit()
}
