// Runs jest as a child process on its own tree, because the processes of its test files are killed.
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type Ran, started, Tree, hackPath } from './tree.ts'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

/** Runs `a.test.js` and `b.test.js` in a process, as the tests of the project run. @returns all that jest printed. */
function tested(a: string, b = "test('b', () => {})\n"): Ran {
  const jest = {
    testEnvironment: 'node',
    transform: {},
    workerIdleMemoryLimit: '1GB',
    runner: hackPath('jest-runner.mjs'),
    reporters: ['default', hackPath('jest-reporter.mjs')],
  }
  const tree = new Tree({ 'package.json': JSON.stringify({ jest }), 'a.test.js': a, 'b.test.js': b })
  trees.push(tree)
  symlinkSync(MODULES, join(tree.root, 'node_modules'))
  return started('bash', [
    '-c',
    `ulimit -c 0 && cd '${tree.root}' && exec node node_modules/jest/bin/jest.js --maxWorkers 1 2>&1`,
  ])
}

/** A test whose process dies of the signal in each run up to `runs`; the test fails if it is run later than that. */
const killed = (signal: string, runs: number): string => `
const fs = require('node:fs')
test('a', async () => {
  fs.appendFileSync('runs', 'x')
  if (fs.readFileSync('runs', 'utf8').length > ${runs}) return
  process.kill(process.pid, '${signal}')
  await new Promise(() => {})
})
`
const AGAIN = 'Node crashed in a.test.js; running it once more'

describe('hack/jest-runner', () => {
  it.each(['SIGSEGV', 'SIGTRAP'])(
    'runs a file once more after %s, and counts the second run',
    (signal) => {
      const { status, stdout } = tested(killed(signal, 1))
      expect(stdout).toContain(AGAIN)
      expect(stdout.trimEnd()).toMatch(/\n2 passed, 0 failed$/)
      expect(status).toBe(0)
    },
    60_000,
  )

  it('fails when Node crashes in the second run as well', () => {
    const { status, stdout } = tested(killed('SIGSEGV', 2))
    expect(stdout.split(AGAIN)).toHaveLength(2)
    expect(stdout.trimEnd()).toMatch(/signal=SIGSEGV[^]*\n1 passed, 1 failed$/)
    expect(status).toBe(1)
  }, 60_000)

  it('runs nothing again after another signal, or after a failed test', () => {
    const other = tested(killed('SIGABRT', 1))
    expect(other.stdout).not.toContain('once more')
    expect(other).toMatchObject({ status: 1, stdout: expect.stringMatching(/\n1 passed, 1 failed\n$/) })
    const failed = tested("test('a', () => { throw new Error('signal=SIGSEGV') })\n")
    expect(failed.stdout).not.toContain('once more')
    expect(failed).toMatchObject({ status: 1, stdout: expect.stringMatching(/\n1 passed, 1 failed\n$/) })
  }, 60_000)
})
