/**
 * Tests the harness as users have it: the package that `npm run build` creates, with its types. Skipped without dist/.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { pack } from '../../docs/package.ts'
import { stepsOf } from '../../docs/page.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const DIST = join(ROOT, 'dist')
const README = readFileSync(join(ROOT, 'src/automation/README.md'), 'utf8')
const WRONG_TYPES = `
import { defineContinuous } from 'muster/automation'
import { runBatch, runContinuous } from 'muster/automation/testing'
import { thumbnail } from './thumbnail.ts'

const tasks = [{ payload: { url: 'a' } }]
const run = await runBatch(thumbnail, { tasks, config: { slots: 2 }, script: { 1: (h) => h.setConfig({ width: 20 }) } })
const bytes: number | undefined = run.outputs[0]?.bytes
// @ts-expect-error the output has no such field
void run.outputs[0]?.height
// @ts-expect-error the width is a number
await runBatch(thumbnail, { tasks, config: { width: 'wide' } })
// @ts-expect-error a task needs its payload
await runBatch(thumbnail, { tasks: [{ payload: {} }] })
// @ts-expect-error the pool is not declared
await runBatch(thumbnail, { tasks, pools: { browsers: [] } })
// @ts-expect-error an item of another shape
await runBatch(thumbnail, { tasks, pools: { proxies: [{ payload: { port: 1 } }] } })
// @ts-expect-error not a fault
await runBatch(thumbnail, { tasks, allow: ['all'] })
// @ts-expect-error the field is a number
await runBatch(thumbnail, { tasks, script: { 1: (h) => h.setConfig({ width: 'wide' }) } })
// @ts-expect-error a batch automation
await runContinuous(thumbnail, { forSeconds: 1 })
// @ts-expect-error a continuous automation
await runBatch(defineContinuous({ type: 'a', run: () => {} }), { tasks })
void bytes
`
const built = existsSync(join(DIST, 'automation/testing/index.js')) && existsSync(join(DIST, 'package.json'))
const test = built ? it : it.skip
let folder: string

beforeAll(() => {
  folder = temporaryFolder()
  if (!built) return
  const { tarball, dependencies } = pack(DIST, folder)
  const home = join(folder, 'node_modules/muster')
  mkdirSync(home, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', home, '--strip-components=1'])
  for (const name of new Set(dependencies.map((each) => each.split('/', 1).join(''))))
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  for (const step of stepsOf(README)) if (step.kind === 'file') writeFileSync(join(folder, step.name), step.content)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
}, 60_000)
describe(built ? 'the published harness' : 'the published harness (needs dist/: npm run build)', () => {
  test('runs the tests of the guide exactly as printed', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--test', '--test-reporter=tap'], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
    })
    expect({ status, stderr, passed: /^# pass 3$/m.test(stdout) }).toEqual({ status: 0, stderr: '', passed: true })
  }, 60_000)

  test('has the types of the automation under test', () => {
    writeFileSync(join(folder, 'wrong-types.ts'), WRONG_TYPES)
    const compilerOptions = {
      target: 'es2023',
      lib: ['es2023', 'esnext.disposable'],
      module: 'nodenext',
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      types: ['node'],
      typeRoots: [join(ROOT, 'node_modules/@types')],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    const { stdout } = spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder], {
      encoding: 'utf8',
    })
    expect(stdout).toBe('')
  }, 120_000)
})
