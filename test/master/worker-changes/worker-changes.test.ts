/** Workers in columns, what changed in them, and groups of equal ones (D161, D163). */
import { describe, expect, it } from '@jest/globals'
import type {
  ReportedState,
  WorkerChangesBody,
  WorkerColumnsBody,
  WorkerGroupsBody,
} from '../../../src/protocol/index.ts'
import { systemRandom, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { runMaster, TOKENS } from '../../kit/running-master.ts'

const COLUMNS = '/api/v1/automations/mailer/worker-columns'
const CHANGES = '/api/v1/worker-changes'
const GROUPS = '/api/v1/worker-groups'
const FRESH_MS = 5_000

interface Reported {
  readonly state?: ReportedState
  readonly error?: string | null
  readonly slots?: number
}

async function fixture() {
  const time = new VirtualTime()
  const backend = new MemoryBackend({ clock: time, random: systemRandom })
  const master = await runMaster({ backend, clock: time, timers: time })
  await backend.meta.beat('m')
  await time.advance(0)
  const connOf = (id: string, type = 'mailer') => ({ type, id, conn: `m/${id}` })
  const register = (ids: readonly string[], type = 'mailer') =>
    backend.workers.register(
      ids.map((id) => ({
        ...connOf(id, type),
        instance: id,
        hardware: '{"hostname":"node-1","cores":4}',
        defaults: '{"enabled":true,"slots":2}',
      })),
    )
  const report = async (id: string, { state = 'RUNNING', error = null, slots = 2 }: Reported = {}): Promise<void> => {
    const frame = { slots, cpu_pct: 12.345, rss_mb: 123.456, ts: time.wallMs() / 1_000, per_slot: [], metrics: {} }
    await backend.meta.beat('m')
    await backend.workers.beat([
      { ...connOf(id), state: { state, gen: 0, lastError: error }, stats: [JSON.stringify(frame)] },
    ])
  }
  /** Records an event of each worker, as a master does after a change. */
  const announce = (ids: readonly string[], type = 'mailer', name = 'worker.state' as const) =>
    backend.events.append(
      ids.map((id) => ({ name, scope: type, data: JSON.stringify({ type, worker_id: id, ts: 1, state: 'RUNNING' }) })),
    )
  /** The same in one entry of the log (D135). */
  const together = (ids: readonly string[]) => {
    const [data = '', ...more] = ids.map((id) => JSON.stringify({ type: 'mailer', worker_id: id, ts: 1 }))
    return backend.events.append([{ name: 'worker.state', scope: 'mailer', data, more }])
  }
  const get = async <T>(path: string, token: string = TOKENS.admin): Promise<T> => {
    const { status, json } = await master.call('GET', path, { token })
    expect([path, status]).toEqual([path, 200])
    return json as T
  }
  const columns = (query = '') => get<WorkerColumnsBody>(`${COLUMNS}${query}`)
  const changes = (since: string, query = '', token: string = TOKENS.admin) =>
    get<WorkerChangesBody>(`${CHANGES}?since=${encodeURIComponent(since)}${query}`, token)
  return { time, backend, master, register, report, announce, together, get, columns, changes }
}

const numbered = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `w-${String(n).padStart(4, '0')}`)

describe('the list of workers in columns', () => {
  it('has the same values as the records in the summary view, with ages in whole seconds (D161)', async () => {
    const { time, master, register, report, columns } = await fixture()
    await register(['a', 'b'])
    await report('a', { state: 'ERROR', error: 'ECONNREFUSED' })
    await time.advance(7_000)
    const { ts, next, workers } = await columns()
    const { json } = await master.call('GET', '/api/v1/automations/mailer/workers?view=summary')
    const [record] = json as { last_seen: number; state_since: number; config: object }[]
    expect(next).toBe('b')
    expect(workers.worker_id).toEqual(['a', 'b'])
    expect(workers.state).toEqual(['ERROR', 'IDLE'])
    expect(workers.last_error).toEqual(['ECONNREFUSED', null])
    expect(workers.seen_age).toEqual([Math.round(ts - (record?.last_seen ?? 0)), 7])
    expect(workers.config[0]).toEqual(record?.config)
    expect(workers.hostname).toEqual(['node-1', 'node-1'])
    expect([workers.cpu_pct, workers.rss_mb, workers.slots, workers.stats_age]).toEqual([
      [12.3, null],
      [123, null],
      [2, null],
      [7, null],
    ])
  })

  it('is read page by page, until a page is empty', async () => {
    const { register, columns } = await fixture()
    await register(numbered(5))
    const first = await columns('?limit=3')
    const second = await columns(`?limit=3&after=${first.next}`)
    const third = await columns(`?limit=3&after=${second.next}`)
    expect([first, second, third].map(({ workers }) => workers.worker_id)).toEqual([
      ['w-0000', 'w-0001', 'w-0002'],
      ['w-0003', 'w-0004'],
      [],
    ])
    expect(third.next).toBeNull()
  })

  it('never shows a secret (D17)', async () => {
    const { master, register, columns, get } = await fixture()
    await register(['a'])
    await master.call('PATCH', '/api/v1/automations/mailer/workers/a/config', { body: { password: 'hush-hush' } })
    const texts = [await columns(), await get<WorkerGroupsBody>(GROUPS)].map((body) => JSON.stringify(body))
    expect(texts.filter((text) => text.includes('hush-hush') || text.includes('password'))).toEqual([])
  })
})

describe('the changes of workers', () => {
  it('are the records of those that had an event since the cursor, and the forgotten ones (D161)', async () => {
    const { backend, register, report, announce, columns, changes } = await fixture()
    await register(numbered(6))
    const { cursor } = await columns()
    expect(await changes(cursor)).toMatchObject({ cursor, changed: {}, removed: {}, is_reset: false, has_more: false })
    await report('w-0003', { state: 'ERROR', error: 'boom' })
    await backend.workers.forget([{ type: 'mailer', id: 'w-0004' }])
    await announce(['w-0003', 'w-0001', 'w-0003', 'w-0004'])
    const first = await changes(cursor)
    expect(first.changed['mailer']?.worker_id).toEqual(['w-0001', 'w-0003'])
    expect(first.changed['mailer']?.state).toEqual(['IDLE', 'ERROR'])
    expect(first.removed).toEqual({ mailer: ['w-0004'] })
    expect(await changes(first.cursor)).toMatchObject({ changed: {}, removed: {}, cursor: first.cursor })
  })

  it('read further back than the ring of events come from the log', async () => {
    const { register, announce, columns, changes } = await fixture()
    await register(numbered(3))
    const { cursor } = await columns()
    for (let n = 0; n < 1_500; n += 1) await announce([`w-000${n % 3}`])
    const polls: unknown[] = []
    for (let [at, hasMore] = [cursor, true]; hasMore;) {
      const body = await changes(at)
      polls.push(body.changed['mailer']?.worker_id)
      ;[at, hasMore] = [body.cursor, body.has_more]
    }
    expect(polls.length).toBeLessThan(5)
    expect(polls.slice(0, 2)).toEqual([numbered(3), numbered(3)])
  })

  it.each(['nonsense', '00000000.aaaa-1'])('are a reset behind a cursor of another store: %p', async (cursor) => {
    const { register, changes } = await fixture()
    await register(['a'])
    expect(await changes(cursor)).toMatchObject({ is_reset: true, changed: {} })
  })

  it('are at most about 1,000 workers a time, and say that there are more', async () => {
    const { register, together, columns, changes } = await fixture()
    await register(numbered(1_500))
    const { cursor } = await columns()
    for (let n = 0; n < 1_500; n += 100) await together(numbered(1_500).slice(n, n + 100))
    const first = await changes(cursor)
    const second = await changes(first.cursor)
    const seen = [first, second].map(({ changed, has_more: hasMore }) => [changed['mailer']?.worker_id, hasMore])
    expect(seen).toEqual([
      [numbered(1_500).slice(0, 1_000), true],
      [numbered(1_500).slice(1_000), false],
    ])
  })

  it('of other types than those of the token are left out', async () => {
    const { register, announce, columns, changes, get } = await fixture()
    await register(['a'])
    await register(['p'], 'probe')
    const { cursor } = await columns()
    await announce(['a'])
    await announce(['p'], 'probe')
    const body = await changes(cursor, '&stats_after=', TOKENS.mailer)
    expect([Object.keys(body.changed), Object.keys(body.stats?.workers ?? {})]).toEqual([['mailer'], ['mailer']])
    expect(Object.keys((await get<WorkerGroupsBody>(GROUPS, TOKENS.mailer)).automations)).toEqual(['mailer'])
  })

  it('bring the statistics of up to 1,000 workers in turn, on request', async () => {
    const { register, columns, changes } = await fixture()
    await register(numbered(1_700))
    await register(['p'], 'probe')
    const { cursor } = await columns()
    expect(await changes(cursor)).not.toHaveProperty('stats')
    const turns: number[][] = []
    let after = ''
    for (let n = 0; n < 3; n += 1) {
      const { stats } = await changes(cursor, `&stats_after=${encodeURIComponent(after)}`)
      turns.push(['mailer', 'probe'].map((type) => stats?.workers[type]?.worker_id.length ?? 0))
      after = stats?.after ?? ''
    }
    expect(turns).toEqual([
      [1_000, 0],
      [700, 1],
      [1_000, 0],
    ])
  })
})

describe('the groups of equal workers', () => {
  const mailerOf = ({ automations: { mailer } }: WorkerGroupsBody) =>
    (mailer?.worker_id ?? []).map((id, n) => [id, mailer?.state[n], mailer?.count[n]])

  it('have those with a problem by themselves, and count the others (D163)', async () => {
    const { register, report, get } = await fixture()
    await register(numbered(20))
    for (const id of numbered(20).slice(0, 12)) await report(id)
    await report('w-0005', { state: 'ERROR', error: 'boom' })
    await report('w-0006', { slots: 1 })
    expect(mailerOf(await get<WorkerGroupsBody>(GROUPS))).toEqual([
      ['w-0000', 'RUNNING', 10],
      ['w-0005', 'ERROR', 1],
      ['w-0006', 'RUNNING', 1],
      ['w-0012', 'IDLE', 8],
    ])
  })

  it('are few, however many workers have errors of their own', async () => {
    const { register, report, get } = await fixture()
    const ids = numbered(600)
    await register(ids)
    for (const id of ids) await report(id, { state: 'ERROR', error: `failed at ${id}` })
    const groups = mailerOf(await get<WorkerGroupsBody>(GROUPS))
    expect(groups.length).toBeLessThan(300)
    expect(groups.reduce((sum, [, , count]) => sum + Number(count), 0)).toBe(600)
  })

  it('are read at most every 5 s, whatever the number of clients', async () => {
    const { time, backend, register, get } = await fixture()
    await register(['a'])
    const real = backend.workers.page.bind(backend.workers)
    let pages = 0
    backend.workers.page = (...args) => {
      pages += 1
      return real(...args)
    }
    for (let n = 0; n < 5; n += 1) await get(GROUPS)
    const once = pages
    await time.advance(FRESH_MS)
    await get(GROUPS)
    expect([once > 0, pages]).toEqual([true, 2 * once])
  })
})
