/** Checks that the tables on the pages equal those that the code generates. */
import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const SCRIPT = join(ROOT, 'hack/update-docs.mjs')
const PAGES = [
  'README.md',
  'docs/sizing.md',
  'src/operator/README.md',
  'src/protocol/README.md',
  'src/cmd/README.md',
  'src/master/README.md',
  'src/automations/README.md',
  'src/worker-test/README.md',
]
const MINUTE_MS = 60_000

const update = (...args: readonly string[]) => spawnSync(process.execPath, [SCRIPT, ...args], { encoding: 'utf8' })

describe('the tables of the pages', () => {
  it(
    'are up to date; if not, run node hack/update-docs.mjs',
    () => {
      const { status, stderr } = update('--check')
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    },
    MINUTE_MS,
  )
})

describe('update-docs.mjs', () => {
  let folder = ''
  beforeEach(() => {
    folder = temporaryFolder()
    for (const file of [...PAGES, 'release.json']) cpSync(join(ROOT, file), join(folder, file))
  })
  const page = (name: string): string => readFileSync(join(folder, name), 'utf8')
  const edit = (name: string, from: string | RegExp, to: string): void => {
    expect(page(name)).toMatch(from)
    writeFileSync(join(folder, name), page(name).replace(from, to))
  }

  it(
    'names a table that differs, writes nothing with --check, and corrects it without',
    () => {
      edit('src/protocol/README.md', '| 429 | `RATE_LIMITED`', '| 430 | `RATE_LIMITED`')
      const { status, stderr } = update('--check', folder)
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: 'src/protocol/README.md: the table "errors" differs from the code; run node hack/update-docs.mjs\n',
      })
      expect(page('src/protocol/README.md')).toContain('| 430 |')
      expect(update(folder).stdout).toBe('src/protocol/README.md: written\n')
      expect(page('src/protocol/README.md')).toBe(readFileSync(join(ROOT, 'src/protocol/README.md'), 'utf8'))
    },
    MINUTE_MS,
  )

  it(
    'names a marker without a table and a table without a marker',
    () => {
      edit('src/master/README.md', '<!-- generated: metrics -->', '<!-- generated: matrics -->')
      const { status, stderr } = update('--check', folder)
      expect(status).toBe(1)
      expect(stderr).toContain('src/master/README.md: there is no table "matrics"')
      expect(stderr).toContain('the table "metrics" stands on no page')
    },
    MINUTE_MS,
  )
})
