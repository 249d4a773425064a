import { afterEach, describe, expect, it } from '@jest/globals'
import { type Files, type Ran, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

function verified(files: Files): Ran {
  const tree = new Tree(files)
  trees.push(tree)
  return tree.run('verify-sizes.mjs')
}

const lines = (count: number): string => 'x\n'.repeat(count)

describe('hack/verify-sizes', () => {
  it('accepts 400 lines of source and 700 of a test', () => {
    expect(
      verified({ 'src/a.ts': lines(400), 'test/a.test.ts': lines(700), 'src/page.json': lines(900) }),
    ).toMatchObject({ status: 0, stderr: '' })
  })

  it('names each line of more than 120 characters', () => {
    const { status, stderr } = verified({
      'src/a.ts': `${'x'.repeat(120)}\n${'x'.repeat(121)}\n`,
      'src/a.lua': `-- ${'x'.repeat(118)}\n`,
      'hack/a.sh': `# ${'x'.repeat(119)}\n`,
      'test/a.c': `${'𝄞'.repeat(120)}\n${'ü'.repeat(122)}\n`,
      'test/a.test.ts': `  it('${'x'.repeat(120)}', () => {\n`,
    })
    expect(status).toBe(1)
    expect(stderr.trim().split('\n')).toEqual([
      'src/a.lua:1: 121 characters, at most 120 are allowed',
      'src/a.ts:2: 121 characters, at most 120 are allowed',
      'hack/a.sh:1: 121 characters, at most 120 are allowed',
      'test/a.c:2: 122 characters, at most 120 are allowed',
      'test/a.test.ts:1: 136 characters, at most 120 are allowed',
    ])
  })

  it('accepts longer lines of pages and JSON', () => {
    const text = 'x'.repeat(121)
    expect(verified({ 'src/a/README.md': text, 'test/a.json': text })).toMatchObject({ status: 0, stderr: '' })
  })

  it('names each file that is longer', () => {
    const { status, stderr } = verified({
      'src/a.lua': lines(401),
      'src/a.tsx': lines(401),
      'hack/b.mjs': lines(401),
      'test/a.test.ts': lines(701),
    })
    expect(status).toBe(1)
    expect(stderr.trim().split('\n')).toEqual([
      'src/a.lua: 401 lines, at most 400 are allowed here',
      'src/a.tsx: 401 lines, at most 400 are allowed here',
      'hack/b.mjs: 401 lines, at most 400 are allowed here',
      'test/a.test.ts: 701 lines, at most 700 are allowed here',
    ])
  })
})
