/** The audit log that the store keeps: what it has, its pages and filters, and outages of the store (D235). */
import { describe, expect, it } from '@jest/globals'
import { AuditRecorder, type RecordedCall } from '../../../src/master/audit/recorder.ts'
import { FleetError, type AuditBody, type AuditEntry } from '../../../src/protocol/index.ts'
import { systemRandom, systemTime, VirtualTime } from '../../../src/runtime/index.ts'
import { MemoryBackend } from '../../../src/storage/memory/index.ts'
import { eventually } from '../../kit/eventually.ts'
import { recordingLog } from '../../kit/recording-log.ts'
import { runMaster, TOKENS, type TestMaster } from '../../kit/running-master.ts'

const HARDWARE = JSON.stringify({ cores: 1, ram_gb: 1, hostname: 'h', kernel: 'k' })
const W1 = '/api/v1/automations/mailer/workers/w1'

async function start(): Promise<TestMaster> {
  const master = await runMaster({ audit: { classes: new Set(['control']), write: () => true } })
  await master.backend.workers.register([
    { type: 'mailer', id: 'w1', conn: 'm/1', instance: '', hardware: HARDWARE, defaults: '{}' },
  ])
  return master
}

const list = async (master: TestMaster, query = ''): Promise<AuditBody> =>
  (await master.call('GET', `/api/v1/audit${query}`)).json as AuditBody

async function hasStored(master: TestMaster, count: number): Promise<void> {
  await eventually(async () => (await list(master)).entries.length === count)
}

describe('the audit log', () => {
  it('has who changed what, newest first, and no submits', async () => {
    const master = await start()
    await master.call('POST', '/api/v1/automations/mailer/tasks', { body: { payload: { to: 'a' } } })
    const { headers } = await master.call('PATCH', `${W1}/config`, {
      token: TOKENS.editor,
      body: { slots: 2, host: 'h' },
      headers: { 'muster-actor': 'ana' },
    })
    await master.call('POST', `${W1}/drain`)
    await hasStored(master, 2)
    const [drain, change] = (await list(master)).entries
    expect(drain).toMatchObject({ n: 2, action: 'worker.drain', object: 'w1', outcome: 'done', calls: 1 })
    expect(change).toEqual({
      n: 1,
      ts: expect.any(Number),
      actor: { name: 'editor', kind: 'token', roles: ['scoped'] },
      claimed_actor: 'ana',
      action: 'config.change',
      route: 'PATCH /api/v1/automations/{type}/workers/{id}/config',
      type: 'mailer',
      object: 'w1',
      outcome: 'done',
      status: 200,
      count: 1,
      calls: 1,
      changed: ['host', 'slots'],
      request_id: headers.get('muster-request-id'),
      peer: '127.0.0.1',
    })
  })

  it('has refused calls', async () => {
    const master = await start()
    await master.call('POST', `${W1}/drain`, { token: TOKENS.viewer })
    await master.call('PATCH', `${W1}/config`, { body: { host: 7 } })
    await hasStored(master, 2)
    expect((await list(master)).entries).toMatchObject([
      { action: 'config.change', outcome: 'refused', status: 422, count: 0, actor: { roles: ['admin'] } },
      { action: 'worker.drain', outcome: 'refused', status: 403, count: 0, actor: { name: 'viewer' } },
    ])
  })

  it('is listed in pages, by type, object, start of the action, and by the name of a token or a person', async () => {
    const master = await start()
    await master.call('POST', '/api/v1/automations/probe/workers/p1/drain', { headers: { 'muster-actor': 'ben' } })
    for (const id of ['a', 'b', 'c']) await master.call('POST', `/api/v1/automations/mailer/workers/${id}/drain`)
    await master.call('PATCH', `${W1}/config`, { token: TOKENS.editor, body: { slots: 2 } })
    await hasStored(master, 5)
    const first = await list(master, '?n=2')
    expect([first.entries.map(({ n }) => n), first.next]).toEqual([[5, 4], 4])
    const second = await list(master, `?n=3&before=${first.next}`)
    expect([second.entries.map(({ n }) => n), second.next]).toEqual([[3, 2, 1], null])
    const numbers = async (query: string) => (await list(master, query)).entries.map(({ n }) => n)
    expect(await numbers('?type=probe')).toEqual([1])
    expect(await numbers('?type=never-was')).toEqual([])
    expect(await numbers('?object=b&type=mailer')).toEqual([3])
    expect(await numbers('?action=worker')).toEqual([4, 3, 2, 1])
    expect(await numbers('?action=config.change')).toEqual([5])
    expect(await numbers('?action=work')).toEqual([])
    expect(await numbers('?actor=editor')).toEqual([5])
    expect(await numbers('?actor=ben')).toEqual([1])
    expect(await list(master, '?action=worker&n=1&before=4')).toMatchObject({ entries: [{ n: 3 }], next: 3 })
  })

  it('is listed by a filter a part at a time, so that no request reads all of it', async () => {
    const master = await start()
    const other = Array.from({ length: 500 }, () => JSON.stringify({ ...CALL, calls: 1 }))
    await master.backend.audit.append([JSON.stringify({ ...CALL, type: 'probe', calls: 1 })])
    for (let page = 0; page < 5; page += 1) await master.backend.audit.append(other)
    const part = await list(master, '?type=probe')
    expect([part.entries, part.next]).toEqual([[], 502])
    expect(await list(master, '?type=probe&before=502')).toMatchObject({ entries: [{ n: 1 }], next: null })
  })

  it.each([
    '?n=0',
    '?n=501',
    '?before=0',
    '?before=x',
    '?before=13684759739248324608',
    '?type=A',
    '?actor=',
    '?action=a.b.c',
  ])('refuses the query %s', async (query) => {
    const master = await start()
    expect((await master.call('GET', `/api/v1/audit${query}`)).status).toBe(422)
  })

  it('is for admins only', async () => {
    const master = await start()
    for (const token of [TOKENS.everyType, TOKENS.editor, TOKENS.viewer, TOKENS.worker])
      expect((await master.call('GET', '/api/v1/audit', { token })).status).toBe(403)
  })
})

const CALL: RecordedCall = {
  ts: 1_700_000_000,
  actor: { name: 'ci', kind: 'token', roles: ['scoped'] },
  claimed_actor: null,
  action: 'output.pop',
  route: 'GET /api/v1/automations/{type}/output/pop',
  type: 'mailer',
  object: null,
  outcome: 'done',
  status: 200,
  count: 3,
  changed: [],
  request_id: 'r-1',
  peer: '127.0.0.1',
}

async function openRecorder() {
  const backend = new MemoryBackend({ clock: systemTime, random: systemRandom })
  await backend.open(AbortSignal.timeout(10_000))
  const time = new VirtualTime()
  const log = recordingLog()
  let isUnavailable = false
  let dropped = 0
  const append = async (entries: readonly string[]): Promise<void> => {
    if (isUnavailable) throw new FleetError('STORAGE_UNAVAILABLE', 'the store does not respond', { outcome: 'unknown' })
    await backend.audit.append(entries)
  }
  const recorder = new AuditRecorder({
    backend: { audit: { append, list: (...args) => backend.audit.list(...args) } },
    timers: time,
    log,
    onDropped: (entries) => (dropped += entries),
  })
  return {
    recorder,
    time,
    log,
    setUnavailable: (unavailable: boolean) => (isUnavailable = unavailable),
    dropped: () => dropped,
    stored: async () =>
      (await backend.audit.list(null, 500)).map(({ entry }) => JSON.parse(entry) as AuditEntry).toReversed(),
  }
}

describe('the recorder of the audit log', () => {
  it('stores the first of equal calls immediately, and the others of its minute as one entry', async () => {
    const { recorder: audit, time, stored } = await openRecorder()
    for (let n = 0; n < 50; n += 1) audit.add({ ...CALL, request_id: `r-${n}` })
    audit.add({ ...CALL, type: 'other' })
    await time.advance(1_000)
    expect(await stored()).toMatchObject([
      { calls: 1, count: 3, request_id: 'r-0' },
      { calls: 1, type: 'other' },
    ])
    await time.advance(60_000)
    expect((await stored()).slice(2)).toMatchObject([{ calls: 49, count: 147, request_id: 'r-49' }])
    audit.add(CALL)
    await time.advance(1_000)
    expect((await stored()).slice(3)).toMatchObject([{ calls: 1 }])
  })

  it('keeps entries while the store does not respond, says so once, and stores them afterwards in order', async () => {
    const { recorder: audit, time, log, setUnavailable, stored } = await openRecorder()
    setUnavailable(true)
    audit.add({ ...CALL, object: 'a' })
    await time.advance(10_000)
    audit.add({ ...CALL, object: 'b' })
    await time.advance(10_000)
    expect(await stored()).toEqual([])
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1)
    setUnavailable(false)
    await time.advance(5_000)
    expect((await stored()).map(({ object }) => object)).toEqual(['a', 'b'])
  })

  it('counts the entries that exceed what it can keep', async () => {
    const { recorder: audit, time, setUnavailable, dropped, stored } = await openRecorder()
    setUnavailable(true)
    for (let n = 0; n < 5_010; n += 1) audit.add({ ...CALL, object: `o-${n}` })
    expect(dropped()).toBe(10)
    setUnavailable(false)
    await time.advance(5_000)
    expect((await stored()).length).toBe(500)
  })

  it('stores what waits when the master stops', async () => {
    const { recorder: audit, stored } = await openRecorder()
    audit.add(CALL)
    audit.add(CALL)
    await audit.stop()
    expect((await stored()).map(({ calls }) => calls)).toEqual([1, 1])
  })

  it('stores an entry whose names need six characters of JSON for each of their own', async () => {
    const { recorder: audit, stored } = await openRecorder()
    const name = '\u0001'.repeat(256)
    audit.add({ ...CALL, type: name, object: name, claimed_actor: '"'.repeat(128) })
    await audit.stop()
    expect((await stored()).map(({ object }) => object)).toEqual([name])
  })

  it('shortens the names of changed fields of an entry that would be too long', async () => {
    const { recorder: audit, stored } = await openRecorder()
    audit.add({ ...CALL, changed: Array.from({ length: 1_000 }, (_, n) => `field-${n}`) })
    await audit.stop()
    const [entry] = await stored()
    expect(entry?.changed.slice(0, 2)).toEqual(['field-0', 'field-1'])
    expect(entry?.changed.at(-1)).toBe('…')
  })
})
