/** Tests hack/release/changelog and hack/release/release, on small repositories of their own. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { changelog } from '../../hack/release/changelog.mjs'
import { hackPath, started, type Ran } from '../hack/tree.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const IDENTITY = ['-c', 'user.name=a', '-c', 'user.email=a@example.org', '-c', 'commit.gpgsign=false']

let folder = ''
beforeEach(() => {
  folder = temporaryFolder()
  git('init', '--quiet', '--initial-branch', 'main')
})
function git(...args: string[]): string {
  return execFileSync('git', [...IDENTITY, ...args], { cwd: folder, encoding: 'utf8' }).trim()
}
const commit = (message: string): string => git('commit', '--quiet', '--allow-empty', '--message', message)

describe('hack/release/changelog', () => {
  it('lists the changes of each version under the heading of their category, newest version first', () => {
    commit('cmd: add a verb\n\nCategory: addition')
    commit('test: check it\n\nCategory: none')
    git('tag', 'v0.1.0')
    commit('queue: keep order\n\nWhy.\n\nChangelog: Tasks keep their order\n across a restart.\nCategory: fix')
    commit('chart: rename a value\n\nBreaking: Rename `a` to `b`.\nCategory: change')
    const at = git('rev-parse', 'HEAD')
    const files = changelog({ git: folder, commit: at, version: '0.2.0', date: '2026-01-02' })
    const notes =
      '### Breaking\n\n- Rename `a` to `b`.\n\n### Changed\n\n- chart: rename a value\n\n' +
      '### Fixed\n\n- Tasks keep their order across a restart.\n'
    expect(files.get('RELEASE_NOTES.md')).toBe(`# Muster 0.2.0\n\n${notes}`)
    const all = files.get('CHANGELOG.md') ?? ''
    expect(all).toContain(`## 0.2.0 - 2026-01-02\n\n${notes}\n## 0.1.0 - `)
    expect(all).toMatch(/## 0\.1\.0 - [\d-]+\n\n### Added\n\n- cmd: add a verb\n$/)
  })
})

describe('hack/release/release', () => {
  const release = (options: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Ran =>
    started(
      process.execPath,
      [join(folder, 'hack/release/release.mjs'), ...options],
      { ...process.env, ...env },
      folder,
    )
  beforeEach(() => {
    mkdirSync(join(folder, 'hack/image'), { recursive: true })
    cpSync(hackPath('release'), join(folder, 'hack/release'), {
      recursive: true,
      filter: (path) => !/node_modules/.test(path),
    })
    cpSync(hackPath('image/pins.json'), join(folder, 'hack/image/pins.json'))
    writeFileSync(join(folder, 'package.json'), '{"version": "1.2.3"}')
    git('add', '.')
    commit('all: begin')
  })

  it('refuses another version than that of package.json', () => {
    expect(release(['--version', '2.0.0'])).toMatchObject({
      status: 1,
      stderr: 'package.json has version 1.2.3, not 2.0.0; run make version VERSION=2.0.0\n',
    })
  })

  it('refuses files that are not committed, and names them', () => {
    writeFileSync(join(folder, 'new.ts'), '')
    expect(release(['--version', '1.2.3'])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/not committed[^]*new\.ts/),
    })
  })

  it('refuses a version whose tag is on another commit', () => {
    git('tag', 'v1.2.3')
    commit('all: go on')
    expect(release()).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('the tag v1.2.3 is on another commit'),
    })
  })

  it('names the command that brings missing inputs', () => {
    expect(release([], { XDG_CACHE_HOME: join(folder, 'none') })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('run make release-inputs'),
    })
  })
})
