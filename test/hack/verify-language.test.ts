import { afterEach, describe, expect, it } from '@jest/globals'
import { type Files, type Ran, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

function verified(files: Files, options: readonly string[] = []): Ran {
  const tree = new Tree(files)
  trees.push(tree)
  return tree.run('verify-language.mjs', options)
}

describe('hack/verify-language', () => {
  it('accepts plain English, and words that only contain a rejected one', () => {
    const text = '// Returns a stolden answer; the hallway, herald and tellers are notified.\n'
    expect(verified({ 'src/a.ts': text, 'README.md': text })).toMatchObject({ status: 0, stderr: '' })
  })

  it.each([
    ['a comment', 'src/a.ts', '// The worker is told.', 'told'],
    ['a string', 'src/a.ts', "log.warn('the master is away')", 'away'],
    ['a name in camelCase', 'src/a.ts', 'const isTold = true', 'told'],
    ['a name in capitals', 'hack/a.sh', 'MASTER_AWAY=1', 'away'],
    ['a test title', 'test/a.test.ts', "it('refuses whoever asks', () => {})", 'whoever'],
    ['a page', 'src/master/README.md', 'Nobody has to wait.', 'nobody'],
    ['a chart text', 'charts/muster/values.yaml', '# What is asked of the pod', 'what is asked'],
    ['a template', 'charts/muster/templates/_a.tpl', '{{/* The pod goes on */}}', 'goes on'],
    ['a CRD', 'crds/a.yaml', 'description: at once', 'at once'],
    ['a Python program', 'test/a.py', '# nobody reads this', 'nobody'],
    ['a Go program', 'test/a.go', '// The server goes on.', 'goes on'],
    ['a Lua script', 'src/storage/redis/scripts/a.lua', '-- by now it is gone', 'by now'],
  ])('rejects a word in %s, with its line and a suggestion', (_, path, line, word) => {
    const { status, stderr } = verified({ [path]: `\n${line}\n` })
    expect(status).toBe(1)
    expect(stderr).toContain(`${path}:2: "${word}": write `)
    expect(stderr.trim().split('\n').at(-1)).toBe('1 rejected words')
  })

  it('rejects a phrase that continues on the next line', () => {
    const { stderr } = verified({ 'src/a.ts': '/**\n * It is sent at\n * once.\n */\n' })
    expect(stderr).toContain('src/a.ts:2: "at once"')
  })

  it('rejects the name of a file', () => {
    expect(verified({ 'src/told.ts': 'export {}\n' }).stderr).toContain('src/told.ts: "told" in the name of the file')
  })

  it('checks only the paths below --only', () => {
    const files = { 'src/a/a.ts': '// told', 'src/b/b.ts': '// heard' }
    expect(verified(files, ['--only', 'src/b']).stderr).not.toContain('src/a/')
  })
})
