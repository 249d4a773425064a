import { beforeEach, describe, expect, it } from '@jest/globals'
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { AutomationError, defineContinuous, loadAutomations } from '../../src/automation/index.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const AREA = fileURLToPath(new URL('../../src/automation/index.ts', import.meta.url))
/** An automation as another copy of the package would create it, without importing one. */
const made = (type: string, more = ''): string =>
  "{ [Symbol.for('muster.automation')]: 1, kind: " +
  `'ContinuousAutomation', type: '${type}', name: 'X', config: { type: 'object' }, output: null, payload: ` +
  `null, pools: {}, visibilityMs: 60000, retry: { baseMs: 1000, factor: 2, capMs: 300000 }, run() {}, ${more} }`
const MANIFEST = (name: string, more: object = {}): string =>
  JSON.stringify({ name, version: '1.0.0', type: 'module', muster: { automations: './automations.js' }, ...more })

let directory: string
beforeEach(() => {
  directory = temporaryFolder()
})

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
}
const load = async (specifiers?: readonly string[], at = directory): Promise<string[]> =>
  (await loadAutomations({ specifiers, directory: at })).map(({ type }) => type)
const faults = async (specifiers?: readonly string[]): Promise<readonly string[]> => {
  const error: unknown = await load(specifiers).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof AutomationError)) throw new Error(`expected an AutomationError, got ${String(error)}`)
  return error.faults
}

describe('named modules', () => {
  it('are paths relative to the directory, with automations or arrays of them, default or named (D35)', async () => {
    write({
      'one.mjs': `export default ${made('one')}`,
      'dist/more.mjs': [
        'export const two = ' + made('two'),
        `export const list = [two, ${made('three')}]`,
        'export default two',
      ].join('; '),
    })
    expect(await load(['./one.mjs', 'dist/more.mjs'])).toEqual(['one', 'two', 'three'])
  })

  it('are npm packages, by the entry of their package.json or by their own exports', async () => {
    write({
      'node_modules/declares/package.json': MANIFEST('declares', { exports: { './package.json': './package.json' } }),
      'node_modules/declares/automations.js': `export default ${made('declared')}`,
      'node_modules/@scope/exports/package.json': JSON.stringify({
        name: '@scope/exports',
        type: 'module',
        exports: './main.js',
      }),
      'node_modules/@scope/exports/main.js': `export const a = ${made('exported')}`,
    })
    expect(await load(['declares', '@scope/exports'])).toEqual(['declared', 'exported'])
  })

  it('are parts of this program, if it has them', async () => {
    const builtIn = {
      'muster/automations': () => Promise.resolve({ probe: defineContinuous({ type: 'own', run: () => {} }) }),
    }
    expect(
      (await loadAutomations({ specifiers: ['muster/automations'], directory, builtIn })).map(({ type }) => type),
    ).toEqual(['own'])
  })

  it('report all their faults together, each naming the module (D35)', async () => {
    write({
      'a.mjs': `export const fine = ${made('same')}; export const helper = () => 1; export default [7]`,
      'b.mjs': `export default ${made('same')}`,
      'c.mjs': `throw new Error('needs a licence\\nand more')`,
      'd.mjs':
        'export ' +
        `default ${made('bad', "config: { type: 'object', properties: { x: { type: 'string', patern: 'x' } } }")}`,
      'e.mjs': 'export {}',
    })
    expect(
      await faults(['./a.mjs', './b.mjs', './c.mjs', './d.mjs', './e.mjs', './none.mjs', 'no-such-package']),
    ).toEqual([
      'module ./a.mjs: export "default" is not an automation; ' +
        'make one with defineBatch or defineContinuous, and export nothing else',
      'module ./a.mjs: export "helper" is not an automation; ' +
        'make one with defineBatch or defineContinuous, and export nothing else',
      'module ./c.mjs: cannot be loaded: needs a licence',
      'module ./e.mjs: exports nothing; export what defineBatch or defineContinuous made',
      `module ./none.mjs: there is no .js, .mjs or .automation.yaml file ${join(directory, 'none.mjs')}`,
      expect.stringContaining(
        `module no-such-package: cannot be found from ${directory} (npm install it, ` +
          'or begin a path with ./): Cannot find',
      ),
      'module ./d.mjs: automation "bad": /config/properties/x unknown keyword: "patern"',
      'automation "same": is defined 2 times, in module ./a.mjs and module ./b.mjs',
    ])
  })
})

describe('without names', () => {
  it('loads every dependency of the nearest package.json with an automations entry (D35)', async () => {
    write({
      'package.json': JSON.stringify({
        dependencies: { has: '1', plain: '1' },
        optionalDependencies: { absent: '1' },
        devDependencies: { dev: '1' },
      }),
      'node_modules/has/package.json': MANIFEST('has'),
      'node_modules/has/automations.js': `export default ${made('has')}`,
      'node_modules/plain/package.json': JSON.stringify({ name: 'plain' }),
      'node_modules/dev/package.json': MANIFEST('dev'),
      'deep/er/file': '',
    })
    expect(await load(undefined, join(directory, 'deep/er'))).toEqual(['has'])
    expect(await load([''])).toEqual(['has'])
  })

  it('reports a dependency that is not installed, and an entry that is not a path', async () => {
    write({
      'package.json': JSON.stringify({ dependencies: { absent: '1', wrong: '1' } }),
      'node_modules/wrong/package.json': JSON.stringify({ name: 'wrong', muster: { automations: 'dist/index.js' } }),
    })
    const found = await faults()
    expect(found[0]).toContain(
      `module absent: is a dependency in ${join(directory, 'package.json')} and is not installed; run npm install`,
    )
    expect(found[1]).toContain(
      `module wrong: ${join(directory, 'node_modules/wrong/package.json')}: ` +
        '"muster": {"automations": …} must be a path that begins with ./',
    )
  })

  it.each([
    ['no package.json at all', {}],
    ['dependencies without automations', { 'package.json': '{}' }],
  ])('reports that no automation is installed, and how to install one, with %s (D35)', async (_, files) => {
    write(files)
    expect(await faults()).toEqual([
      expect.stringMatching(/^no automation is installed: npm install .* SVC_AUTOMATIONS=muster\/automations$/),
    ])
  })
})

describe('in Node itself', () => {
  it('loads CommonJS modules, packages for import only, and automations of a second copy', async () => {
    write({
      'node_modules/import-only/package.json': JSON.stringify({
        name: 'import-only',
        type: 'module',
        exports: { '.': { import: './main.js' } },
      }),
      'node_modules/import-only/main.js': `export default ${made('import-only')}`,
      'common.js': `module.exports = { a: ${made('common-a')}, b: [${made('common-b')}] }`,
      'compiled.js': [
        "Object.defineProperty(exports, '__esModule', { value: true })",
        `exports.default = ${made('compiled')}`,
      ].join('; '),
      'copy.mjs':
        `import { defineBatch } from ${JSON.stringify(new URL('define.ts?copy=2', `file://${AREA}`).href)}; ` +
        "export default defineBatch({ type: 'copy', payload: {}, run() {} })",
      'run.mjs': `import { loadAutomations, buildCatalog } from ${JSON.stringify(`file://${AREA}`)}
        const loaded = await loadAutomations({
        specifiers: ['import-only', './common.js', './compiled.js', './copy.mjs'],
        directory: import.meta.dirname,
      })
        console.log([...buildCatalog(loaded).keys()].join(' '))`,
    })
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--disable-warning=ExperimentalWarning',
      join(directory, 'run.mjs'),
    ])
    expect(stdout).toBe('import-only common-a common-b compiled copy\n')
  }, 20_000)
})
