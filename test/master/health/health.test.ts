import { describe, expect, it } from '@jest/globals'
import { createHealth } from '../../../src/master/health/index.ts'
import { runMaster, testCatalog } from '../running-master.ts'
import type { RouteRequest } from '../../../src/master/http/index.ts'

describe('health', () => {
  it('says ok and nothing else, without a token (D45)', async () => {
    const master = await runMaster()
    const { status, json } = await master.call('GET', '/healthz', { token: '' })
    expect([status, json]).toEqual([200, { status: 'ok' }])
  })

  it('is ready once the backend answers', async () => {
    const master = await runMaster()
    const { status, json } = await master.call('GET', '/readyz', { token: '' })
    expect([status, json]).toEqual([200, { status: 'ready', parts: { backend: true, catalog: true, serving: true } }])
  })

  it('stays ok and is not ready while the backend is away, and names parts alone (D45, S18)', async () => {
    const master = await runMaster()
    await master.backend.close()
    expect((await master.call('GET', '/healthz', { token: '' })).status).toBe(200)
    const { status, json } = await master.call('GET', '/readyz', { token: '' })
    expect([status, json]).toEqual([
      503,
      { status: 'not ready', parts: { backend: false, catalog: true, serving: true } },
    ])
  })

  it('is not ready from the moment the master begins to stop', async () => {
    const { backend } = await runMaster()
    const [, ready] = createHealth({ deps: { backend, catalog: testCatalog() }, serving: () => false }).routes
    expect(await ready?.handle({} as RouteRequest)).toMatchObject({
      status: 503,
      body: { parts: { backend: true, serving: false } },
    })
  })
})
