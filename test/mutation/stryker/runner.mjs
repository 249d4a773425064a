/**
 * A test runner for Stryker that runs the tests in its own process (in-process.ts). The instrumented file contains all
 * mutants, and a switch chooses one, so that a mutant costs no more than the tests that reach it.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { INSTRUMENTER_CONSTANTS } from '@stryker-mutator/api/core'
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin'
import { determineHitLimitReached, DryRunStatus, MutantRunStatus, TestStatus } from '@stryker-mutator/api/test-runner'
import { InProcessTests, replaceJest } from '../in-process.ts'
import { collect } from '../jest-globals.ts'

/** Paths of the test files, relative to the root, one a line. main.mjs sets it. */
const TEST_FILES = (process.env.MUTATION_TESTS ?? '').split('\n')

class Runner {
  #tests = undefined
  #inProcess = new InProcessTests()
  /** What the instrumented file reads and writes. */
  #switch = (globalThis[INSTRUMENTER_CONSTANTS.NAMESPACE] ??= {})

  capabilities() {
    return { reloadEnvironment: false }
  }

  async dryRun({ timeout }) {
    const tests = []
    for (const test of await this.#load()) {
      this.#switch.currentTestId = test.title
      const startedMs = performance.now()
      const outcome = await this.#inProcess.run(test, timeout)
      const result = { id: test.title, name: test.title, timeSpentMs: performance.now() - startedMs }
      tests.push(
        outcome.kind === 'passed'
          ? { ...result, status: TestStatus.Success }
          : { ...result, status: TestStatus.Failed, failureMessage: outcome.error },
      )
    }
    this.#switch.currentTestId = undefined
    return { status: DryRunStatus.Complete, tests, mutantCoverage: this.#switch.mutantCoverage }
  }

  /** A mutant of code that runs during an import is active from the start; Stryker uses a new process for it. */
  async mutantRun({ activeMutant, mutantActivation, testFilter, hitLimit, timeout }) {
    if (mutantActivation === 'static') this.#switch.activeMutant = activeMutant.id
    const all = await this.#load()
    const tests = testFilter === undefined ? all : all.filter(({ title }) => testFilter.includes(title))
    Object.assign(this.#switch, { activeMutant: activeMutant.id, hitCount: hitLimit && 0, hitLimit })
    try {
      for (const [i, test] of tests.entries()) {
        const outcome = await this.#inProcess.run(test, timeout)
        const isEndless = determineHitLimitReached(this.#switch.hitCount, hitLimit)
        if (isEndless !== undefined) return isEndless
        if (outcome.kind === 'timed_out') return { status: MutantRunStatus.Timeout, reason: outcome.error }
        if (outcome.kind === 'failed')
          return {
            status: MutantRunStatus.Killed,
            killedBy: [test.title],
            failureMessage: outcome.error,
            nrOfTests: i + 1,
          }
      }
      return { status: MutantRunStatus.Survived, nrOfTests: tests.length }
    } finally {
      this.#switch.activeMutant = undefined
    }
  }

  async dispose() {
    await this.#inProcess.close()
  }

  async #load() {
    if (this.#tests !== undefined) return this.#tests
    replaceJest()
    const tests = []
    for (const file of TEST_FILES)
      tests.push(...(await collect(file, () => import(pathToFileURL(join(process.cwd(), file)).href))))
    this.#tests = tests
    return tests
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'in-process', Runner)]
