import { afterEach, describe, expect, it } from '@jest/globals'
import { type Files, type Ran, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

function verified(files: Files): Ran {
  const tree = new Tree(files)
  trees.push(tree)
  return tree.run('verify-docs.mjs')
}

const fence = (info: string, body: string): string => `\`\`\`${info}\n${body}\n\`\`\`\n`

describe('hack/verify-docs', () => {
  it('accepts valid links and tested commands', () => {
    const { status, stderr } = verified({
      'README.md':
        '# A page\n' +
        '[the wire](src/protocol/README.md#error-codes-and-more) ' +
        '[src](src) [web](https://example.org/x) [here](#a-page)\n' +
        '`[not](a-link)`\n',
      'src/protocol/README.md':
        '## Error codes, and more\n' +
        `${fence('sh', 'muster --help')}${fence('sh dev', 'muster dev')}${fence('text', '[a](b)')}`,
      'node_modules/other/README.md': '[dead](gone.md)\n',
    })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  })

  it('reports dead links, dead anchors, absolute links and links out of the repository', () => {
    const { status, stderr } = verified({
      'README.md': '# One\n[a](gone.md)\n[b](#two)\n[c](/etc/passwd) [d](../x)\n\n[e]: gone.txt\n',
    })
    expect(status).toBe(1)
    expect(stderr.trim().split('\n')).toEqual([
      "README.md:2: 'gone.md' leads nowhere",
      "README.md:3: '#two' has no heading for #two",
      "README.md:4: '/etc/passwd' is not relative",
      "README.md:4: '../x' leads out of the repository",
      "README.md:6: 'gone.txt' leads nowhere",
    ])
  })

  it.each([
    ['bash', 'ls', 'the fence is bash'],
    ['sh soon', 'ls', '"sh soon" is not known'],
    ['sh cluster', 'helm upgrade muster charts/muster --reuse-values', 'use --reset-then-reuse-values'],
    ['', '$ muster dev', 'a prompt in a fence'],
  ])('rejects a fence "%s" with %s', (info, body, why) => {
    const { status, stderr } = verified({ 'README.md': `# A\n\n${fence(info, body)}` })
    expect(stderr).toContain(`README.md:3: ${why}`)
    expect(status).toBe(1)
  })

  it('rejects a fence without an end', () => {
    expect(verified({ 'README.md': '```sh\nls\n' }).stderr).toContain('never closed')
  })
})
