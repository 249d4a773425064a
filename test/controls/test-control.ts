/**
 * Reads and runs the controls that single tests find, where no simulation is needed or none reaches the safeguard.
 * by-tests.json lists them. elsewhere.json lists those whose test needs more than one process of this machine.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { APPLY, COMPILE_CACHE, ROOT, type Edit } from './control.ts'
import type { TestFailure, TestRun } from './run-test.ts'

/** The tests of one file whose titles contain a text. */
export interface NamedTest {
  readonly test: string
  readonly title: string
  /** The file that contains the title, if `test` imports it. */
  readonly definedIn?: string
}

export type TestControl = Edit & NamedTest

export interface ElsewhereControl extends TestControl {
  /** What the test needs. */
  readonly needs: string
  /** When the test was last seen failing with the edit, and at which commit. */
  readonly seen: { readonly date: string; readonly commit: string }
}

/** A run that takes longer is killed, and counts as one whose tests fail. */
const MAX_MS = 100_000
/** Without a defect, a busy machine may take longer. */
const MAX_PASS_MS = 300_000
const MAX_OUTPUT_BYTES = 10_000_000

const read = async <T>(list: string): Promise<readonly T[]> =>
  JSON.parse(await readFile(join(ROOT, 'test/controls', list), 'utf8')) as readonly T[]

export const readTestControls = (): Promise<readonly TestControl[]> => read('by-tests.json')
export const readElsewhere = (): Promise<readonly ElsewhereControl[]> => read('elsewhere.json')

/** Whether the file of a test contains the title. */
export async function hasTitle({ test, title, definedIn = test }: NamedTest): Promise<boolean> {
  return title !== '' && (await readFile(join(ROOT, definedIn), 'utf8')).replaceAll("\\'", "'").includes(title)
}

/** Runs the tests of a control with its defect. @returns the first test that fails; undefined if none does. */
export async function findWithTest({ test, title, ...edit }: TestControl): Promise<TestFailure | undefined> {
  const run = await runTests({ test, title }, ['--import', APPLY], { CONTROL: JSON.stringify(edit) }, MAX_MS)
  return run === 'killed' ? { title, kind: 'timed_out', error: `took longer than ${MAX_MS} ms` } : run
}

/** Runs the tests of a control without its defect. @returns the first test that fails; undefined if all pass. */
export async function failureWithout(named: NamedTest): Promise<TestFailure | undefined> {
  const run = await runTests(named, [], {}, MAX_PASS_MS)
  return run === 'killed' ? { title: named.title, kind: 'timed_out', error: `took longer than ${MAX_PASS_MS} ms` } : run
}

function runTests(
  { test, title }: NamedTest,
  nodeArgs: readonly string[],
  more: Readonly<Record<string, string>>,
  maxMs: number,
): Promise<TestFailure | 'killed' | undefined> {
  const limitMs = String(maxMs * 0.3)
  const args = ['--single-threaded-gc', ...nodeArgs, join(ROOT, 'test/controls/run-test.ts'), test, title, limitMs]
  const env = { ...process.env, ...more, NODE_COMPILE_CACHE: COMPILE_CACHE }
  const options = { cwd: ROOT, timeout: maxMs, maxBuffer: MAX_OUTPUT_BYTES, env }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      if (error?.killed === true) return resolve('killed')
      if (error !== null) return reject(new Error(`cannot run ${test}: ${stderr.slice(-2_000)}`, { cause: error }))
      const { tests, failure } = JSON.parse(stdout.split('\n').at(-2) ?? '') as TestRun
      if (tests === 0) return reject(new Error(`${test} has no test "${title}"`))
      resolve(failure ?? undefined)
    })
  })
}
