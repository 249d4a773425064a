/**
 * Compiles programs against `muster/client` as users have it: the package that `npm run build` creates. The docs test
 * runs the programs of the page. Skipped without dist/.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { pack } from '../docs/package.ts'
import { stepsOf } from '../docs/page.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DIST = join(ROOT, 'dist')
const README = readFileSync(join(ROOT, 'src/client/README.md'), 'utf8')
const WRONG_TYPES = `
import { MusterClient } from 'muster/client'
import type { greeter } from './greeter.mjs'

const greetings = new MusterClient({ url: 'http://master', token: '' }).automation<typeof greeter>('greeter')
await greetings.submit({ name: 'Ada' })
const text: string | undefined = (await greetings.peek(1))[0]?.payload.text
// @ts-expect-error the name is a string
await greetings.submit({ name: 7 })
// @ts-expect-error the output has no such field
void (await greetings.peek(1))[0]?.payload.bytes
const greeted: string = (await greetings.result('a')).text
// @ts-expect-error the result has no such field
void (await (await greetings.submit({ name: 'Ada' }, { retainSeconds: 1 })).result()).bytes
for await (const { payload } of greetings.listTasks({ place: 'dead' })) void (payload.name satisfies string)
// @ts-expect-error a list has no finished tasks
greetings.listTasks({ place: 'done' })
// @ts-expect-error there is no such option
await greetings.submit({ name: 'Ada' }, { delay: 1 })
void text
void greeted
`
/** A page has the types of browsers, and none of Node. */
const PAGE = `
import { MusterClient } from 'muster/client'

const client = new MusterClient({ url: location.origin, token: async () => sessionStorage.getItem('token') ?? '' })
document.title = (await client.automation('greeter').submit({ name: 'Ada' })).id
`
const built = existsSync(join(DIST, 'client/public.js')) && existsSync(join(DIST, 'package.json'))
const test = built ? it : it.skip
let folder: string

beforeAll(() => {
  folder = temporaryFolder()
  if (!built) return
  const home = join(folder, 'node_modules/muster')
  mkdirSync(home, { recursive: true })
  execFileSync('tar', ['-xzf', pack(DIST, folder).tarball, '-C', home, '--strip-components=1'])
  symlinkSync(join(ROOT, 'node_modules/typebox'), join(folder, 'node_modules/typebox'))
  for (const step of stepsOf(README)) if (step.kind === 'file') writeFileSync(join(folder, step.name), step.content)
  writeFileSync(join(folder, 'wrong-types.mts'), WRONG_TYPES)
  writeFileSync(join(folder, 'page.mts'), PAGE)
}, 60_000)

/** @returns what the compiler printed. */
function compiled(files: readonly string[], lib: readonly string[], types: readonly string[]): string {
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable', ...lib],
    module: 'nodenext',
    strict: true,
    noEmit: true,
    allowJs: true,
    skipLibCheck: true,
    types,
    typeRoots: [join(ROOT, 'node_modules/@types')],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const args = [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder]
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout
}

describe(built ? 'the published client' : 'the published client (needs dist/: npm run build)', () => {
  test('has the types of the automation, in the programs of its page and in wrong ones', () => {
    const programs = ['submit.mts', 'outputs.mts', 'errors.mts', 'events.mts', 'operate.mts', 'wrong-types.mts']
    expect(compiled(programs, [], ['node'])).toBe('')
  }, 60_000)

  test('compiles in a page, without the types of Node', () => {
    expect(compiled(['page.mts'], ['dom'], [])).toBe('')
  }, 60_000)

  test('is a module without imports', () => {
    const code = readFileSync(join(folder, 'node_modules/muster/client/public.js'), 'utf8')
    expect(code).not.toMatch(/\bfrom\s*['"]|\brequire\(|\bimport\(/)
  })
})
