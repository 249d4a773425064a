import { describe, expect, it } from '@jest/globals'
import { MasterError } from '../../src/client/index.ts'
import { runMaster, TOKENS } from '../kit/running-master.ts'
import { clientOf, emit, makeDead, register } from './fixture.ts'

async function fixture() {
  const master = await runMaster()
  return { master, client: clientOf(master.url) }
}
const failure = (call: Promise<unknown>): Promise<MasterError> =>
  call.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: unknown) => error as MasterError,
  )

describe('workers', () => {
  it('are returned in pages, each worker once, filtered by the master (D40)', async () => {
    const { master, client } = await fixture()
    for (const id of ['w1', 'w2', 'w3', 'w4', 'w5']) await register(master, id)
    const pages: string[][] = []
    for await (const { body } of client.workers.pages('mailer', {}, { pageRows: 2 }))
      pages.push(body.map((row) => row.worker_id))
    expect(pages).toEqual([['w1', 'w2'], ['w3', 'w4'], ['w5']])
    for await (const { body } of client.workers.pages('mailer', { state: 'ERROR', connected: false }))
      expect(body).toEqual([])
    expect((await client.workers.page('mailer', { limit: 1, after: 'w3' })).body.map((row) => row.worker_id)).toEqual([
      'w4',
    ])
  })

  it('are read with the epoch of the store, for a change with If-Match (D15)', async () => {
    const { master, client } = await fixture()
    await register(master, 'odd id %2F ?')
    const before = await client.workers.get('mailer', 'odd id %2F ?')
    expect(before).toMatchObject({
      epoch: expect.stringMatching(/./),
      requestId: expect.stringMatching(/./),
      body: { worker_id: 'odd id %2F ?', config_gen: 0 },
    })
    const ifMatch = { epoch: before.epoch, configGen: 0 }
    expect((await client.workers.patchConfig('mailer', 'odd id %2F ?', { slots: 2 }, { ifMatch })).body).toMatchObject({
      config: { slots: 2 },
      config_gen: 1,
    })
    expect(
      await failure(client.workers.patchConfig('mailer', 'odd id %2F ?', { slots: 3 }, { ifMatch })),
    ).toMatchObject({ code: 'STALE_GENERATION', status: 412, outcome: 'not_done', isRetryable: false })
    expect(
      await failure(
        client.workers.patchConfig(
          'mailer',
          'odd id %2F ?',
          { slots: 3 },
          { ifMatch: { ...ifMatch, epoch: 'another', configGen: 1 } },
        ),
      ),
    ).toMatchObject({ code: 'STALE_GENERATION' })
  })

  it('include the last change, statistics, and deletion (D39)', async () => {
    const { master } = await fixture()
    const client = clientOf(master.url, { actor: 'cli:ana' })
    await register(master, 'w1')
    await client.workers.patchConfig('mailer', 'w1', { slots: 2 })
    await client.workers.patchConfig('mailer', 'w1', { slots: 3 })
    expect((await client.workers.history('mailer', 'w1', { limit: 1 })).body).toMatchObject([
      { config_gen: 2, actor: 'admin cli:ana', changed: ['slots'] },
    ])
    await client.workers.patchConfig('mailer', 'w1', { slots: 4 }, { actor: 'ben' })
    const { body: history, respondedAtMs } = await client.workers.history('mailer', 'w1', { limit: 1 })
    expect([history[0]?.actor, Math.abs((respondedAtMs ?? 0) - Date.now()) < 60_000]).toEqual(['admin ben', true])
    await master.backend.workers.beat([
      { type: 'mailer', id: 'w1', conn: 'gone/w1', stats: ['{"slots":1,"cpu_pct":1,"rss_mb":1,"ts":7,"metrics":{}}'] },
    ])
    expect((await client.workers.stats('mailer', 'w1', { since: 7, limit: 1, view: 'summary' })).body).toEqual([
      { slots: 1, cpu_pct: 1, rss_mb: 1, ts: 7 },
    ])
    expect((await client.workers.drain('mailer', 'w1')).body).toEqual({ worker_id: 'w1', drain: 'requested' })
    expect((await client.workers.forget('mailer', 'w1')).body).toEqual({ worker_id: 'w1', removed: true })
    expect(await failure(client.workers.get('mailer', 'w1'))).toMatchObject({
      code: 'NOT_FOUND',
      status: 404,
      requestId: expect.stringMatching(/./),
    })
  })
})

describe('tasks', () => {
  it('are submitted, found and inspected', async () => {
    const { client } = await fixture()
    expect((await client.tasks.submit('mailer', { task_id: 't1', payload: { to: 'ada' }, priority: 3 })).body).toEqual({
      task_id: 't1',
      queued: true,
      priority: 3,
    })
    const { results } = (
      await client.tasks.submitBatch('mailer', [{ task_id: 't1', payload: { to: 'ada' } }, { payload: { to: 7 } }])
    ).body
    expect(results).toMatchObject([{ task_id: 't1', duplicate: true }, { error: { status: 422 } }])
    expect((await client.tasks.get('mailer', 't1')).body).toEqual({ task_id: 't1', place: 'pending' })
    expect((await client.tasks.queue('mailer', { n: 5 })).body).toMatchObject({
      length: 1,
      items: [{ id: 't1', payload: { to: 'ada' } }],
    })
    const refused = await failure(client.tasks.submit('mailer', { payload: { to: 7 } }))
    expect(refused).toMatchObject({
      code: 'INVALID',
      faults: [{ path: '/payload/to', keyword: 'type' }],
      outcome: 'not_done',
    })
    expect(refused.message).toContain('/payload/to must be string')
  })

  it('can be listed as dead, replayed and cleared', async () => {
    const { master, client } = await fixture()
    await makeDead(master, ['a', 'b', 'c'])
    expect((await client.tasks.dead('mailer', { n: 2 })).body).toMatchObject({
      length: 3,
      items: [{ last_error: 'no such address: a' }, {}],
    })
    expect((await client.tasks.replay('mailer', { n: 1 })).body).toEqual({ replayed: 1 })
    expect((await client.tasks.clearDead('mailer')).body).toEqual({ cleared: 2 })
  })
})

describe('output', () => {
  it('can be counted, peeked, tailed and popped (D50)', async () => {
    const { master, client } = await fixture()
    await emit(master, [1, 2, 3])
    expect((await client.output.length('mailer')).body).toEqual({ length: 3 })
    expect((await client.output.peek('mailer', { n: 2 })).body.map((each) => each.slot_id)).toEqual([1, 2])
    const { entries } = (await client.output.tail('mailer', { n: 2 })).body
    expect(entries.map((each) => each.slot_id)).toEqual([2, 3])
    expect((await client.output.tail('mailer', { after: entries[0]?.id })).body).toMatchObject({
      entries: [{ slot_id: 3 }],
      gap: false,
    })
    expect((await client.output.pop('mailer', { n: 2 })).body).toHaveLength(2)
    expect((await client.output.length('mailer')).body).toEqual({ length: 1 })
  })

  it('can be followed until the signal aborts', async () => {
    const { master, client } = await fixture()
    await emit(master, [1, 2])
    const end = new AbortController()
    const slots: number[] = []
    for await (const { entries } of client.output.follow('mailer', { n: 1, signal: end.signal })) {
      slots.push(...entries.map((each) => each.slot_id))
      if (slots.length === 1) await emit(master, [3, 4])
      else end.abort()
    }
    expect(slots).toEqual([2, 3, 4])
  })
})

describe('the rest of the API', () => {
  it('returns the catalog, pools, permissions of the token and readiness of the master', async () => {
    const { master, client } = await fixture()
    expect((await client.automations()).body.map(({ type }) => type)).toEqual(['mailer', 'probe'])
    expect(Object.keys((await client.catalog()).body)).toEqual(['mailer', 'probe'])
    expect((await client.catalogEntry('probe')).body).toMatchObject({ type: 'probe', kind: 'ContinuousAutomation' })
    expect((await client.pool('accounts', { n: 1 })).body).toEqual({ size: 0, items: [] })
    expect((await client.ready()).body).toMatchObject({ status: 'ready' })
    expect((await clientOf(master.url, { token: () => TOKENS.mailer }).me()).body).toMatchObject({
      role: 'scoped',
      automations: ['mailer'],
    })
  })

  it('sends the current token (D22)', async () => {
    const { master } = await fixture()
    let token = 'an-old-token'
    const client = clientOf(master.url, { token: () => token })
    expect(await failure(client.me())).toMatchObject({ code: 'FORBIDDEN', status: 403 })
    token = TOKENS.admin
    expect((await client.me()).body.role).toBe('admin')
  })

  it('rejects an invalid address before any call', () => {
    for (const url of ['master:8080', 'ftp://master', 'http://user:secret@master', 'http://master/?x=1'])
      expect(() => clientOf(url)).toThrow(TypeError)
  })
})

describe('the routes of the client', () => {
  it('match D31, D48 to D51 and D166', async () => {
    const { FaultyProxy } = await import('./faulty-proxy.ts')
    const answer = { status: 200, headers: { 'content-type': 'application/json', 'muster-epoch': 'e1' }, body: '{}' }
    const proxy = await FaultyProxy.start('http://127.0.0.1:9', ...Array.from({ length: 9 }, () => answer))
    const client = clientOf(proxy.url)
    await client.workers.claim('mailer', 'a/b', 'kubernetes:ns/name')
    await client.workers.unclaim('mailer', 'w1')
    await client.workers.validateConfig('mailer', 'w1', { slots: 1 })
    await client.tasks.validate('mailer', { payload: {} })
    await client.tasks.queueStats('mailer', { since: 5, limit: 2 })
    await client.tasks.history('mailer', { seconds: 86_400, step: 300 })
    await client.tasks.selectDead('mailer', 'remove', ['a', 'b'])
    await client.tasks.cancel('mailer', ['a', 'b'])
    await client.overview()
    const base = '/api/v1/automations/mailer'
    expect(proxy.seen.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['PUT', `${base}/workers/a%2Fb/claim`, '{"managed_by":"kubernetes:ns/name"}'],
      ['DELETE', `${base}/workers/w1/claim`, ''],
      ['POST', `${base}/workers/w1/config/validate`, '{"slots":1}'],
      ['POST', `${base}/tasks/validate`, '{"payload":{}}'],
      ['GET', `${base}/queue/stats?since=5&limit=2`, ''],
      ['GET', `${base}/history?seconds=86400&step=300`, ''],
      ['POST', `${base}/dead/select`, '{"action":"remove","task_ids":["a","b"]}'],
      ['POST', `${base}/tasks/select`, '{"action":"cancel","task_ids":["a","b"]}'],
      ['GET', '/api/v1/overview', ''],
    ])
    await proxy.stop()
  })
})
