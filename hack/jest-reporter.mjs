// Prints the result of a test run: every failed test with the first lines of its error, every file that passed only
// when it was repeated, every skipped test, then `N passed, N failed` (with `, N skipped` when there are any) as the
// last line of stdout. With CI=true a skipped test makes the run fail. `make soak` sets ALLOW_SKIP, a list such as
// `nft is not installed,test/conformance/`: a skipped test whose file and name contain none of its entries makes the
// run fail.
// Used by jest in addition to its default reporter (package.json, "reporters"). Jest prints its own summary after all
// reporters have finished, so this one waits for the end of the process.
import { relative } from 'node:path'
import { stripVTControlCharacters } from 'node:util'

const ERROR_LINES = 12
const LINE_CHARACTERS = 200
const NOT_RUN = new Set(['pending', 'todo', 'disabled'])

/** A file that could not be loaded ran no test, and must not look like one without faults: it counts as one. */
function countsOf(results) {
  return {
    passed: results.numPassedTests,
    failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
    skipped: results.numPendingTests + results.numTodoTests,
  }
}

function skippedTestsOf(results, rootDir) {
  return results.testResults.flatMap(({ testFilePath, testResults }) =>
    testResults
      .filter(({ status }) => NOT_RUN.has(status))
      .map(({ fullName }) => `${relative(rootDir, testFilePath)}: ${fullName}`),
  )
}

/** Repeats failures in short at the end, because a log of thousands of tests may be shown without its middle. */
function failuresOf(results, rootDir) {
  return results.testResults.flatMap(({ testFilePath, testResults, testExecError, failureMessage }) => {
    const file = relative(rootDir, testFilePath)
    const failed = testResults.filter(({ status }) => status === 'failed')
    const tests = failed.map(({ fullName, failureMessages }) => `${file}: ${fullName}\n${excerpt(failureMessages[0])}`)
    return testExecError ? [...tests, `${file}\n${excerpt(failureMessage)}`] : tests
  })
}

/** Files that failed at first and passed when they ran again, alone (jest-runner.mjs). A test of them is unstable. */
function unstableOf(results, rootDir) {
  return results.testResults
    .filter(({ failedFirst, numFailingTests, testExecError }) => failedFirst && numFailingTests === 0 && !testExecError)
    .map(({ testFilePath, failedFirst }) => `${relative(rootDir, testFilePath)}\n${excerpt(failedFirst)}`)
}

const excerpt = (text = '') =>
  stripVTControlCharacters(text)
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(0, ERROR_LINES)
    .map((line) => `    ${line.slice(0, LINE_CHARACTERS)}\n`)
    .join('')

/** The skipped tests that make a run fail. */
function forbiddenSkips(names) {
  if (process.env.CI === 'true') return names
  const allowed = process.env.ALLOW_SKIP?.split(',').filter((entry) => entry !== '')
  return allowed === undefined ? [] : names.filter((name) => !allowed.some((entry) => name.includes(entry)))
}

export default class ClosingLine {
  #rootDir
  #error
  #closing = ''

  constructor(globalConfig) {
    this.#rootDir = globalConfig.rootDir
    process.once('exit', () => process.stdout.write(this.#closing)) // A pipe is written synchronously here (on POSIX).
  }

  onRunComplete(_contexts, results) {
    const { passed, failed, skipped } = countsOf(results)
    const names = skippedTestsOf(results, this.#rootDir).toSorted()
    const lines = failuresOf(results, this.#rootDir).map((failure) => `failed: ${failure}`)
    lines.push(...unstableOf(results, this.#rootDir).map((first) => `failed once, then passed alone: ${first}`))
    lines.push(...names.map((name) => `skipped: ${name}\n`))
    const forbidden = forbiddenSkips(names)
    if (forbidden.length > 0) {
      const why = process.env.CI === 'true' ? 'CI=true' : 'ALLOW_SKIP does not name it'
      this.#error = new Error(`${why}: ${forbidden.length} tests were skipped`)
      lines.push(`${why}: a skipped test fails the run\n`)
    }
    const tail = skipped > 0 ? `, ${skipped} skipped` : ''
    this.#closing = `\n${lines.join('')}${passed} passed, ${failed} failed${tail}\n`
  }

  /** Jest calls this at the end: an error makes the run fail. */
  getLastError() {
    return this.#error
  }
}
