import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { type Files, started, Tree } from './tree.ts'

const trees: Tree[] = []
afterEach(() => trees.splice(0).forEach((tree) => tree.remove()))

const MANIFEST = {
  name: 'tiny',
  version: '1.2.3',
  private: true,
  license: 'MIT',
  type: 'module',
  engines: { node: '>=22' },
  bin: { tiny: './dist/cmd/tiny.js' },
  exports: {
    './automation': { types: './dist/automation/index.d.ts', default: './dist/automation/index.js' },
    './package.json': './package.json',
  },
  dependencies: {
    'better-sqlite3': '1.0.0',
    '@opentelemetry/api': '1.0.1',
    '@opentelemetry/sdk-node': '1.0.2',
    typebox: '1.0.3',
    bundled: '1.0.4',
  },
}
const SOURCES: Files = {
  'package.json': JSON.stringify(MANIFEST),
  'release.json': '{"repository":"https://example.org/tiny"}',
  LICENSE: 'ours\n',
  'src/cmd/tiny.ts':
    "import { shared } from '../automation/index.ts'\nimport { deep } from 'bundled'\nconsole.log(shared(), deep)\n",
  'src/automation/index.ts': "export const shared = (): string => 'shared'\n",
  'src/storage/sqlite/thread.ts': 'console.log(1)\n',
  'node_modules/bundled/package.json': '{"name":"bundled","version":"1.0.4","license":"ISC","main":"index.js"}',
  'node_modules/bundled/index.js': "exports.deep = require('node:path').basename('/a/deep')\n",
  'node_modules/bundled/LICENSE.md': 'do as you like\n',
}

function treeOf(files: Files): Tree {
  const tree = new Tree(files)
  trees.push(tree)
  return tree
}

describe('hack/build', () => {
  it('creates a standalone command that contains its packages', () => {
    const tree = treeOf(SOURCES)
    expect(tree.run('build.mjs')).toMatchObject({ status: 0, stderr: '' })
    const command = join(tree.root, 'dist/cmd/tiny.js')
    expect(statSync(command).mode & 0o111).toBe(0o111)
    expect(started(command, [], process.env, tree.root)).toEqual({ status: 0, stdout: 'shared deep\n', stderr: '' })
    expect(existsSync(join(tree.root, 'dist/storage/sqlite/thread.js'))).toBe(true)
  })

  it('includes the Lua scripts of Redis in the bundle, without comments and with their lines', () => {
    const tree = treeOf({
      ...SOURCES,
      'src/cmd/tiny.ts':
        "import { SCRIPT_FILES } from '../storage/redis/script-files.ts'\nconsole.log(JSON.stringify(SCRIPT_FILES))\n",
      'src/storage/redis/script-files.ts': readFileSync(
        new URL('../../src/storage/redis/script-files.ts', import.meta.url),
        'utf8',
      ),
      'src/storage/redis/scripts/a.lua': 'return 1\n',
      'src/storage/redis/scripts/include/b.lua': '-- b\n',
    })
    expect(tree.run('build.mjs')).toMatchObject({ status: 0, stderr: '' })
    rmSync(join(tree.root, 'src'), { recursive: true })
    const { stdout } = started(join(tree.root, 'dist/cmd/tiny.js'), [], process.env, tree.root)
    expect(JSON.parse(stdout)).toEqual({ 'a.lua': 'return 1\n', 'include/b.lua': '\n' })
  })

  it("does not load Node's own fetch where a command imports node:http", () => {
    const tree = treeOf({
      ...SOURCES,
      'src/cmd/tiny.ts':
        "import http, { createServer } from 'node:http'\nimport { Agent } from 'http'\n" +
        'console.log(typeof http.get, typeof createServer, typeof Agent, ' +
        "process.moduleLoadList.filter((name) => name.includes('undici')))\n",
    })
    tree.run('build.mjs')
    const { stdout } = started(join(tree.root, 'dist/cmd/tiny.js'), [], process.env, tree.root)
    expect(stdout).toBe('function function function []\n')
  })

  it('bundles only the pools and the API of undici', () => {
    const dispatcher = (name: string): string =>
      `module.exports = class ${name} extends require('./dispatcher.js') {}\n`
    const tree = treeOf({
      ...SOURCES,
      'src/cmd/tiny.ts': "import { Agent } from 'undici'\nconsole.log(new Agent().request())\n",
      'node_modules/undici/package.json': '{"name":"undici","version":"1.0.5","license":"MIT","main":"index.js"}',
      'node_modules/undici/index.js': "throw new Error('all of undici is in the bundle')\n",
      'node_modules/undici/LICENSE': 'do as you like\n',
      'node_modules/undici/lib/api/index.js': "exports.request = () => 'requested'\n",
      'node_modules/undici/lib/dispatcher/dispatcher.js': 'module.exports = class Dispatcher {}\n',
      'node_modules/undici/lib/dispatcher/agent.js': dispatcher('Agent'),
      'node_modules/undici/lib/dispatcher/pool.js': dispatcher('Pool'),
      'node_modules/undici/lib/dispatcher/proxy-agent.js': dispatcher('ProxyAgent'),
    })
    expect(tree.run('build.mjs')).toMatchObject({ status: 0, stderr: '' })
    const { stdout } = started(join(tree.root, 'dist/cmd/tiny.js'), [], process.env, tree.root)
    expect(stdout).toBe('requested\n')
  })

  it('writes the published manifest: paths in dist, and the dependencies outside of the bundle', () => {
    const tree = treeOf(SOURCES)
    tree.run('build.mjs')
    const published = JSON.parse(readFileSync(join(tree.root, 'dist/package.json'), 'utf8'))
    expect(published).toEqual({
      name: 'tiny',
      version: '1.2.3',
      license: 'MIT',
      type: 'module',
      engines: { node: '>=22' },
      repository: { type: 'git', url: 'git+https://example.org/tiny.git' },
      bin: { tiny: './cmd/tiny.js' },
      exports: {
        './automation': { types: './automation/index.d.ts', default: './automation/index.js' },
        './package.json': './package.json',
      },
      dependencies: {
        '@opentelemetry/api': '1.0.1',
        '@opentelemetry/sdk-node': '1.0.2',
        'better-sqlite3': '1.0.0',
        typebox: '1.0.3',
      },
    })
    expect(readFileSync(join(tree.root, 'dist/LICENSE'), 'utf8')).toBe('ours\n')
    expect(readFileSync(join(tree.root, 'dist/THIRD-PARTY-LICENSES'), 'utf8')).toContain(
      'bundled 1.0.4 (ISC)\n\ndo as you like\n',
    )
  })

  it('reports missing entry points and builds the others', () => {
    const { 'src/automation/index.ts': _, ...rest } = SOURCES
    const tree = treeOf({ ...rest, 'src/cmd/tiny.ts': 'console.log(1)\n' })
    const { status, stderr } = tree.run('build.mjs')
    expect(status).toBe(1)
    expect(stderr).toBe('build: src/automation/index.ts is missing; package.json or hack/build.mjs promises it\n')
    expect(existsSync(join(tree.root, 'dist/cmd/tiny.js'))).toBe(true)
  })
})
