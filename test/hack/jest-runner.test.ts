// Runs jest as a child process on its own tree, because the processes of its test files are killed.
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type Files, type Ran, started, Tree, hackPath } from './tree.ts'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

interface Tested extends Ran {
  /** Lines that the tests appended to the file `log`. */
  readonly log: readonly string[]
}

/** Runs the files as the tests of the project run. @returns in `stdout` all that jest printed. */
function tested(files: Files, runnerOptions: object = {}, args = '--maxWorkers 2', env = ''): Tested {
  const jest = {
    transform: {},
    testMatch: ['**/*.test.*'],
    runner: [hackPath('jest-runner.mjs'), runnerOptions],
    reporters: ['default', hackPath('jest-reporter.mjs')],
  }
  const tree = new Tree({ 'package.json': JSON.stringify({ type: 'module', jest }), log: '', ...files })
  trees.push(tree)
  symlinkSync(MODULES, join(tree.root, 'node_modules'))
  const ran = started('bash', [
    '-c',
    `ulimit -c 0 && cd '${tree.root}' && RETRY_FAILED= ${env} exec node node_modules/jest/bin/jest.js ${args} 2>&1`,
  ])
  return { ...ran, log: readFileSync(join(tree.root, 'log'), 'utf8').split('\n').slice(0, -1) }
}

const IMPORTS = `
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it, jest } from '@jest/globals'
const log = (line: string): void => appendFileSync('log', line + '\\n')
`
const passing = `${IMPORTS} it('passes', () => {})`

describe('hack/jest-runner', () => {
  it('runs each file in a process of its own, without the globals of others', () => {
    const body = `${IMPORTS}
it('is alone', () => {
  log(String(process.pid))
  const found = [globalThis.leftBehind, process.env.LEFT_BEHIND, process.listenerCount('SIGUSR2')]
  expect(found).toEqual([undefined, undefined, 0])
  Object.assign(globalThis, { leftBehind: 1 })
  process.env.LEFT_BEHIND = '1'
  process.on('SIGUSR2', () => undefined)
})`
    const { status, stdout, log } = tested({ 'a.test.ts': body, 'b.test.ts': body }, {}, '--runInBand')
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/\n2 passed, 0 failed\n$/) })
    expect(new Set(log).size).toBe(2)
  }, 60_000)

  it('ends the process of a file whose tests left timers and servers', () => {
    const { status, stdout } = tested({ 'a.test.ts': `${passing}\nsetInterval(() => undefined, 1_000)` })
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/\n1 passed, 0 failed\n$/) })
  }, 60_000)

  it.each([
    ["process.kill(process.pid, 'SIGSEGV')", 'signal SIGSEGV'],
    ['process.exit(3)', 'exit code 3'],
    ['process.exit()', 'exit code 0'],
  ])(
    'fails a file whose process ends by %s, and runs the others',
    (end, how) => {
      const killed = `${IMPORTS} it('ends', async () => { ${end}; await sleep(60_000) })`
      const { status, stdout } = tested({ 'a.test.ts': killed, 'b.test.ts': passing }, {}, '--maxWorkers 1')
      expect(stdout).toContain(`The process of the test file ended before its tests: ${how}`)
      expect({ status, stdout }).toEqual({ status: 1, stdout: expect.stringMatching(/\n1 passed, 1 failed\n$/) })
    },
    60_000,
  )

  it('fails a file that cannot be loaded, and one without tests', () => {
    const { status, stdout } = tested({
      'a.test.ts': "throw new Error('cannot be loaded')",
      'b.test.ts': 'this is no TypeScript',
      'c.test.ts': 'export {}',
      'd.test.ts': passing,
    })
    expect(stdout).toContain('cannot be loaded')
    expect(stdout).toContain('must contain at least one test')
    expect({ status, stdout }).toEqual({ status: 1, stdout: expect.stringMatching(/\n1 passed, 3 failed\n$/) })
  }, 60_000)

  it('reports rejections that no test handles, timeouts, and errors that are not JSON', () => {
    const { status, stdout } = tested({
      'a.test.ts': `${IMPORTS}
jest.setTimeout(100)
it('rejects', async () => { void Promise.reject(new Error('unhandled')); await sleep(20) })
it('takes too long', () => sleep(5_000))
it('throws', () => { throw Object.assign(new Error('with a number'), { number: 1n }) })
it('compares', () => { expect({ a: [1n] }).toEqual({ a: [2n] }) })`,
    })
    for (const text of ['unhandled', 'Exceeded timeout of 100 ms', 'with a number', '1n'])
      expect(stdout).toContain(text)
    expect({ status, stdout }).toEqual({ status: 1, stdout: expect.stringMatching(/\n0 passed, 4 failed\n$/) })
  }, 60_000)

  it('runs tests concurrently, and shows the output of console', () => {
    const { status, stdout } = tested({
      'a.test.ts': `${IMPORTS}
let others = 0
for (const name of ['one', 'two'])
  it.concurrent(name, async () => {
    others += 1
    await sleep(50)
    expect(others).toBe(2)
  })
afterAll(() => console.info('output of console'))`,
    })
    expect(stdout).toContain('output of console')
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/\n2 passed, 0 failed\n$/) })
  }, 60_000)

  it('runs only the tests that -t names', () => {
    const { stdout } = tested({ 'a.test.ts': `${IMPORTS} it('one', () => {})\nit('two', () => {})` }, {}, '-t two')
    expect(stdout).toMatch(/skipped: a\.test\.ts: one\n(?:.*\n)?1 passed, 0 failed, 1 skipped\n$/)
  }, 60_000)

  it('runs as many files in parallel as there are workers, then inPairs, then alone; the longest decides', () => {
    const body = (name: string): string =>
      `${IMPORTS} it('logs', async () => { log('${name} starts'); await sleep(1_500); log('${name} ends') })`
    const names = ['a', 'pages/b', 'slow/c', 'pages/alone', 'slow/d']
    const files = Object.fromEntries(names.map((name) => [`${name}.test.ts`, body(name)]))
    const options = { inPairs: ['pages/', 'slow/c.test.ts'], alone: ['pages/alone.test.ts', 'slow/'] }
    const { status, log } = tested(files, options)
    expect(status).toBe(0)
    expect(log.slice(0, 2)).toEqual(['a starts', 'a ends'])
    expect(log.slice(2, 4).toSorted()).toEqual(['pages/b starts', 'slow/c starts'])
    expect(log.slice(4, 6).toSorted()).toEqual(['pages/b ends', 'slow/c ends'])
    expect([log.slice(6, 8), log.slice(8, 10)].toSorted(([a = ''], [b = '']) => a.localeCompare(b))).toEqual([
      ['pages/alone starts', 'pages/alone ends'],
      ['slow/d starts', 'slow/d ends'],
    ])
  }, 60_000)

  describe('with RETRY_FAILED', () => {
    const unstable = `${IMPORTS}
import { readFileSync } from 'node:fs'
it('passes the second time', () => {
  const runs = readFileSync('log', 'utf8').split('unstable').length
  log('unstable')
  expect(runs).toBe(2)
})`
    const broken = `${IMPORTS} it('never passes', () => { log('broken'); expect(1).toBe(2) })`

    it('repeats a failed file once, alone and at the end, and names one that passes then', () => {
      const files = { 'a.test.ts': unstable, 'b.test.ts': `${IMPORTS} it('passes', () => log('passing'))` }
      const { status, stdout, log } = tested(files, {}, '--maxWorkers 1', 'RETRY_FAILED=1')
      expect(log.toSorted()).toEqual(['passing', 'unstable', 'unstable'])
      expect(log.at(-1)).toBe('unstable')
      expect(stdout).toMatch(
        /\nfailed once, then passed alone: a\.test\.ts\n {4}.*passes the second time\n(?: {4}.*\n)+/,
      )
      expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/\n2 passed, 0 failed\n$/) })
    }, 60_000)

    it('repeats a file whose process ended', () => {
      const ending = unstable.replace('expect(runs).toBe(2)', 'if (runs === 1) process.exit(3)')
      const { status, stdout } = tested({ 'a.test.ts': ending }, {}, '', 'RETRY_FAILED=1')
      expect(stdout).toContain('failed once, then passed alone: a.test.ts\n    The process of the test file ended')
      expect(status).toBe(0)
    }, 60_000)

    it('fails for a file that fails twice', () => {
      const { status, stdout, log } = tested({ 'a.test.ts': broken }, {}, '', 'RETRY_FAILED=1')
      expect(log).toEqual(['broken', 'broken'])
      expect({ status, stdout }).toEqual({ status: 1, stdout: expect.stringMatching(/\n0 passed, 1 failed\n$/) })
    }, 60_000)

    it('repeats nothing when more files failed', () => {
      const { status, log } = tested({ 'a.test.ts': broken, 'b.test.ts': unstable }, {}, '', 'RETRY_FAILED=1')
      expect(log.toSorted()).toEqual(['broken', 'unstable'])
      expect(status).toBe(1)
    }, 60_000)
  })
})
