/**
 * A test runner for Stryker that runs the tests in its own process (in-process.ts). The instrumented file contains all
 * mutants, and a switch chooses one, so that a mutant costs no more than the tests that reach it.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { INSTRUMENTER_CONSTANTS } from '@stryker-mutator/api/core'
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { determineHitLimitReached, DryRunStatus, MutantRunStatus, TestStatus } from '@stryker-mutator/api/test-runner'
import { importCopy, InProcessTests, replaceJest } from '../in-process.ts'
import { collect } from '../jest-globals.ts'

/** Paths of the test files, relative to the root, one a line. main.mjs sets it. */
const TEST_FILES = (process.env.MUTATION_TESTS ?? '').split('\n')
/** How long a test with a mutant may take: this long, or so many times as long as without it. */
const MIN_LIMIT_MS = 10_000
const LIMIT_FACTOR = 20

replaceJest()

class Runner {
  #tests = undefined
  #inProcess = new InProcessTests()
  /** How long each test takes without a mutant, by title. */
  #tookMs = new Map()
  /** What the instrumented file reads and writes. */
  #switch = (globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE] ??= {})

  capabilities() {
    return { reloadEnvironment: true }
  }

  async dryRun({ timeout }) {
    const tests = []
    for (const test of await this.#load()) {
      this.#switch.currentTestId = test.title
      const startedMs = performance.now()
      const outcome = await this.#inProcess.run(test, timeout)
      const result = { id: test.title, name: test.title, timeSpentMs: performance.now() - startedMs }
      this.#tookMs.set(test.title, result.timeSpentMs)
      tests.push(
        outcome.kind === 'passed'
          ? { ...result, status: TestStatus.Success }
          : { ...result, status: TestStatus.Failed, failureMessage: outcome.error },
      )
    }
    this.#switch.currentTestId = undefined
    return { status: DryRunStatus.Complete, tests, mutantCoverage: this.#switch.mutantCoverage }
  }

  /** A mutant of code that runs during an import needs a copy of everything that is imported. */
  async mutantRun({ activeMutant, mutantActivation, testFilter, hitLimit, timeout }) {
    const isStatic = mutantActivation === 'static'
    const runner = isStatic ? new InProcessTests() : this.#inProcess
    Object.assign(this.#switch, { activeMutant: isStatic ? activeMutant.id : undefined })
    try {
      const all = isStatic ? await load(importCopy) : await this.#load()
      const tests = testFilter === undefined ? all : all.filter(({ title }) => testFilter.includes(title))
      Object.assign(this.#switch, { activeMutant: activeMutant.id, hitCount: hitLimit && 0, hitLimit })
      for (const [i, test] of tests.entries()) {
        const outcome = await runner.run(test, this.#limitMs(test, timeout))
        const isEndless = determineHitLimitReached(this.#switch.hitCount, hitLimit)
        if (isEndless !== undefined) return isEndless
        if (outcome.kind === 'timed_out') return { status: MutantRunStatus.Timeout, reason: outcome.error }
        if (outcome.kind === 'failed') return killed(test.title, outcome.error, i + 1)
      }
      return { status: MutantRunStatus.Survived, nrOfTests: tests.length }
    } catch (error) {
      if (!isStatic) throw error
      return killed('import', String(error), 0)
    } finally {
      this.#switch.activeMutant = undefined
      if (isStatic) await runner.close()
    }
  }

  async dispose() {
    await this.#inProcess.close()
  }

  /** With many mutants a test waits for what never comes; Stryker's limit is a minute of that for each of them. */
  #limitMs({ title }, timeout) {
    return Math.min(timeout, Math.max(MIN_LIMIT_MS, LIMIT_FACTOR * (this.#tookMs.get(title) ?? timeout)))
  }

  async #load() {
    this.#tests ??= await load((url) => import(url))
    return this.#tests
  }
}

async function load(importFile) {
  const tests = []
  for (const file of TEST_FILES)
    tests.push(...(await collect(file, () => importFile(pathToFileURL(join(process.cwd(), file)).href))))
  return tests
}

const killed = (test, failureMessage, nrOfTests) => ({
  status: MutantRunStatus.Killed,
  killedBy: [test],
  failureMessage,
  nrOfTests,
})

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'in-process', Runner)]
