import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readTokens } from '../../../src/master/auth/index.ts'
import { createHealth } from '../../../src/master/health/index.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { runMaster, testCatalog, TOKENS } from '../../kit/running-master.ts'
import type { RouteRequest } from '../../../src/master/http/index.ts'
import { temporaryFolder } from '../../kit/temporary-folder.ts'

describe('health', () => {
  it('returns only "ok", without a token (D45)', async () => {
    const master = await runMaster()
    const { status, json } = await master.call('GET', '/healthz', { token: '' })
    expect([status, json]).toEqual([200, { status: 'ok' }])
  })

  it('is ready when the backend is open', async () => {
    const master = await runMaster()
    const { status, json } = await master.call('GET', '/readyz', { token: '' })
    expect([status, json]).toEqual([200, { status: 'ready', parts: { backend: true, catalog: true, serving: true } }])
  })

  it('stays ok and is not ready while the backend is unavailable, and names only parts (D45, S18)', async () => {
    const master = await runMaster()
    await master.backend.close()
    expect((await master.call('GET', '/healthz', { token: '' })).status).toBe(200)
    const { status, json } = await master.call('GET', '/readyz', { token: '' })
    expect([status, json]).toEqual([
      503,
      { status: 'not ready', parts: { backend: false, catalog: true, serving: true } },
    ])
  })

  it('reports invalid token settings in /readyz, metrics and log, and keeps the previous tokens (D54)', async () => {
    const time = new VirtualTime()
    const folder = temporaryFolder()
    const file = join(folder, 'scopes')
    const canary = 'canary-of-a-scoped-token'
    const environment = { SVC_ADMIN_TOKEN: TOKENS.admin, SVC_WORKER_TOKEN: TOKENS.worker, SVC_TOKEN_SCOPES_FILE: file }
    const reread = () => readTokens(environment, (path) => Promise.resolve(readFileSync(path, 'utf8')))
    const master = await runMaster({ clock: time, timers: time, rereadTokens: reread })
    const written = async (text: string) => {
      writeFileSync(file, text)
      await time.advance(2_000)
      const { json } = await master.call('GET', '/readyz', { token: '' })
      const [, faults] = /^svc_token_settings_faults (\d+)$/m.exec((await master.call('GET', '/metrics')).text) ?? []
      return { json, faults }
    }
    const parts = { backend: true, catalog: true, serving: true }
    expect(await written(`{"${canary}": ["mailer"], "another-scoped-token-x": "probe"}`)).toEqual({
      json: {
        status: 'ready',
        parts,
        warnings: [
          'entry 2 of SVC_TOKEN_SCOPES does not list automation types; for example ["mailer"], or ["*"] for every type',
        ],
      },
      faults: '1',
    })
    expect((await master.call('GET', '/api/v1/me', { token: TOKENS.mailer })).status).toBe(200)
    expect((await master.call('GET', '/api/v1/me', { token: canary })).status).toBe(403)
    expect(
      master.lines.filter(({ level, message }) => level === 'error' && message.includes('token settings are invalid')),
    ).toHaveLength(1)
    expect(await written(`{"${canary}": ["mailer"]}`)).toEqual({ json: { status: 'ready', parts }, faults: '0' })
    expect((await master.call('GET', '/api/v1/me', { token: canary })).status).toBe(200)
    expect(JSON.stringify(master.lines)).not.toContain(canary)
  })

  it('is not ready as soon as the master begins to stop', async () => {
    const { backend } = await runMaster()
    const [, ready] = createHealth({ backend, catalog: testCatalog(), isServing: () => false }).routes
    expect(await ready?.handle({} as RouteRequest)).toMatchObject({
      status: 503,
      body: { parts: { backend: true, serving: false } },
    })
  })
})
