/** Events that were recorded together, over real HTTP: in one piece, one by one, and resumed between two of them. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { TOKENS } from '../../kit/running-master.ts'
import { happened, openEventsFixture, range, together, type EventsFixture } from './fixture.ts'
import { Listener, type ListenOptions, type ReceivedEvent } from './listener.ts'

const BATCHED = '?batched=true'
const listeners: Listener[] = []
afterEach(() => {
  for (const listener of listeners.splice(0)) listener.close()
})

async function listen({ master }: EventsFixture, options?: ListenOptions): Promise<Listener> {
  const listener = await Listener.begin(master.url, options)
  listeners.push(listener)
  return listener
}

/** The numbers of the events, those of batches included. */
const numbersOf = (events: readonly ReceivedEvent[]): unknown[] =>
  events.flatMap(({ data }) => ((data['items'] ?? [data]) as Record<string, unknown>[]).map((each) => each['n']))

describe('events that were recorded together', () => {
  it('are sent one by one, each with its own id, and as one event with batched=true (D135)', async () => {
    const fixture = await openEventsFixture()
    const [single, batched] = [await listen(fixture), await listen(fixture, { query: BATCHED })]
    await fixture.tell(happened(0), together(1, 3), happened(4))
    const events = await single.first(5)
    expect([numbersOf(events), new Set(single.names)]).toEqual([range(0, 5), new Set(['worker.state'])])
    const last = events[3]?.id ?? ''
    expect(events.map(({ id }) => id).slice(1, 4)).toEqual([`${last}.1`, `${last}.2`, last])
    const [, batch] = await batched.first(3)
    expect(batched.names).toEqual(['worker.state', 'workers.state', 'worker.state'])
    expect(batch).toEqual({
      id: last,
      name: 'workers.state',
      data: { type: 'mailer', items: range(1, 3).map((n) => ({ type: 'mailer', worker_id: 'w', ts: 1, n })) },
    })
  })

  it('are resumed after any of them, in both forms, without a loss or a repetition (G10, D135)', async () => {
    const fixture = await openEventsFixture()
    const reader = await listen(fixture)
    await fixture.tell(happened(0), together(1, 4), together(5, 2))
    const all = await reader.first(7)
    for (const query of ['', BATCHED]) {
      for (const [at, { id }] of all.entries()) {
        const resumed = await listen(fixture, { lastEventId: id, query })
        const missed = range(at + 1, 6 - at)
        await resumed.until(() => numbersOf(resumed.events).length >= missed.length)
        await fixture.tell(happened(99))
        await resumed.until(() => numbersOf(resumed.events).includes(99))
        expect([query, id, numbersOf(resumed.events).filter((n) => n !== 99)]).toEqual([query, id, missed])
        expect(resumed.names).not.toContain('reset')
        resumed.close()
      }
    }
  })

  it('cannot be resumed at an id that none of them has: the stream starts with reset (D31, S9)', async () => {
    const fixture = await openEventsFixture()
    const reader = await listen(fixture)
    await fixture.tell(happened(0), together(1, 4))
    const all = await reader.first(5)
    const [single = '', entry = ''] = [all[0]?.id, all[4]?.id]
    const wrong = ['.0', '.4', '.999', '.99999999999999999999', '.1.1', '.x', '.-1', '.1e0', '. 1', '.'].map(
      (end) => entry + end,
    )
    for (const lastEventId of [`${single}.1`, ...wrong]) {
      const resumed = await listen(fixture, { lastEventId })
      expect([lastEventId, (await resumed.first(1))[0]?.name]).toEqual([lastEventId, 'reset'])
      resumed.close()
    }
  })

  it('are sent only to tokens of their type, in either form (S2)', async () => {
    const fixture = await openEventsFixture()
    const other = await listen(fixture, { token: TOKENS.probe, query: BATCHED })
    const own = await listen(fixture, { token: TOKENS.mailer, query: BATCHED })
    await fixture.tell(together(0, 2), together(2, 2, 'probe'))
    expect(numbersOf(await own.first(1))).toEqual([0, 1])
    expect(numbersOf(await other.first(1))).toEqual([2, 3])
  })

  it.each(['1', '', 'TRUE', 'yes', 'null', 'true&batched=true'])(
    'batched=%s is refused, naming the field (S9)',
    async (text) => {
      const { master } = await openEventsFixture()
      const { status, json } = await master.call('GET', `/api/v1/events?batched=${text}`)
      expect([status, JSON.stringify(json)]).toEqual([422, expect.stringContaining('/batched')])
    },
  )
})
