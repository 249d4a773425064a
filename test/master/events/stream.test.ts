/** The event stream over real HTTP: start, resume, reset, permissions and end. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { FleetError } from '../../../src/protocol/index.ts'
import { runMaster, TOKENS } from '../../kit/running-master.ts'
import { Listener, type ListenOptions } from './listener.ts'
import { happened, openEventsFixture, range, replaced } from './fixture.ts'

const listeners: Listener[] = []
afterEach(() => {
  for (const listener of listeners.splice(0)) listener.close()
})

async function listen(url: string, options?: ListenOptions): Promise<Listener> {
  const listener = await Listener.begin(url, options)
  listeners.push(listener)
  return listener
}

const numbers = (listener: Listener): unknown[] => listener.events.map(({ data }) => data['n'])

describe('an event stream', () => {
  it('begins with an id to resume from, then sends every new event, its data on one line (D31, D51)', async () => {
    const { master, tell } = await openEventsFixture()
    await tell(happened(0))
    const listener = await listen(master.url)
    expect(listener.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    expect(listener.retry).toBe('2000')
    const begun = listener.lastId
    expect(begun).toMatch(/^[\w-]{8}\.\w+-1$/)
    await tell(happened(1), happened(2, 'mailer', 'two\nlines\r\n\ndata: x'))
    const [first, second] = await listener.first(2)
    expect(first).toEqual({
      id: expect.any(String),
      name: 'worker.state',
      data: { type: 'mailer', worker_id: 'w', ts: 1, n: 1 },
    })
    expect(second?.data['last_error']).toBe('two\nlines\r\n\ndata: x')
    expect(new Set([begun, first?.id, second?.id]).size).toBe(3)
  })

  it('has its position when the head of the response arrives: what is appended then is sent (D214)', async () => {
    const { master, tell } = await openEventsFixture()
    await tell(happened(0))
    const early = await Listener.open(master.url)
    listeners.push(early)
    await tell(happened(1))
    await early.first(1)
    const resumed = await Listener.open(master.url, { lastEventId: early.lastId })
    listeners.push(resumed)
    await tell(happened(2))
    await resumed.first(1)
    expect([numbers(early)[0], numbers(resumed)]).toEqual([1, [2]])
  })

  it('sends the changes of a worker, but never a config, a secret or a heartbeat (D51)', async () => {
    const { master, backend, time } = await openEventsFixture()
    const listener = await listen(master.url)
    const ref = { type: 'mailer', id: 'w' }
    await backend.workers.register([
      {
        ...ref,
        conn: 'm/1',
        instance: '',
        hardware: '{"cores":2,"ram_gb":4,"hostname":"h","kernel":"k"}',
        defaults: '{}',
      },
    ])
    await backend.workers.beat([
      { ...ref, conn: 'm/1', stats: ['{"slots":1,"cpu_pct":0,"rss_mb":1,"ts":1,"metrics":{},"per_slot":[]}'] },
    ])
    const path = '/api/v1/automations/mailer/workers/w'
    await master.call('PATCH', `${path}/config`, { body: { host: 'a', password: 'hush' } })
    await master.call('PUT', `${path}/claim`, { body: { managed_by: 'kubernetes:a/b' } })
    await master.call('POST', `${path}/drain`)
    await master.call('DELETE', path)
    await time.advance(1_000)
    const of = { type: 'mailer', worker_id: 'w', ts: expect.any(Number) }
    expect((await listener.first(4)).map(({ name, data }) => [name, data])).toEqual([
      [
        'worker.config_changed',
        {
          ...of,
          config_gen: 1,
          changed: ['host', 'password'],
          config_changed_at: expect.any(Number),
          config_changed_by: 'admin',
        },
      ],
      ['worker.claimed', { ...of, managed_by: 'kubernetes:a/b' }],
      ['worker.draining', { ...of, state: 'DRAINING', draining: true }],
      ['worker.forgotten', of],
    ])
    expect(JSON.stringify(listener.events)).not.toContain('hush')
  })

  it('is kept open by a comment every 15 s', async () => {
    const { master, time } = await openEventsFixture()
    const listener = await listen(master.url)
    for (const comments of [1, 2, 3]) {
      await time.advance(15_000)
      await listener.until(() => listener.comments.length >= comments)
    }
    expect(listener.comments).toEqual(['', '', ''])
    expect(listener.events).toEqual([])
  })

  it('ends when the master stops', async () => {
    const master = await runMaster()
    const listener = await listen(master.url)
    await master.stop()
    expect(await listener.ended).toBe(true)
  })

  it('ends within seconds when its token is revoked or its types change; other streams continue (D22)', async () => {
    const tokens = { admin: TOKENS.admin, worker: TOKENS.worker, workerPeers: [] }
    const all = new Map([
      [TOKENS.mailer, ['mailer']],
      [TOKENS.probe, ['probe']],
      [TOKENS.everyType, ['*']],
    ])
    let scopes: ReadonlyMap<string, readonly string[]> = all
    const { master, time, tell } = await openEventsFixture({
      rereadTokens: async () => ({ kind: 'valid', tokens: { ...tokens, scopes } }),
    })
    const [revoked, changed, kept] = await Promise.all(
      [TOKENS.mailer, TOKENS.probe, TOKENS.everyType].map((token) => listen(master.url, { token })),
    )
    scopes = new Map([
      [TOKENS.probe, ['mailer']],
      [TOKENS.everyType, ['*']],
    ])
    await time.advance(4_000)
    expect(await Promise.all([revoked?.ended, changed?.ended])).toEqual([true, true])
    await tell(happened(1))
    await kept?.first(1)
  })

  it('sends a scoped token only the events of its types, and sends a reset to every token (D51, S2)', async () => {
    const { master, tell } = await openEventsFixture()
    const [mailer, everyType] = await Promise.all(
      [TOKENS.mailer, TOKENS.everyType].map((token) => listen(master.url, { token })),
    )
    await tell(happened(1), happened(2, 'probe'), happened(3, 'mailer-2'), happened(4, '__proto__'), happened(5))
    await Promise.all([mailer?.first(2), everyType?.first(5)])
    const resumed = await listen(master.url, { token: TOKENS.mailer, lastEventId: mailer?.events[0]?.id })
    await resumed.first(1)
    await tell(happened(6))
    await Promise.all([mailer?.first(3), everyType?.first(6), resumed.first(2)])
    expect([mailer, everyType, resumed].map((each) => each && numbers(each))).toEqual([
      [1, 5, 6],
      [1, 2, 3, 4, 5, 6],
      [5, 6],
    ])
    expect((await (await listen(master.url, { token: TOKENS.mailer, lastEventId: 'gone' })).first(1))[0]?.name).toBe(
      'reset',
    )
  })
})

describe('Last-Event-ID', () => {
  it('resumes after that event, with each event once and in order, from the ring buffer or the log (G10)', async () => {
    const { master, tell } = await openEventsFixture()
    const witness = await listen(master.url)
    const begun = witness.lastId
    for (const from of range(0, 30)) await tell(...range(from * 100, 100).map((n) => happened(n)))
    const all = await Promise.all(
      [begun, ...(await witness.first(3_000)).map(({ id }) => id).filter((_, n) => n % 250 === 0 || n === 2_999)].map(
        (lastEventId) => listen(master.url, { lastEventId }),
      ),
    )
    await tell(happened(3_000))
    for (const listener of all) await listener.until(() => numbers(listener).at(-1) === 3_000)
    const expected = [0, ...range(0, 12).map((n) => n * 250 + 1), 3_000]
    expect(all.map((listener) => numbers(listener))).toEqual(expected.map((from) => range(from, 3_001 - from)))
    for (const { events } of all)
      expect(events.map(({ id }) => id)).toEqual(witness.events.slice(3_001 - events.length).map(({ id }) => id))
  })

  it('leads to one reset when the event was removed, belongs to another run, or never existed (D31, D51)', async () => {
    const earlier = await openEventsFixture()
    const [before] = [await listen(earlier.master.url)]
    const { master, tell } = await openEventsFixture()
    const witness = await listen(master.url)
    const begun = witness.lastId
    await tell(...range(0, 10_001).map((n) => happened(n)))

    const [epoch = '', run = ''] = begun.split(/[.-]/)
    const hostile = [
      begun,
      before.lastId,
      'nonsense',
      '0',
      '__proto__',
      `${epoch}.`,
      `${epoch}.${run}-99999`,
      `${epoch}.${run}-1e3`,
      `${epoch}.${run}--1`,
      'x'.repeat(10_000),
      'é',
    ]
    for (const lastEventId of hostile.map((id) => encodeURI(id))) {
      const listener = await listen(master.url, { lastEventId })
      expect([lastEventId, (await listener.first(1))[0]]).toMatchObject([
        lastEventId,
        { name: 'reset', data: { ts: expect.any(Number) } },
      ])
      const resumed = await listen(master.url, { lastEventId: listener.lastId })
      await tell(happened(-1))
      await Promise.all([listener.first(2), resumed.first(1)])
      expect([listener.names, resumed.names]).toEqual([['reset', 'worker.state'], ['worker.state']])
      listener.close()
      resumed.close()
    }
  })

  it('of another epoch leads to a reset, and so do open streams (D15, D46)', async () => {
    let epoch = 'epoch-of-the-beginning'
    const { master, time, tell } = await openEventsFixture({
      wrap: (real) =>
        replaced(real, {
          meta: {
            info: async () => ({ ...(await real.meta.info()), epoch }),
            beat: (id) => real.meta.beat(id),
            declare: (id, release) => real.meta.declare(id, release),
          },
        }),
    })
    const listener = await listen(master.url)
    await tell(happened(1))
    const [{ id } = { id: '' }] = await listener.first(1)
    epoch = 'another epoch'
    await time.advance(6_000)
    await listener.first(2)
    await tell(happened(2))
    await listener.first(3)
    expect(listener.names).toEqual(['worker.state', 'reset', 'worker.state'])
    const resumed = await listen(master.url, { lastEventId: id })
    expect((await resumed.first(2)).map(({ name }) => name)).toEqual(['reset', 'worker.state'])
    await tell(...range(3, 1_100).map((n) => happened(n)))
    const late = await listen(master.url, { lastEventId: id })
    expect((await late.first(1))[0]?.name).toBe('reset')
  })

  it('waits for an event that is in the log but was not reported to this master yet', async () => {
    const undelivered: (() => void)[] = []
    const { master, backend, time, tell } = await openEventsFixture({
      wrap: (real) => {
        let newest = real.events.newest()
        return replaced(real, {
          events: {
            append: (events) => real.events.append(events),
            read: (after, limit) => real.events.read(after, limit),
            newest: () => newest,
            onAppend: (on) =>
              real.events.onAppend(
                (events) =>
                  void undelivered.push(() => {
                    newest = events.at(-1)?.id ?? newest
                    on(events)
                  }),
              ),
          },
        })
      },
    })
    await backend.events.append([happened(1), happened(2)])
    await backend.events.append([happened(3)])
    const [epoch = ''] = (await listen(master.url)).lastId.split('.')
    const read = await backend.events.read('', 10)
    const [first] = read.kind === 'reset' ? [] : read.events
    const listener = await listen(master.url, { lastEventId: `${epoch}.${first?.id}` })
    await listener.first(2)
    for (const late of undelivered.splice(0)) late()
    await time.advance(50)
    await tell(happened(4))
    for (const late of undelivered.splice(0)) late()
    await time.advance(50)
    await listener.first(3)
    expect(numbers(listener)).toEqual([2, 3, 4])
  })

  it('ends the stream cleanly while the store is unavailable, so that the client reconnects', async () => {
    let isUnavailable = false
    const { master, tell } = await openEventsFixture({
      wrap: (real) =>
        replaced(real, {
          events: {
            append: (events) => real.events.append(events),
            newest: () => real.events.newest(),
            onAppend: (on) => real.events.onAppend(on),
            read: async (after, limit) => {
              if (isUnavailable) throw new FleetError('STORAGE_UNAVAILABLE', 'the store is unavailable')
              return real.events.read(after, limit)
            },
          },
        }),
    })
    const begun = (await listen(master.url)).lastId
    await tell(...range(0, 1_500).map((n) => happened(n)))

    isUnavailable = true
    const listener = await listen(master.url, { lastEventId: begun })
    expect(await listener.ended).toBe(true)
    expect(master.lines.filter(({ level }) => level === 'error')).toEqual([])
    isUnavailable = false
    const again = await listen(master.url, { lastEventId: begun })
    await again.first(1_500)
  })
})
