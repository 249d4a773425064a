/**
 * Runs files/smoke.mjs from outside, as `make smoke` does. The pod of `helm test` runs the same file on a real node
 * (test/cluster).
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { started, type Ran } from '../hack/tree.ts'
import { ADMIN_TOKEN, Fleet, WORKER_TOKEN } from '../e2e/fleet.ts'

describe('make smoke', () => {
  const fleet = new Fleet('memory://')
  const TOKENS = join(fleet.directory, 'tokens')
  beforeAll(async () => {
    mkdirSync(TOKENS)
    writeFileSync(join(TOKENS, 'worker-token'), WORKER_TOKEN)
    await fleet.startMaster()
  }, 60_000)
  afterAll(() => fleet.stop())

  const smoke = (adminToken: string): Ran => {
    writeFileSync(join(TOKENS, 'admin-token'), adminToken)
    return started(
      'make',
      ['--no-print-directory', '--old-file=.tools/ready', 'smoke'],
      { ...process.env, MAKEFLAGS: '', MASTER_URL: fleet.url, TOKENS },
      process.cwd(),
    )
  }

  it('sends requests to a master as its clients do, and leaves nothing behind', async () => {
    expect(smoke(ADMIN_TOKEN)).toMatchObject({ status: 0, stdout: expect.stringMatching(/^(ok: .+\n)+/) })
    const types = await fleet.ok<readonly { readonly type: string }[]>('GET', '/automations')
    const workers = await Promise.all(types.map(({ type }) => fleet.ok('GET', `/automations/${type}/workers`)))
    expect(types.length).toBeGreaterThan(0)
    expect(JSON.stringify(workers)).not.toContain('smoke-')
  }, 60_000)

  it('fails with the first unexpected result', () => {
    expect(smoke('an-unknown-token').status).not.toBe(0)
  }, 60_000)
})
