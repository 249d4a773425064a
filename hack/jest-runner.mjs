// Runs each test file in a Node process of its own, with native ES modules and type stripping: jest-process.mjs.
// Jest's own runner evaluates every file in a VM context of a shared process, for which Node needs
// --experimental-vm-modules, and which crashes Node now and then (nodejs/node#62393). A process per file costs the same
// CPU time, shares no state with other files, and ends with everything that its tests left open.
// As many files run in parallel as Jest has workers. Those in `inPairs` follow, two at a time, because they mostly
// wait. Those in `alone` run at the end, one after the other, because their tests start processes and depend on how
// fast these react. Both list files and folders; the longest that matches decides:
//   "runner": ["<rootDir>/hack/jest-runner.mjs", { "inPairs": ["test/browser/"], "alone": ["test/browser/a.test.ts"] }]
// With RETRY_FAILED=3, at most three files that failed run once more, at the end and alone. The second result counts.
// The first is kept in `failedFirst`, which jest-reporter.mjs prints. With more failed files none is repeated.
// Used by Jest (package.json, "runner").
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const PROCESS = fileURLToPath(new URL('jest-process.mjs', import.meta.url))

export default class ProcessPerFile {
  #globalConfig
  #inPairs
  #alone

  constructor(globalConfig, _context, { inPairs = [], alone = [] } = {}) {
    this.#globalConfig = globalConfig
    this.#inPairs = inPairs
    this.#alone = alone
  }

  async runTests(tests, watcher, onStart, onResult, onFailure, { serial }) {
    const retries = Number(process.env.RETRY_FAILED ?? 0)
    const failed = []
    const report = async (test, { result, error }) =>
      error === undefined ? onResult(test, result) : onFailure(test, error)
    const run = async (test) => {
      if (watcher.isInterrupted()) return
      await onStart(test)
      const outcome = await this.#resultOf(test)
      if (retries > 0 && hasFailed(outcome)) failed.push({ test, outcome })
      else await report(test, outcome)
    }
    const {
      shared = [],
      paired = [],
      alone = [],
    } = Object.groupBy(tests, ({ path }) => {
      const longestOf = (places) =>
        Math.max(0, ...places.filter((each) => path.includes(`/${each}`)).map((each) => each.length))
      const [toAlone, toPaired] = [longestOf(this.#alone), longestOf(this.#inPairs)]
      if (toAlone === 0 && toPaired === 0) return 'shared'
      return toPaired > toAlone ? 'paired' : 'alone'
    })
    await inParallel(serial ? 1 : this.#globalConfig.maxWorkers, shared, run)
    await inParallel(serial ? 1 : 2, paired, run)
    await inParallel(1, alone, run)
    for (const { test, outcome } of failed) {
      const isRepeated = failed.length <= retries && !watcher.isInterrupted()
      await report(test, isRepeated ? await this.#repeated(test, outcome) : outcome)
    }
  }

  async #repeated(test, first) {
    const second = await this.#resultOf(test)
    if (second.result !== undefined) second.result.failedFirst = first.error?.message ?? first.result.failureMessage
    return second
  }

  /** @returns `{ result }`, or `{ error }` if the file could not be loaded or its process ended too early. */
  #resultOf({ path, context }) {
    return new Promise((resolve) => {
      const child = fork(PROCESS)
      let message
      child.once('message', (received) => (message = received))
      child.once('error', (error) => resolve({ error }))
      child.once('close', (code, signal) => {
        const how = signal === null ? `exit code ${code}` : `signal ${signal}`
        const text = `The process of the test file ended before its tests: ${how}`
        resolve(message ?? { error: { message: text, stack: text } })
      })
      child.send({ globalConfig: this.#globalConfig, config: context.config, path }, () => undefined)
    })
  }
}

const hasFailed = ({ result, error }) =>
  error !== undefined || result.numFailingTests > 0 || Boolean(result.testExecError)

async function inParallel(limit, items, run) {
  const waiting = [...items]
  const lane = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await run(item)
  }
  await Promise.all(Array.from({ length: limit }, lane))
}
