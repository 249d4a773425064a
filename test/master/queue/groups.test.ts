/**
 * Tests what the queue of a master does for types with groups: it sets their policies, shows the groups, and serves a
 * waiting worker as soon as a group may start a task (D119, G30). The tick of each second never helps, as less time
 * passes.
 */
import { afterEach, describe, expect, it } from '@jest/globals'
import type { CatalogEntry } from '../../../src/automation/index.ts'
import type { Lease } from '../../../src/storage/index.ts'
import { entryOf, settled, QueueFixture, UNAVAILABLE } from './fixture.ts'
import { Watched } from './watched.ts'

type Groups = NonNullable<CatalogEntry['groups']>
const ONE: Groups = { maxInFlight: 1, rate: null }
const QUEUE = '/automations/mailer/queue'

let fixture: QueueFixture
const store = new Watched()
async function open(groups: Groups, maxLostLeases = 10): Promise<void> {
  store.calls.length = 0
  store.gate = () => undefined
  fixture = await QueueFixture.open({
    backend: store.wrap,
    entries: [entryOf('mailer', { groups, visibilityMs: 1_000 })],
    settings: { maxLostLeases },
  })
  await fixture.workers(['w'])
}
afterEach(() => fixture.close())

const submit = (id: string, group: string | null = 'acme', more: object = {}): Promise<string> =>
  fixture.submit('a@b', { task_id: id, group_key: group, ...more })

/** A long poll. `ids` is null while it waits. */
function poll(limit = 1): { readonly ids: () => readonly string[] | null; readonly leases: Promise<readonly Lease[]> } {
  let ids: readonly string[] | null = null
  const signal = new AbortController().signal
  const leases = fixture.queue.reserve('mailer', { worker: 'w', limit, waitMs: 30_000, signal })
  void leases.then((found) => (ids = found.map(({ id }) => id)))
  return { ids: () => ids, leases }
}

async function lease(): Promise<Lease> {
  const [leased] = await poll().leases
  if (leased === undefined) throw new Error('expected a lease')
  return leased
}

describe('a waiting worker gets the next task of a group', () => {
  const nack = (leased: Lease, permanent: boolean) =>
    fixture.queue.nack('mailer', [{ id: leased.id, token: leased.token, error: 'x', retryInMs: 60_000, permanent }])
  it.each<[string, (leased: Lease) => Promise<unknown>]>([
    ['ack', (leased) => fixture.queue.ack('mailer', [leased])],
    ['nack with a retry', (leased) => nack(leased, false)],
    ['permanent nack', (leased) => nack(leased, true)],
    ['cancel', ({ id }) => fixture.call('DELETE', `/automations/mailer/tasks/${id}`)],
  ])('right after the %s of the task before, without a tick (G30)', async (_, end) => {
    await open(ONE)
    await submit('a')
    await submit('b')
    const first = await lease()
    const { ids } = poll()
    await settled(fixture)
    expect([first.id, ids()]).toEqual(['a', null])
    await end(first)
    await settled(fixture)
    expect(ids()).toEqual(['b'])
  })

  it('when the one before is released: the same task', async () => {
    await open(ONE)
    await submit('a')
    await submit('b')
    const { id, token } = await lease()
    const { ids } = poll()
    await settled(fixture)
    await fixture.queue.release('mailer', [{ id, token }])
    await settled(fixture)
    expect(ids()).toEqual(['a'])
  })

  it('right after the sweep that moved the one before to the dead letters', async () => {
    await open(ONE, 1)
    await submit('a')
    await submit('b')
    await lease()
    const { ids } = poll()
    const sweeps: (readonly string[] | null)[] = []
    store.gate = (name) => (name === 'tasks.sweep' ? Promise.resolve(void sweeps.push(ids())) : undefined)
    while (ids() === null && sweeps.length < 5) {
      await fixture.time.advance(500)
      if ((await fixture.place('a')) === 'dead') break
    }
    await settled(fixture)
    expect(ids()).toEqual(['b'])
  })

  it('as soon as an earlier submit of it is committed, when the reserve was sent first (D123)', async () => {
    await open(ONE)
    await fixture.take('w')
    const { ids } = poll()
    await settled(fixture)
    const delaysMs = new Map([
      ['tasks.submit', 5],
      ['tasks.reserve', 1],
    ])
    store.gate = (name) => {
      const ms = delaysMs.get(name)
      return ms === undefined ? undefined : fixture.time.sleep(ms)
    }
    const submitted = submit('a')
    await fixture.time.advance(4)
    expect(ids()).toBeNull()
    await fixture.time.advance(3)
    await submitted
    expect(ids()).toEqual(['a'])
  })

  it('when its rate permits, and not before', async () => {
    await open({ maxInFlight: null, rate: { tasks: 2, perSeconds: 0.5, burst: 1 } })
    for (const id of ['a', 'b', 'c']) await submit(id)
    await submit('d', 'other')
    expect((await poll(2).leases).map(({ id }) => id)).toEqual(['a', 'd'])
    const second = poll()
    await fixture.time.advance(249)
    expect(second.ids()).toBeNull()
    await fixture.time.advance(11) // Due times are checked at most every 10 ms.
    expect(second.ids()).toEqual(['b'])
    const third = poll()
    await fixture.time.advance(230)
    expect(third.ids()).toBeNull()
    await fixture.time.advance(20)
    expect(third.ids()).toEqual(['c'])
  })
})

describe('a group that may not start a task', () => {
  it('keeps no reserve from the tasks of other groups, and costs two calls of the store per submit', async () => {
    await open(ONE)
    await submit('a')
    await lease()
    const { ids } = poll()
    await settled(fixture)
    const before = store.named('tasks.reserve').length
    for (const id of ['b', 'c', 'd']) await submit(id)
    await settled(fixture)
    expect([ids(), store.named('tasks.reserve').length - before <= 6]).toEqual([null, true])
    await submit('e', null)
    await settled(fixture)
    expect(ids()).toEqual(['e'])
  })

  it('ends a reserve without a wait time empty', async () => {
    await open(ONE)
    await submit('a')
    await submit('b')
    expect((await fixture.take('w', 5)).map(({ task_id: id }) => id)).toEqual(['a'])
    expect(await fixture.take('w')).toEqual([])
  })
})

describe('fair turns', () => {
  it('alternate between the groups, whichever has more tasks or a higher priority (G30)', async () => {
    await open({ maxInFlight: null, rate: null })
    for (const id of ['a1', 'a2', 'a3']) await submit(id, 'a', { priority: 9 })
    await submit('b1', 'b')
    await submit('b2', 'b', { priority: 1 })
    await submit('none', null)
    const leased = await fixture.take('w', 6)
    expect(leased.map(({ task_id: id }) => id)).toEqual(['none', 'a1', 'b2', 'a2', 'b1', 'a3'])
  })
})

describe('the policy of each type', () => {
  it('is set at the start, before the first reserve, also that a type has none', async () => {
    const entries = [
      entryOf('mailer', { groups: { maxInFlight: 3, rate: { tasks: 4, perSeconds: 60, burst: 9 } } }),
      entryOf('plain'),
      entryOf('feed', { kind: 'ContinuousAutomation', payloadSchema: null, validatePayload: null }),
    ]
    store.calls.length = 0
    fixture = await QueueFixture.open({ backend: store.wrap, entries })
    expect(store.named('tasks.setGroupPolicy')).toEqual([
      ['mailer', { maxInFlight: 3, rate: { intervalMs: 15_000, burst: 9 } }],
      ['plain', null],
    ])
  })

  it('fails the start while the store is unavailable: without it, bounds would not hold', async () => {
    await open(ONE)
    store.failure = (name) => (name === 'tasks.setGroupPolicy' ? UNAVAILABLE : undefined)
    await expect(fixture.queue.start()).rejects.toBe(UNAVAILABLE)
    store.failure = () => undefined
  })
})

describe('the queue of a type with groups', () => {
  it('shows the groups with the most pending tasks, and when a rate lets them start again', async () => {
    await open({ maxInFlight: 2, rate: { tasks: 1, perSeconds: 60, burst: 1 } })
    expect(await fixture.call('GET', QUEUE)).toMatchObject({ json: { length: 0, groups: [] } })
    for (const [id, group] of Object.entries({ a: 'x', b: 'y', c: 'y', d: 'y' })) await submit(id, group)
    await submit('e', null)
    await fixture.take('w', 3)
    const startsAt = fixture.time.wallMs() / 1_000 + 60
    const { json } = await fixture.call('GET', QUEUE)
    expect(json).toMatchObject({
      length: 2,
      groups: [
        { group_key: 'y', pending: 2, in_flight: 1, next_start_at: startsAt },
        { group_key: null, pending: 0, in_flight: 1 },
        { group_key: 'x', pending: 0, in_flight: 1 },
      ],
    })
    expect((json as { groups: object[] }).groups[1]).not.toHaveProperty('next_start_at')
  })

  it('shows at most 50 groups', async () => {
    await open(ONE)
    for (let at = 0; at < 60; at += 1) await submit(`t${at}`, `g${at}`)
    expect(((await fixture.call('GET', QUEUE)).json as { groups: object[] }).groups).toHaveLength(50)
  })

  it('is shown with a task that has not finished, whatever its keys contain', async () => {
    await open(ONE)
    const group = '\\","group_key":"other"}'
    await submit('a', group, { unique_key: '"group_key":"no",', retain_seconds: 60 })
    await submit('b', null, { labels: { group_key: 'no' } })
    const shown = async (id: string) => (await fixture.call('GET', `/automations/mailer/tasks/${id}`)).json
    expect(await shown('a')).toEqual({ task_id: 'a', place: 'pending', group_key: group })
    expect(await shown('b')).toEqual({ task_id: 'b', place: 'pending' })
    await fixture.queue.ack('mailer', await poll(2).leases)
    expect(await shown('a')).not.toHaveProperty('group_key')
  })
})
