/** Runs clients in Go (gorilla/websocket) and Python (standard library) that play rows of the table. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ADMIN, onEachStore, WORKER, type ConformanceFixture } from './fixture.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const run = promisify(execFile)
const CLIENTS = join(import.meta.dirname, 'clients')
const ROWS = ['D5', 'D74', 'D75a', 'D76b', 'D75d', 'D78', 'D80a', 'D76a']
/** A cold build compiles net/http and its dependencies. */
const BUILT_WITHIN_MS = 300_000

/** Shorter than the limit of a test, so that no client outlives its master. */
const ENDS_WITHIN_MS = 25_000

const folder = temporaryFolder()
const go = { cwd: join(CLIENTS, 'go'), env: { ...process.env, GOTOOLCHAIN: 'local', CGO_ENABLED: '0' } }
const hasGo = spawnSync('go', ['mod', 'download'], { ...go, timeout: 60_000 }).status === 0
const hasPython = spawnSync('python3', ['--version']).status === 0

/** Runs a client against the master of `fixture` and returns the lines that it prints. */
async function played(
  fixture: ConformanceFixture,
  program: string,
  args: readonly string[] = [],
): Promise<readonly unknown[]> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    MASTER_URL: fixture.url,
    ADMIN_TOKEN: ADMIN,
    WORKER_TOKEN: WORKER,
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const { stdout } = await run(program, args, { env, timeout: ENDS_WITHIN_MS })
  return stdout
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line))
}
const allOk = ROWS.map((row) => ({ row, ok: true, detail: '' }))

if (!hasGo) describe('a client in Go', () => it.skip('go or a module of its client is not installed', () => undefined))
else {
  const client = join(folder, 'client')
  beforeAll(() => run('go', ['build', '-buildvcs=false', '-o', client, '.'], go), BUILT_WITHIN_MS)
  onEachStore('a client in Go', (open) => {
    it('client/go: gets the responses of the table', async () => {
      expect(await played(await open(), client)).toEqual(allOk)
    })
  })
}

if (!hasPython) describe('a client in Python', () => it.skip('python3 is not installed', () => undefined))
else {
  onEachStore('a client in Python', (open) => {
    it('client/python: gets the responses of the table', async () => {
      expect(await played(await open(), 'python3', [join(CLIENTS, 'client.py')])).toEqual(allOk)
    })
  })
}
