#!/usr/bin/env node
// Fails unless two builds of the release are equal in every byte, though they run in other folders, time zones,
// languages and umasks. Needs what make release needs; takes as long as two of them.
// Usage: node hack/release/build-twice.mjs    (make verify-release)    Exit: 0 equal, 1 not, one line per file.
//
// Both builds run on this machine with this user. Two machines differ in more, such as the version of tar.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { differences } from './compare.mjs'

const RELEASE = fileURLToPath(new URL('release.mjs', import.meta.url))
const BUILDS = [
  { name: 'a', umask: '022', env: { TZ: 'UTC', LANG: 'C' } },
  { name: 'another folder with a longer name', umask: '077', env: { TZ: 'Asia/Kolkata', LANG: 'de_DE.UTF-8' } },
]

const folder = mkdtempSync(join(tmpdir(), 'muster-verify-'))
try {
  const outs = BUILDS.map(({ name, umask, env }) => {
    const out = join(folder, `${name} out`)
    const args = [RELEASE, '--out', out, '--scratch', join(folder, name)]
    const command = ['-c', `umask ${umask}; exec "$@"`, 'sh', process.execPath, ...args]
    const stdio = ['ignore', 'ignore', 'inherit']
    const { status } = spawnSync('sh', command, { env: { ...process.env, ...env }, stdio })
    if (status !== 0) process.exit(1)
    return out
  })
  const faults = differences(...outs)
  for (const fault of faults) console.error(fault)
  if (faults.length === 0) console.log(`equal in every byte: ${readdirSync(outs[0]).length} files`)
  process.exitCode = faults.length === 0 ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
