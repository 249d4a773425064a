/** Event streams with 1,000 readers, and with readers that do not read. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { MAX_EVENT_STREAMS, MAX_EVENTS_BEHIND } from '../../../src/protocol/index.ts'
import { TOKENS } from '../../kit/running-master.ts'
import { Listener } from './listener.ts'
import { happened, openEventsFixture, range } from './fixture.ts'

const listeners: Listener[] = []
afterEach(() => {
  for (const listener of listeners.splice(0)) listener.close()
})

/** Enough tokens to use all places: a token may use a quarter, and the last tenth is for the admin and the workers. */
const SCOPED = ['one', 'two', 'three', 'four'].map((each) => `scoped-${each}-of-the-test`)
const SHARE = MAX_EVENT_STREAMS / 4
const tokens = {
  admin: TOKENS.admin,
  worker: TOKENS.worker,
  workerPeers: [],
  scopes: new Map(SCOPED.map((token) => [token, ['*']])),
}

async function listen(url: string, token: string = TOKENS.admin): Promise<Listener> {
  const listener = await Listener.begin(url, { token })
  listeners.push(listener)
  return listener
}

describe('a thousand readers', () => {
  it('all receive every event; one more is refused until one leaves', async () => {
    const { master, backend, time } = await openEventsFixture({ tokens })
    for (const token of [...SCOPED.slice(0, 3), TOKENS.admin]) {
      for (let at = 0; at < SHARE; at += 50) await Promise.all(range(at, 50).map(() => listen(master.url, token)))
    }
    const refused = await master.call('GET', '/api/v1/events')
    expect([refused.status, refused.headers.get('retry-after'), refused.json]).toEqual([
      503,
      '5',
      { detail: expect.stringContaining('1000 event streams') },
    ])
    expect((await master.call('GET', '/metrics')).text).toContain(`svc_event_streams ${MAX_EVENT_STREAMS}`)

    for (const n of range(0, 20)) {
      await backend.events.append([happened(n), happened(-n - 1)])
      await time.advance(10)
    }
    await time.advance(50)
    for (const listener of listeners) await listener.first(40)
    const expected = range(0, 20).flatMap((n) => [n, -n - 1])
    for (const { events } of listeners) expect(events.map(({ data }) => data['n'])).toEqual(expected)

    const leaver = listeners.at(-1) // One stream of the admin, which has used its whole share as well.
    leaver?.close()
    await leaver?.ended
    await listenAgain(master.url)
  }, 60_000)
})

describe('a thousand readers of one token', () => {
  it('leave places for every other token, and all scoped tokens leave a tenth to the admin (D71)', async () => {
    const { master } = await openEventsFixture({ tokens })
    const [greedy = '', ...others] = SCOPED
    const statuses: (number | undefined)[] = []
    for (let at = 0; at < MAX_EVENT_STREAMS; at += 50) {
      for (const listener of await Promise.all(range(at, 50).map(() => Listener.open(master.url, { token: greedy })))) {
        listeners.push(listener)
        statuses.push(listener.response.statusCode)
      }
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(SHARE)
    expect(statuses.filter((status) => status === 503)).toHaveLength(MAX_EVENT_STREAMS - SHARE)
    for (const token of [...others, TOKENS.admin]) await listen(master.url, token)
    for (const token of others) {
      for (let at = 1; at < SHARE; at += 1) listeners.push(await Listener.open(master.url, { token }))
    }
    expect((await master.call('GET', '/metrics')).text).toContain(`svc_event_streams ${MAX_EVENT_STREAMS * 0.9}`)
    await listen(master.url, TOKENS.admin)
  }, 60_000)
})

/** Opens streams until one is accepted: the master notices a closed stream a moment later. */
async function listenAgain(url: string): Promise<void> {
  for (;;) {
    const listener = await Listener.open(url)
    listeners.push(listener)
    if (listener.response.statusCode === 200) return
  }
}

describe('a reader that does not read', () => {
  const LINE = 'x'.repeat(1_000)

  it('uses a bounded amount of memory, and receives a reset when it reads again (G10)', async () => {
    const { master, tell } = await openEventsFixture()
    const slow = await Promise.all(range(0, 50).map(() => listen(master.url)))
    const [quick, ...rest] = [await listen(master.url), ...slow]
    for (const { response } of rest) response.pause()
    const storm = async (from: number, count: number): Promise<void> => {
      for (let n = from; n < from + count; n += 100) {
        await tell(...range(n, 100).map((each) => happened(each, 'mailer', LINE)))
        await quick.first(n + 100)
      }
    }
    await storm(0, 12_000) // The log and the socket buffers are full.
    const before = process.memoryUsage().rss
    await storm(12_000, 6_000) // 6 MB in total, or 300 MB if each reader had its own copy.
    expect((process.memoryUsage().rss - before) / 1_048_576).toBeLessThan(100)

    const [one] = slow
    one?.response.resume()
    await one?.until(() => one.names.includes('reset'))
    await tell(happened(-1))
    await one?.until(() => one.events.at(-1)?.data['n'] === -1)
    const received = one?.events.map(({ name, data }) => (name === 'reset' ? 'reset' : data['n'])) ?? []
    const at = received.indexOf('reset')
    expect(received.slice(0, at)).toEqual(range(0, at))
    expect(received.slice(at + 1)).toEqual([
      ...range(18_000 - (received.length - at - 2), received.length - at - 2),
      -1,
    ])
    expect(at).toBeLessThan(18_000 - MAX_EVENTS_BEHIND)
  }, 60_000)

  it('is disconnected after 30 s while other readers continue', async () => {
    const { master, time, tell } = await openEventsFixture()
    const [stuck, quick] = [await listen(master.url), await listen(master.url)]
    stuck.response.pause()
    for (let n = 0; n < 12_000; n += 500) {
      await tell(...range(n, 500).map((each) => happened(each, 'mailer', LINE)))
      await quick.first(n + 500)
    }
    await time.advance(29_000)
    await time.advance(2_000)
    stuck.response.resume()
    expect(await stuck.ended).toBe(false)
    await tell(happened(-1))
    await quick.first(12_001)
    expect(master.lines.filter(({ message }) => message === 'a response was cut off')).toHaveLength(1)
  }, 60_000)

  it('is disconnected when the master stops, whatever it has not read', async () => {
    const { master, time, tell } = await openEventsFixture()
    const stuck = await listen(master.url)
    stuck.response.pause()
    for (let n = 0; n < 12_000; n += 500) {
      await tell(...range(n, 500).map((each) => happened(each, 'mailer', LINE)))
    }
    const stopped = master.stop()
    await time.advance(1)
    await stopped
    stuck.response.resume()
    expect(await stuck.ended).toBe(false)
  }, 60_000)
})
