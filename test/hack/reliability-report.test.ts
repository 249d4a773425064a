import { afterEach, describe, expect, it } from '@jest/globals'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { started, Tree } from './tree.ts'

const RUNS = 'test/reliability/runs.jsonl'
const FAILURES = 'test/reliability/failures.jsonl'
const PAGE = 'test/reliability/RESULTS.md'

const RUN = {
  date: '2026-11-25T13:40Z',
  commit: '8861e7e',
  machine: '2 cores',
  layer: 'L3',
  command: 'SOAK=1 npm test -- test/durability',
  count: 1_000,
  counted: 'crash points of SQLite',
  seedBase: 7,
  mustHappen: { checkpoint: 12, migration: 3 },
  found: 0,
  skipped: [],
}
const FAILURE = {
  date: '2026-11-25T14:00Z',
  layer: 'L2',
  at: 'seed 0x5f3a',
  cause: 'A repeated ack was refused.',
  fix: 'storage: accept a repeated ack',
  test: 'test/regressions/repeated-ack.test.ts',
}

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

function treeOf(runs: readonly object[], failures: readonly object[] = []): Tree {
  const lines = (values: readonly object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')
  const tree = new Tree({ [RUNS]: lines(runs), [FAILURES]: lines(failures) })
  trees.push(tree)
  return tree
}

const read = (tree: Tree, path: string): string => readFileSync(join(tree.root, path), 'utf8')

/** Makes the tree a Git clone and commits what changed. */
function commit(tree: Tree): void {
  const git = (...args: readonly string[]): void => {
    const { status, stderr } = started('git', args, process.env, tree.root)
    if (status !== 0) throw new Error(stderr)
  }
  git('init', '--quiet')
  git('add', '--all')
  git('-c', 'user.name=test', '-c', 'user.email=test@example.org', 'commit', '--quiet', '--message', 'test')
}

describe('hack/reliability-report', () => {
  it('writes runs and failures as tables', () => {
    const tree = treeOf([RUN, { ...RUN, date: '2026-11-26T01:00Z', count: 4_000 }], [FAILURE])
    expect(tree.run('reliability-report.mjs')).toMatchObject({ status: 0, stderr: '' })
    const page = read(tree, PAGE)
    expect(page.split('\n').filter((line) => line.startsWith('| L3'))).toEqual([
      '| L3 Crash points | 4,000 crash points of SQLite | passed | – | 2026-11-26 | `8861e7e` |',
    ])
    expect(page).toContain('2026-11-25 13:40Z')
    expect(page).toContain('2 of 2; fewest: migration, 3')
    expect(page).toContain('| L2 Simulation | seed 0x5f3a | A repeated ack was refused. |')
    expect(tree.run('verify-reliability.mjs')).toMatchObject({ status: 0, stderr: '' })
  })

  it.each([
    ['violations', { found: 2 }, '**2 found**'],
    ['a situation that never occurred', { mustHappen: { migration: 0 } }, '**a situation was not reached**'],
    ['a skip', { skipped: ['no Go: linearizability'] }, 'passed, with skips'],
  ])('shows %s', (_, change, verdict) => {
    const tree = treeOf([{ ...RUN, ...change }])
    tree.run('reliability-report.mjs')
    expect(read(tree, PAGE)).toContain(`| ${verdict} |`)
  })

  it.each([
    ['a missing field', { ...RUN, machine: undefined }, 'field machine is missing; it must be a text'],
    ['a wrong field', { ...RUN, found: -1 }, 'field found is -1; it must be a whole number, 0 or more'],
    ['an unknown layer', { ...RUN, layer: 'L9' }, 'field layer is "L9"; it must be one of L1, L2'],
    ['an unknown field', { ...RUN, seeds: 1 }, 'field seeds is unknown; known: date, commit'],
    ['another value', [RUN], 'the line must be one JSON object'],
  ])('reports file and line of %s', (_, run, fault) => {
    const { status, stderr } = treeOf([RUN, run]).run('reliability-report.mjs')
    expect(stderr).toContain(`${RUNS}:2: ${fault}`)
    expect(status).toBe(1)
  })

  it('adds a run with commit, machine and date, and adds no faulty one', () => {
    const tree = treeOf([], [])
    commit(tree)
    const line = JSON.stringify({ layer: 'L2', command: 'make simulate', count: 5, counted: 'seeds' })
    expect(tree.run('reliability-report.mjs', ['--add', line])).toMatchObject({ status: 0, stderr: '' })
    const added = JSON.parse(read(tree, RUNS)) as Record<string, unknown>
    expect(added).toMatchObject({ layer: 'L2', count: 5, found: 0, skipped: [], mustHappen: {}, seedBase: null })
    expect(added['commit']).toMatch(/^[0-9a-f]{7,}$/)
    expect(read(tree, PAGE)).toContain('5 seeds')

    const faulty = JSON.stringify({ layer: 'L2', at: 'seed 7', fix: 'x', test: 'y' })
    const { status, stderr } = tree.run('reliability-report.mjs', ['--add-failure', faulty])
    expect(stderr).toContain('--add-failure: field cause is missing')
    expect(status).toBe(1)
    expect(read(tree, FAILURES)).toBe('')
  })
})

describe('hack/verify-reliability', () => {
  it('rejects a page that differs from its sources', () => {
    const tree = treeOf([RUN])
    tree.run('reliability-report.mjs')
    writeFileSync(join(tree.root, PAGE), read(tree, PAGE).replace('1,000', '9,000'))
    expect(tree.run('verify-reliability.mjs')).toMatchObject({
      status: 1,
      stderr: `${PAGE}: differs from the code; run node hack/reliability-report.mjs\n`,
    })
  })

  it('rejects a commit that changed a row', () => {
    const tree = treeOf([RUN])
    tree.run('reliability-report.mjs')
    commit(tree)
    expect(tree.run('verify-reliability.mjs')).toMatchObject({ status: 0 })
    writeFileSync(join(tree.root, RUNS), read(tree, RUNS).replace('1000', '9000'))
    tree.run('reliability-report.mjs')
    commit(tree)
    const { status, stderr } = tree.run('verify-reliability.mjs')
    expect(stderr).toBe(`${RUNS}: a commit removed or changed 1 lines; rows are added, never edited\n`)
    expect(status).toBe(1)
  })
})
