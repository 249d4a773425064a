import { afterEach, describe, expect, it } from '@jest/globals'
import { type Files, type Ran, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

function verified(files: Files): Ran {
  const tree = new Tree(files)
  trees.push(tree)
  return tree.run('verify-ports.mjs')
}

describe('hack/verify-ports', () => {
  it("accepts dates created from a given time, and the clock's own module", () => {
    const { status, stderr } = verified({
      'src/master/a.ts':
        '// new Date() would be wrong\n' +
        'export const at = (ms: number) => new Date(ms).toISOString()\n' +
        'export type T = Date\n',
      'src/runtime/clock.ts': 'export const now = () => new Date()\n',
      'src/dashboard/page.tsx': 'export const now = () => new Date()\n',
      'src/cmd/muster.ts': 'export const now = () => Date()\n',
    })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  })

  it.each(['new Date()', 'new Date', 'new  Date( )', 'Date()'])(
    'reports the line of %s in core logic',
    (expression) => {
      const { status, stderr } = verified({ 'src/worker/a.ts': `export const a = 1\nexport const b = ${expression}\n` })
      expect(stderr).toBe('src/worker/a.ts:2: reads the clock; take a Clock as an argument\n')
      expect(status).toBe(1)
    },
  )
})
