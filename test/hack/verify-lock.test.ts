import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type Files, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

function treeOf(files: Files): Tree {
  const tree = new Tree(files)
  trees.push(tree)
  return tree
}

/** A package with one local dependency, so that npm contacts no registry. `locked` is its entry in the lock. */
function project(dependencies: Record<string, string>, locked: Record<string, object>): Files {
  const root = { name: 'tiny', version: '1.0.0', dependencies }
  return {
    'package.json': JSON.stringify(root),
    'package-lock.json': JSON.stringify({
      name: 'tiny',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages: { '': root, ...locked },
    }),
    '.npmrc': 'fund=false\naudit=false\noffline=true\n',
  }
}

describe('hack/verify-lock', () => {
  it('accepts a lock that npm ci installs into an empty folder, and caches the result', () => {
    const tree = treeOf(project({}, {}))
    expect(tree.run('verify-lock.mjs')).toMatchObject({ status: 0, stderr: '' })
    const again = tree.run('verify-lock.mjs')
    expect(again).toMatchObject({ status: 0, stdout: '' })
  }, 60_000)

  it('rejects a lock that npm ci rejects, and does not cache it', () => {
    const files = project({}, {})
    const manifest = JSON.stringify({ name: 'tiny', version: '1.0.0', dependencies: { left: '1.0.0' } })
    const tree = treeOf({ ...files, 'package.json': manifest })
    const { status, stderr } = tree.run('verify-lock.mjs')
    expect(status).toBe(1)
    expect(stderr).toContain('npm ci refuses package.json and package-lock.json')
    expect(existsSync(join(tree.root, '.tools/lock-verified'))).toBe(false)
  }, 60_000)

  it('rejects URLs in the lock and ranges in package.json', () => {
    const locked = { 'node_modules/left': { version: '1.0.0', resolved: 'https://registry.example/left.tgz' } }
    const { status, stderr } = treeOf(project({ left: '^1.0.0', right: '~2.1.0', centre: '3.0.0' }, locked)).run(
      'verify-lock.mjs',
    )
    expect(status).toBe(1)
    expect(stderr.trim().split('\n')).toEqual([
      'package.json: left "^1.0.0" is not an exact version',
      'package.json: right "~2.1.0" is not an exact version',
      'package-lock.json: node_modules/left has a "resolved" address; npm install with our .npmrc writes none',
    ])
  })

  it('trusts --remember, which runs after npm ci of the same files', () => {
    const tree = treeOf(project({}, {}))
    expect(tree.run('verify-lock.mjs', ['--remember']).status).toBe(0)
    expect(readFileSync(join(tree.root, '.tools/lock-verified'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
    expect(tree.run('verify-lock.mjs')).toMatchObject({ status: 0, stdout: '' })
  })
})
