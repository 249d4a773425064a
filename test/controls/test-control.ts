/**
 * Reads and runs the controls that single tests find, where no simulation is needed or none reaches the safeguard.
 * by-tests.json lists them. elsewhere.json lists safeguards that a test shows without an edit.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { APPLY, COMPILE_CACHE, ROOT, type Edit } from './control.ts'
import type { TestRun } from './run-test.ts'

/** The tests of one file whose titles contain a text. */
export interface NamedTest {
  readonly test: string
  readonly title: string
}

export type TestControl = Edit & NamedTest
export type ShownElsewhere = NamedTest & Pick<Edit, 'safeguard' | 'file'>

/** A run that takes longer is killed, and counts as one whose tests fail. */
const MAX_MS = 100_000

const read = async <T>(list: string): Promise<readonly T[]> =>
  JSON.parse(await readFile(join(ROOT, 'test/controls', list), 'utf8')) as readonly T[]

export const readTestControls = (): Promise<readonly TestControl[]> => read('by-tests.json')
export const readShownElsewhere = (): Promise<readonly ShownElsewhere[]> => read('elsewhere.json')

/** Whether the file of a test contains the title. */
export async function hasTitle({ test, title }: NamedTest): Promise<boolean> {
  return title !== '' && (await readFile(join(ROOT, test), 'utf8')).replaceAll("\\'", "'").includes(title)
}

/** Runs the tests of a control with its defect. @returns the title of the test that fails; undefined if none does. */
export function findWithTest({ test, title, ...edit }: TestControl): Promise<string | undefined> {
  const args = ['--single-threaded-gc', '--import', APPLY, join(ROOT, 'test/controls/run-test.ts'), test, title]
  const env = { ...process.env, CONTROL: JSON.stringify(edit), NODE_COMPILE_CACHE: COMPILE_CACHE }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: ROOT, timeout: MAX_MS, env }, (error, stdout, stderr) => {
      if (error?.killed === true) return resolve('took too long')
      if (error !== null) return reject(new Error(`cannot run ${test}: ${stderr.slice(-2_000)}`, { cause: error }))
      const { tests, failed } = JSON.parse(stdout.split('\n').at(-2) ?? '') as TestRun
      if (tests === 0) return reject(new Error(`${test} has no test "${title}"`))
      resolve(failed ?? undefined)
    })
  })
}
