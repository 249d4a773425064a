import { describe, expect, it } from '@jest/globals'
import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { register } from '../../client/fixture.ts'
import { TOKENS, type TestMaster } from '../../kit/running-master.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'
import {
  connectWorker,
  fleetOf,
  masterOn,
  pathOf,
  registered,
  type FleetFixture,
  type FleetFixtureOptions,
} from './fixture.ts'

const LIST = /^GET \/api\/v1\/automations\/mailer\/workers\?/
const SINGLE = /^GET \/api\/v1\/automations\/mailer\/workers\/[^/?]+$/
const FEED = /^GET \/api\/v1\/events/

async function fixture({
  workers = ['w1', 'w2'],
  hasStats = false,
  ...options
}: FleetFixtureOptions & { readonly workers?: readonly string[]; readonly hasStats?: boolean } = {}): Promise<
  FleetFixture & { readonly master: TestMaster }
> {
  const time = new VirtualTime()
  const master = await masterOn(time)
  for (const id of workers) await register(master, id)
  if (hasStats) await sendStats(master, 'w1')
  epoch = (await master.backend.meta.info()).epoch
  return { ...(await fleetOf(master.url, { time, ...options })), master }
}
async function sendStats(master: TestMaster, id: string): Promise<void> {
  const socket = await connectWorker(master, id)
  socket.send(
    JSON.stringify({ type: 'stats', slots: 1, cpu_pct: 1, rss_mb: 1, per_slot: [], metrics: { 'gauge.x': 1 }, ts: 1 }),
  )
  const shown = async (): Promise<unknown> => (await master.call('GET', pathOf(id))).json
  while ((await shown().then((body) => (body as { current_stats: unknown }).current_stats)) === null) await delay(5)
}
/** Epoch of the last master. */
let epoch = ''
const edit = (master: TestMaster, id: string, config: object) =>
  master.call('PATCH', pathOf(id, '/config'), { body: config, headers: { 'muster-actor': 'ana' } })

describe('the table', () => {
  it('contains every worker of its types, listed in pages after the feed was opened', async () => {
    const { fleet, asked, proxy, changes } = await fixture({
      workers: Array.from({ length: 251 }, (_, n) => `w${n}`),
      types: ['mailer', 'probe', 'nonsense'],
    })
    expect([...fleet.workers('mailer')]).toHaveLength(251)
    expect([
      fleet.get('mailer', 'w250').kind,
      fleet.get('mailer', 'w251').kind,
      fleet.get('nonsense', 'w1').kind,
      fleet.get('never-named', 'w1').kind,
    ]).toEqual(['registered', 'unregistered', 'unknown_type', 'pending'])
    expect(registered(fleet.get('mailer', 'w7'))).toMatchObject({
      isStale: false,
      epoch: expect.stringMatching(/./),
      record: { worker_id: 'w7', config: { slots: 1 } },
    })
    expect(asked(LIST).map(({ path }) => path.split('?')[1])).toEqual([
      'limit=250',
      expect.stringMatching(/^limit=250&after=w/),
    ])
    expect(proxy.seen.findIndex(({ path }) => path === '/api/v1/events?batched=true')).toBe(0)
    expect(changes.filter(({ kind }) => kind === 'worker')).toHaveLength(251)
    expect(changes.filter(({ kind }) => kind !== 'worker')).toEqual(
      expect.arrayContaining([
        { kind: 'listed', type: 'mailer' },
        { kind: 'listed', type: 'probe' },
        { kind: 'type', type: 'nonsense' },
      ]),
    )
    expect(changes).toHaveLength(251 + 3)
    expect(fleet.catalog('mailer')).toMatchObject({ secrets: [['password']], hash: expect.stringMatching(/./) })
    expect(fleet.catalog('mailer')?.hash).not.toBe(fleet.catalog('probe')?.hash)
  })

  it('applies changes by users, workers and other masters from the feed alone', async () => {
    const { fleet, master, until, changes, asked } = await fixture()
    const lists = asked(LIST).length
    await edit(master, 'w1', { slots: 4 })
    await until('the edit is seen', () => registered(fleet.get('mailer', 'w1')).record.config_gen === 1)
    expect(registered(fleet.get('mailer', 'w1'))).toMatchObject({
      isStale: false,
      record: { config: { slots: 4 }, config_changed_by: 'admin ana' },
    })
    await master.call('PUT', pathOf('w1', '/claim'), { body: { managed_by: 'terraform' } })
    await until('the claim is seen', () => registered(fleet.get('mailer', 'w1')).record.managed_by === 'terraform')
    const socket = await connectWorker(master, 'w3')
    await until(
      'the new worker is listed',
      () => fleet.get('mailer', 'w3').kind === 'registered' && registered(fleet.get('mailer', 'w3')).record.connected,
    )
    socket.send(JSON.stringify({ type: 'state', state: 'ERROR', config_gen: 0, ts: 1, last_error: 'no disk' }))
    await until('its error is seen', () => registered(fleet.get('mailer', 'w3')).record.last_error === 'no disk')
    socket.terminate()
    await until('its disconnect is seen', () => !registered(fleet.get('mailer', 'w3')).record.connected)
    await master.call('DELETE', pathOf('w2'))
    await until('its removal is seen', () => fleet.get('mailer', 'w2').kind === 'unregistered')
    expect(changes.filter(({ kind }) => kind === 'worker')).toEqual(
      expect.arrayContaining(['w1', 'w2', 'w3'].map((workerId) => ({ kind: 'worker', type: 'mailer', workerId }))),
    )
    expect(asked(LIST)).toHaveLength(lists)
  })

  it('lists once a minute while events arrive and every 10 s while they do not, spread over the pages', async () => {
    const { asked, pass, proxy, until } = await fixture({ workers: Array.from({ length: 550 }, (_, n) => `w${n}`) })
    const lists = (): number => asked(LIST).length
    expect(lists()).toBe(3)
    await pass(25_000)
    expect(lists()).toBe(3)
    await pass(45_000)
    expect([lists(), asked(SINGLE)]).toEqual([4, []])
    await pass(20_000)
    expect(lists()).toBe(5) // The second page follows a third of a minute later.
    await pass(20_000)
    expect(lists()).toBe(6)
    proxy.rule = ({ url }) => (url?.startsWith('/api/v1/events') === true ? 'reset before' : 'pass')
    proxy.cut()
    await until('the feed is closed', () => asked(FEED).length === 2)
    const before = lists()
    await pass(30_000)
    expect(lists() - before).toBeGreaterThanOrEqual(7)
    expect(lists() - before).toBeLessThanOrEqual(12)
  })

  it('reads many simultaneous edits as pages, and few edits one by one', async () => {
    const { fleet, master, until, asked } = await fixture({ workers: Array.from({ length: 60 }, (_, n) => `w${n}`) })
    const isRead = (id: string): boolean => registered(fleet.get('mailer', id)).record.config['slots'] === 5
    await edit(master, 'w1', { slots: 5 })
    await until('one edit is read', () => isRead('w1'))
    expect([asked(LIST).length, asked(SINGLE).length]).toEqual([1, 1])
    await Promise.all(Array.from({ length: 60 }, (_, n) => edit(master, `w${n}`, { slots: 5 })))
    await until('everything is read', () => Array.from({ length: 60 }, (_, n) => `w${n}`).every(isRead))
    expect(asked(LIST).length).toBeGreaterThanOrEqual(2)
    expect(asked(SINGLE).length).toBeLessThanOrEqual(30)
  })

  it('reads fewer than a tenth of the workers of a large type one by one, and pages otherwise', async () => {
    const { fleet, master, until, asked } = await fixture({ workers: Array.from({ length: 600 }, (_, n) => `w${n}`) })
    const [ids, lists] = [Array.from({ length: 55 }, (_, n) => `w${n * 10}`), asked(LIST).length]
    await Promise.all(ids.map((id) => edit(master, id, { slots: 5 })))
    await until('everything is read', () =>
      ids.every((id) => registered(fleet.get('mailer', id)).record.config['slots'] === 5),
    )
    expect(asked(LIST)).toHaveLength(lists)
  })

  it('lists a type that only sets name without configs, and reads them when a FleetWorker names it', async () => {
    const { fleet, master, until, asked, changes } = await fixture({ reading: 'labels', hasStats: true })
    const rowOf = (id: string) => [...fleet.rows('mailer')].find(({ record }) => record.worker_id === id)
    expect(asked(LIST).map(({ path }) => path)).toEqual([expect.stringContaining('view=summary')])
    expect(registered(fleet.get('mailer', 'w1'))).toMatchObject({
      isStale: true,
      record: { config: {}, current_stats: { slots: 1, config_gen: null } },
    })
    await edit(master, 'w1', { slots: 4 })
    await until('the edit is seen', () => rowOf('w1')?.record.config_gen === 1 && rowOf('w1')?.isStale === false)
    const known = changes.length
    fleet.setTypes(new Map([['mailer', 'configs']]))
    await until('all configs are read', () => !registered(fleet.get('mailer', 'w2')).isStale)
    expect(registered(fleet.get('mailer', 'w2')).record.config).toMatchObject({ slots: 1 })
    expect(changes.slice(known)).toContainEqual({ kind: 'worker', type: 'mailer', workerId: 'w2' })
    expect(asked(LIST).map(({ path }) => path)).toEqual([
      expect.stringContaining('view=summary'),
      expect.not.stringContaining('view='),
    ])
  })

  it('uses the types that are currently configured', async () => {
    const { fleet, until, asked, pass } = await fixture()
    fleet.setTypes(new Map([['probe', 'configs']]))
    expect([fleet.get('mailer', 'w1').kind, fleet.isSynced]).toEqual(['pending', false])
    await until('the other type is listed', () => fleet.isSynced)
    const before = asked(LIST).length
    await pass(130_000)
    expect(asked(LIST)).toHaveLength(before)
  })

  it('knows the clock of the master', async () => {
    const { fleet } = await fixture()
    // The Date header has the machine's time; the virtual clock differs by months.
    expect(Math.abs(fleet.masterNowMs() - Date.now())).toBeLessThan(60_000)
    expect(Math.abs(registered(fleet.get('mailer', 'w1')).readMs - Date.now())).toBeLessThan(60_000)
  })
})

describe('the feed', () => {
  const held: ServerResponse[] = []
  /** Serves a feed that the test controls. */
  const feed = (response: ServerResponse): void => {
    held.push(response)
    response.writeHead(200, { 'content-type': 'text/event-stream', 'muster-epoch': epoch }).write('id: here\n\n')
  }

  it('resumes after its last event, and nothing is listed again', async () => {
    const { fleet, master, until, asked, proxy, metric } = await fixture()
    const lists = asked(LIST).length
    proxy.cut()
    await edit(master, 'w1', { slots: 6 })
    await until('it is open again', () => asked(FEED).length === 2)
    await until('the edit is seen', () => registered(fleet.get('mailer', 'w1')).record.config['slots'] === 6)
    expect(asked(FEED)[1]?.headers['last-event-id']).toMatch(/./)
    expect([asked(LIST).length, await metric(/^svc_operator_feed_resets_total/)]).toEqual([lists, 0])
    expect(asked(/\/me$/)).toHaveLength(2)
    expect(asked(/catalog\/mailer$/)).toHaveLength(2)
  })

  it('lists everything immediately if it cannot resume', async () => {
    const { fleet, until, asked, metric, pass } = await fixture({ script: [feed], workers: ['w1'] })
    const [response] = held.splice(0)
    await pass(5_000)
    response?.write('id: 2\nevent: reset\ndata: {"ts":1}\n\n')
    await until('everything is listed', () => asked(LIST).length === 2)
    expect([await metric(/^svc_operator_feed_resets_total/), fleet.isSynced]).toEqual([1, true])
  })

  it('ignores everything that is not an event of a worker', async () => {
    const { fleet, until, changes } = await fixture({ script: [feed], workers: ['w1'] })
    const [response] = held.splice(0)
    changes.splice(0)
    const send = (name: string, data: object): void =>
      void response?.write(`id: 3\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
    send('worker.exploded', { type: 'mailer', worker_id: 'w1' })
    send('__proto__', { type: 'mailer', worker_id: 'w1' })
    send('worker.state', { type: 7, worker_id: 'w1' })
    send('worker.state', { type: 'unknown', worker_id: 'w1', state: 'ERROR', last_error: null })
    send('queue.totals', { type: 'mailer' })
    send('worker.claimed', { type: 'mailer', worker_id: 'w1', managed_by: 'the last of them' })
    await until(
      'the last event is processed',
      () => registered(fleet.get('mailer', 'w1')).record.managed_by === 'the last of them',
    )
    expect(changes.filter(({ kind }) => kind === 'worker')).toHaveLength(1)
  })

  it('is opened before the first list, and a page that was requested before an event does not undo it', async () => {
    let page: ServerResponse | undefined
    const isIdle = true
    const w = await fixture({
      isIdle,
      workers: ['w1'],
      script: [feed, 'pass', 'pass', (response) => (page = response)],
    })
    await w.until('a page is requested', () => page !== undefined)
    const record = (await w.master.call('GET', pathOf('w1'))).json as object
    held.splice(0)[0]?.write('id: 4\nevent: worker.forgotten\ndata: {"type":"mailer","worker_id":"w1","ts":1}\n\n')
    await w.pass(100)
    page?.writeHead(200, { 'content-type': 'application/json', 'muster-epoch': epoch }).end(JSON.stringify([record]))
    await w.until('the type is listed', () => w.fleet.isSynced)
    expect(w.fleet.get('mailer', 'w1').kind).toBe('unregistered')
  })
})

describe('a store that is replaced between two pages', () => {
  it('is listed again before anything is compared', async () => {
    const w = await fixture({ isIdle: true, workers: Array.from({ length: 251 }, (_, n) => `w${n}`) })
    const pages: ServerResponse[] = []
    const answer = (response: ServerResponse, body: object): void =>
      void response
        .writeHead(200, { 'content-type': 'application/json', 'muster-epoch': 'another' })
        .end(JSON.stringify(body))
    w.proxy.rule = ({ url = '' }) => {
      if (url.includes('after=')) return (response) => answer(response, [])
      const isSecondList = url.includes('workers?') && w.asked(/after=/).length > 0
      return isSecondList ? (response) => void pages.push(response) : 'pass'
    }
    await w.until('the list starts again', () => pages.length > 0)
    expect([w.fleet.isSynced, w.fleet.get('mailer', 'w0').kind, w.changes.slice(250)]).toEqual([
      false,
      'pending',
      [{ kind: 'state_reset', message: expect.stringContaining('another one') }],
    ])
    const record = (await w.master.call('GET', pathOf('w0'))).json as object
    // Lower than before, which means nothing across stores.
    for (const page of pages) answer(page, [{ ...record, config_gen: -1 }])
    await w.until('it is listed', () => w.fleet.isSynced)
    expect(w.changes.filter(({ kind }) => kind === 'state_reset')).toHaveLength(1)
    expect([registered(w.fleet.get('mailer', 'w0')).epoch, w.fleet.get('mailer', 'w1').kind]).toEqual([
      'another',
      'unregistered',
    ])
  })
})

describe('rights', () => {
  it('prevent calls for types that the token does not cover, and allow them when they are granted again', async () => {
    const { fleet, until, asked, token, proxy, changes } = await fixture({
      types: ['mailer', 'probe'],
      firstToken: TOKENS.mailer,
    })
    expect([fleet.get('mailer', 'w1').kind, fleet.get('probe', 'p1').kind]).toEqual(['registered', 'forbidden'])
    expect(asked(/probe/)).toEqual([])
    token.current = TOKENS.everyType
    changes.splice(0)
    proxy.cut()
    await until('the type is accessible', () => fleet.get('probe', 'p1').kind === 'unregistered')
    expect(changes).toEqual([{ kind: 'listed', type: 'probe' }])
  })

  it('determine which types exist for a token, once they are known', async () => {
    const { ended, fleet, signal } = await fixture()
    expect(await ended(fleet.offered(signal))).toEqual(expect.arrayContaining(['mailer', 'probe']))
    expect(await (await fixture({ firstToken: TOKENS.mailer })).fleet.offered(signal)).toEqual(['mailer'])
    expect(await (await fixture({ isIdle: true })).fleet.offered(signal)).toBeUndefined()
  })
})
