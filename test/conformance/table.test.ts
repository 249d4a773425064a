/** Tests that every row of the table has a test and every conformance test a row, and that the check detects faults. */
import { afterAll, describe, expect, it } from '@jest/globals'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { check, summary } from './check.ts'
import { by, pending, TABLE, type Row } from './table/index.ts'

const TESTS = join(import.meta.dirname, '..')
const SELF = 'table.test.ts'

const readTest = (file: string): string | undefined =>
  existsSync(join(TESTS, file)) ? readFileSync(join(TESTS, file), 'utf8') : undefined
const suites = Object.fromEntries(
  readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.test.ts') && name !== SELF)
    .map((name) => [name, readFileSync(join(import.meta.dirname, name), 'utf8')]),
)

describe('the conformance table', () => {
  const finding = check(TABLE, suites, readTest)
  afterAll(() => void process.stdout.write(`${summary(TABLE, finding)}\n`))

  it('has a test for every row, and a row for every test', () => {
    expect(finding.faults).toEqual([])
  })
})

describe('the check', () => {
  const decisions: readonly Row[] = Array.from({ length: 101 }, (_, i) => [
    `D${i + 1}`,
    'A decision.',
    by('a.test.ts', 'does it'),
  ])
  const files: Readonly<Record<string, string>> = {
    'a.test.ts':
      "  it('does it', () => {\n" +
      "  it.skip('does not', () => {\n" +
      "  it.each([1])('counts %i', () => {\n" +
      "])('ends a table', () => {\n" +
      "// 'in a comment'",
  }
  const faultsOf = (rows: readonly Row[], titles: readonly string[] = []): readonly string[] =>
    check(
      [...decisions, ...rows],
      { 'own.test.ts': titles.map((title) => `  it('${title}', () => {`).join('\n') },
      (file) => files[file],
    ).faults

  it('finds no fault in a complete table', () => {
    expect(
      faultsOf(
        [
          ['a/b', '', by('a.test.ts', 'counts %i'), by('a.test.ts', 'ends a table')],
          ['a/c', ''],
          ['a/d', ''],
        ],
        ['a/c, a/d: do it'],
      ),
    ).toEqual([])
  })

  it.each<[string, readonly Row[], readonly string[], string]>([
    ['a row without a test', [['a/b', '']], [], 'a/b: no test shows it'],
    ['a removed test', [['a/b', '', by('a.test.ts', 'did it')]], [], 'a/b: test/a.test.ts has no test "did it"'],
    ['a skipped test', [['a/b', '', by('a.test.ts', 'does not')]], [], 'a/b: test/a.test.ts has no test "does not"'],
    [
      'a proof that is not a test',
      [['a/b', '', by('a.test.ts', 'in a comment')]],
      [],
      'a/b: test/a.test.ts has no test "in a comment"',
    ],
    ['a proof with an empty title', [['a/b', '', by('a.test.ts', '')]], [], 'a/b: test/a.test.ts has no test ""'],
    ['a missing file', [['a/b', '', by('b.test.ts', 'does it')]], [], 'a/b: there is no test/b.test.ts'],
    ['a duplicate id', [['D7', '', by('a.test.ts', 'does it')]], [], 'D7: appears twice'],
    ['a title with an unknown id', [], ['a/b: does it'], 'own.test.ts: "a/b" is no row of the table'],
    [
      'a title without an id',
      [],
      ['does it'],
      "own.test.ts: a title begins with the ids of its rows: it('does it', () => {",
    ],
    [
      'a pending row that has a test',
      [['a/b', '', pending('the operator')]],
      ['a/b: does it'],
      'a/b: is shown, but still marked as pending',
    ],
  ])('detects %s', (_, rows, titles, fault) => {
    expect(faultsOf(rows, titles)).toEqual([fault])
  })

  it('detects a decision without a row', () => {
    expect(check(decisions.slice(1), {}, (file) => files[file]).faults).toEqual(['D1: has no row'])
  })

  it('counts pending rows separately', () => {
    const rows: readonly Row[] = [
      ['a/b', '', by('a.test.ts', 'does it')],
      ['a/c', '', pending('the operator')],
      ['a/d', '', pending('the operator')],
    ]
    expect(
      summary(
        rows,
        check(rows, {}, (file) => files[file]),
      ),
    ).toBe('conformance: 3 rows, 1 shown, 2 pending: the operator')
  })
})
