// Runs jest as a child process on its own tree, because its last line and exit code are under test.
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type Ran, started, Tree, hackPath } from './tree.ts'

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

function tested(body: string, env: Record<string, string> = {}): Ran & { readonly lines: string[] } {
  const jest = {
    transform: {},
    runner: hackPath('jest-runner.mjs'),
    reporters: ['default', hackPath('jest-reporter.mjs')],
  }
  const tree = new Tree({ 'package.json': JSON.stringify({ jest }), 'a.test.js': body })
  trees.push(tree)
  symlinkSync(MODULES, join(tree.root, 'node_modules'))
  const { CI: _, ALLOW_SKIP: __, RETRY_FAILED: ___, ...rest } = process.env
  const ran = started('bash', ['-c', `cd '${tree.root}' && exec node node_modules/jest/bin/jest.js 2>&1`], {
    ...rest,
    ...env,
  })
  return { ...ran, lines: ran.stdout.trimEnd().split('\n') }
}

const endOf = ({ lines }: { lines: readonly string[] }): string =>
  lines.slice(lines.findLastIndex((line) => line.startsWith('failed: '))).join('\n')

describe('hack/jest-reporter', () => {
  it('prints only the counts on the last line', () => {
    const { status, lines } = tested("test('a', () => {})\ntest('b', () => {})\n")
    expect(lines.at(-1)).toBe('2 passed, 0 failed')
    expect(status).toBe(0)
  }, 60_000)

  it('names and counts every skipped test', () => {
    const { status, lines } = tested(
      "test('a', () => {})\n" +
        "describe('redis', () => { test.skip('needs redis-server', () => {}) })\n" +
        "test.todo('later')\n",
    )
    expect(lines.slice(-3)).toEqual([
      'skipped: a.test.js: later',
      'skipped: a.test.js: redis needs redis-server',
      '1 passed, 0 failed, 2 skipped',
    ])
    expect(status).toBe(0)
  }, 60_000)

  it('fails the run for a skip with CI=true', () => {
    const { status, lines } = tested("test('a', () => {})\ntest.skip('b', () => {})\n", { CI: 'true' })
    expect(lines.slice(-2)).toEqual(['CI=true: a skipped test fails the run', '1 passed, 0 failed, 1 skipped'])
    expect(status).toBe(1)
  }, 60_000)

  it('fails the run for a skip that ALLOW_SKIP does not name', () => {
    const body = "test('a', () => {})\ntest.skip('go is not installed', () => {})\n"
    expect(tested(body, { ALLOW_SKIP: '' })).toMatchObject({
      status: 1,
      lines: expect.arrayContaining(['ALLOW_SKIP does not name it: a skipped test fails the run']),
    })
    expect(tested(body, { ALLOW_SKIP: 'gcc is not,go is not' })).toMatchObject({ status: 0 })
    expect(tested("test('a', () => {})\n", { ALLOW_SKIP: '' })).toMatchObject({ status: 0 })
  }, 60_000)

  it('repeats at the end and counts a failed test, and a file that cannot be loaded', () => {
    const test = tested("describe('x', () => test('a', () => { throw new Error('no') }))\n")
    expect(test.status).toBe(1)
    expect(endOf(test)).toMatch(/^failed: a\.test\.js: x a\n {4}Error: no\n(?: {4}.*\n)+0 passed, 1 failed$/)
    const file = tested("throw new Error('no')\n")
    expect(file.status).toBe(1)
    expect(endOf(file)).toMatch(/^failed: a\.test\.js\n(?: {4}.*\n)* {4} *no\n(?: {4}.*\n)*0 passed, 1 failed$/m)
  }, 60_000)
})
