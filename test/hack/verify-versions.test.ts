import { afterEach, describe, expect, it } from '@jest/globals'
import { type Ran, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

function verified(pyproject: string): Ran {
  const tree = new Tree({ 'package.json': '{"version": "1.2.3"}', 'clients/python/pyproject.toml': pyproject })
  trees.push(tree)
  return tree.run('verify-versions.mjs')
}

describe('hack/verify-versions', () => {
  it('accepts the version of the npm package', () => {
    expect(verified('[build-system]\nversion = "9"\n\n[project]\nname = "a"\nversion = "1.2.3"\n')).toMatchObject({
      status: 0,
      stderr: '',
    })
  })

  it.each([
    ['another version', '[project]\nversion = "1.2.4"\n', '1.2.4'],
    ['no version', '[project]\nname = "a"\n\n[tool.x]\nversion = "1.2.3"\n', 'missing'],
  ])('rejects %s', (_, pyproject, found) => {
    expect(verified(pyproject)).toMatchObject({
      status: 1,
      stderr: `clients/python/pyproject.toml: version ${found}, but package.json has 1.2.3: change both together\n`,
    })
  })
})
