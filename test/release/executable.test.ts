/** Tests the command line for clients as one file, in which Node is: what is in it, and that it works. */
import { execFile } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { hackPath, started } from '../hack/tree.ts'
import { startTestMaster, TOKENS, type TestMaster } from '../kit/running-master.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

interface Parts {
  readonly bundle: (root: string, version: string) => Promise<{ code: string; files: readonly string[] }>
  readonly writeExecutable: (path: string, from: { code: string; nodeProgram: string }) => Promise<void>
}

const BUILD_MS = 120_000
const run = promisify(execFile)
const NOT_FOR_CLIENTS = /^src\/(?:master|storage|worker|dashboard)\/|sdk-node|better-sqlite3/

describe('the executable for clients', () => {
  let muster: string
  let files: readonly string[]
  let master: TestMaster
  beforeAll(async () => {
    const { bundle, writeExecutable } = (await import(hackPath('release/executable.mjs'))) as Parts
    const bundled = await bundle(process.cwd(), '1.2.3')
    files = bundled.files
    muster = join(temporaryFolder(), 'muster')
    await writeExecutable(muster, { code: bundled.code, nodeProgram: process.execPath })
    master = await startTestMaster()
  }, BUILD_MS)
  afterAll(() => master.stop())

  it('contains no part of a fleet', () => {
    expect(files.filter((path) => NOT_FOR_CLIENTS.test(path))).toEqual([])
    expect(files).toContain('src/cmd/doctor/index.ts')
  })

  it('runs without Node and without a package beside it', async () => {
    const env = { PATH: '/nowhere', HOME: temporaryFolder(), SVC_MASTER_URL: master.url, SVC_API_TOKEN: TOKENS.admin }
    expect(started(muster, ['--version'], env)).toEqual({ status: 0, stdout: '1.2.3\n', stderr: '' })
    const { stdout } = await run(muster, ['automations', 'ls', '-o', 'name'], { env })
    expect(stdout).toBe('mailer\nprobe\n')
    const doctor = await run(muster, ['doctor', '--help'], { env })
    expect(doctor.stdout).toContain('muster doctor')
  })

  it('says where the programs of a fleet are', () => {
    expect(started(muster, ['master'], {})).toEqual({
      status: 2,
      stdout: '',
      stderr:
        'error: this executable contains the commands for clients, and not muster master\n' +
        'next:  use the package for npm, or the image\n',
    })
  })

  it('is a plug-in of kubectl under the name kubectl-muster', () => {
    const plugin = join(temporaryFolder(), 'kubectl-muster')
    symlinkSync(muster, plugin)
    const [own, plugged] = [muster, plugin].map((path) =>
      started(path, ['workers', 'ls', 'mailer'], { HOME: '/nowhere' }),
    )
    expect(plugged?.stderr).not.toBe(own?.stderr)
    expect(plugged?.stderr).toContain('kube')
  })
})
