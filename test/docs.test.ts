/**
 * Runs every command of every Markdown page of the repository against the package that `npm run build` creates.
 * docs/page.ts describes the notation of commands. Without dist/ the pages are skipped, by name.
 */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, it } from '@jest/globals'
import { type Packed, pack } from './docs/package.ts'
import { hasCommands, stepsOf } from './docs/page.ts'
import { readPage } from './docs/read.ts'
import { temporaryFolder } from './kit/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DIST = join(ROOT, 'dist')
const PAGE_MS = 300_000
const ELSEWHERE = /(?:^|\/)(?:node_modules|dist|coverage|\.[^/]+)(?:\/|$)/

const built = existsSync(join(DIST, 'cmd/muster.js')) && existsSync(join(DIST, 'package.json'))
const commandsOf = (page: string): boolean => hasCommands(stepsOf(readFileSync(join(ROOT, page), 'utf8')))
const pages = globSync('**/*.md', { cwd: ROOT, exclude: (name) => ELSEWHERE.test(name) })
  .filter((name) => commandsOf(name))
  .toSorted()
const makeTargets = new Set(
  [...readFileSync(join(ROOT, 'Makefile'), 'utf8').matchAll(/^([a-z0-9-]+):/gm)].map((match) => match[1] ?? ''),
)

describe(built ? 'the commands of' : 'the commands of (needs dist/: npm run build)', () => {
  let packed: Packed
  let folder: string
  beforeAll(() => {
    folder = temporaryFolder()
    if (built) packed = pack(DIST, folder)
  }, PAGE_MS)
  if (pages.length === 0) it.todo('README.md has none yet')
  for (const page of pages) {
    const test = built ? it : it.skip
    test(
      `${page} do what it says`,
      () =>
        readPage(
          readFileSync(join(ROOT, page), 'utf8'),
          { packed, makeTargets },
          page.startsWith('examples/') ? join(ROOT, dirname(page)) : undefined,
        ),
      PAGE_MS,
    )
  }
})
