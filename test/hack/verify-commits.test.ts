import { afterEach, describe, expect, it } from '@jest/globals'
import { type Ran, Tree, started } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

const AUTHOR = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com']

/** Creates a repository with one base commit and one commit per message. */
function verified(messages: readonly string[], options: readonly string[] = ['--base', 'start']): Ran {
  const tree = new Tree({ 'a.txt': 'a' })
  trees.push(tree)
  const git = (...args: string[]): void => {
    const { status, stderr } = started('git', [...AUTHOR, ...args], process.env, tree.root)
    if (status !== 0) throw new Error(stderr)
  }
  git('init', '--quiet')
  for (const message of ['a first commit without any form', ...messages]) {
    git('commit', '--quiet', '--allow-empty', '--message', message)
    if (message === 'a first commit without any form') git('tag', 'start')
  }
  return tree.run('verify-commits.mjs', options)
}

describe('hack/verify-commits', () => {
  it('accepts an area, a short subject and one category', () => {
    const message = `storage/redis: ${'x'.repeat(45)}\n\nWhy it is so.\n\nCategory: fix`
    expect(verified([message])).toMatchObject({ status: 0, stderr: '' })
  })

  it.each([
    ['a subject of 61 characters', `area: ${'x'.repeat(55)}\n\nCategory: fix`, 'the subject has 61 characters'],
    [
      'a subject without an area',
      'Fix the queue\n\nCategory: fix',
      'the subject must have the form "area: what it does"',
    ],
    ['a body without a category', 'queue: fix it\n\nBecause.', 'found ""'],
    ['an unknown category', 'queue: fix it\n\nCategory: tests', 'found "tests"'],
    ['two categories', 'queue: fix it\n\nCategory: fix\nCategory: change', 'found "fix,change"'],
  ])('rejects %s', (_, message, problem) => {
    const { status, stderr } = verified([message])
    expect(status).toBe(1)
    expect(stderr).toContain(problem)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  it('reports only the invalid commits', () => {
    const good = 'queue: count the tasks\n\nCategory: addition'
    const { stderr } = verified([good, 'queue: one\n\nBody.', good, 'queue: two\n\nBody.'])
    expect(stderr.match(/queue: \w+/g)).toEqual(['queue: two', 'queue: one'])
  })

  it('checks nothing without a main branch to compare with', () => {
    expect(verified(['anything'], [])).toMatchObject({ status: 0, stderr: '' })
  })

  it('fails for a base that does not exist', () => {
    expect(verified([], ['--base', 'nowhere'])).toMatchObject({
      status: 1,
      stderr: '--base nowhere: there is no such revision\n',
    })
  })
})
