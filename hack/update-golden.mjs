#!/usr/bin/env node
// Writes golden stores of a release to test/golden/VERSION: a SQLite file, an append-only file of Redis, and
// contents.json with what they hold. Never changes an existing folder: a golden store is what a release wrote.
// Usage: node hack/update-golden.mjs VERSION [CHECKOUT]   CHECKOUT: the source of that release; default: this one
//   git worktree add ../old v1.0.0 && ln -s $PWD/node_modules ../old && node hack/update-golden.mjs v1.0.0 ../old
// Exit: 0 written, 1 the folder exists or redis-server is missing.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { fill, redisOf, releaseOf, sqliteOf, startGolden, timeOf } from '../test/golden/fleet.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const [version, checkout = ROOT] = process.argv.slice(2)
if (version === undefined || !/^[\w.-]+$/.test(version)) throw new Error('usage: update-golden.mjs VERSION [CHECKOUT]')
const target = join(ROOT, 'test/golden', version)
if (existsSync(target)) throw new Error(`${target} exists, and a golden store is never changed`)

const work = mkdtempSync(join(tmpdir(), 'muster-golden-'))
try {
  const release = await releaseOf(checkout)
  const sqlite = await filled(release, (time) => sqliteOf(release, join(work, 'sqlite/master.db'), time))
  const redis = await withRedis(join(work, 'redis'), (url) => filled(release, (time) => redisOf(release, url, time)))
  mkdirSync(target, { recursive: true })
  cpSync(join(work, 'sqlite/master.db'), join(target, 'master.db'))
  cpSync(join(work, 'redis/appendonlydir'), join(target, 'appendonlydir'), { recursive: true })
  writeFileSync(join(target, 'contents.json'), `${JSON.stringify({ sqlite, redis }, null, 1)}\n`)
  console.log(`${target}: written`)
} finally {
  rmSync(work, { recursive: true, force: true })
}

async function filled(release, backendAt) {
  const time = timeOf(release)
  const master = await startGolden(release, backendAt(time), time)
  try {
    return await fill(master)
  } finally {
    await master.stop()
  }
}

/** Runs `use` with a private redis-server on a free loopback port; it is stopped cleanly. */
async function withRedis(folder, use) {
  mkdirSync(folder)
  const port = await freePort()
  const settings = ['--bind', '127.0.0.1', '--port', port, '--dir', folder, '--save', '', '--appendonly', 'yes']
  const server = spawn('redis-server', [...settings, '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const exited = once(server, 'exit')
  try {
    for await (const line of createInterface({ input: server.stdout }))
      if (line.includes('Ready to accept connections')) break
    server.stdout.resume()
    return await use(`kvstore://127.0.0.1:${port}`)
  } finally {
    server.kill('SIGTERM')
    await exited
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return String(port)
}
