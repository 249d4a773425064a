/** An event stream without the events of workers (D162). */
import { afterEach, describe, expect, it } from '@jest/globals'
import { happened, openEventsFixture, together } from './fixture.ts'
import { Listener } from './listener.ts'

const listeners: Listener[] = []
afterEach(() => {
  for (const listener of listeners.splice(0)) listener.close()
})

const paused = (n: number) => ({
  name: 'queue.paused' as const,
  scope: 'mailer',
  data: JSON.stringify({ type: 'mailer', ts: 1, note: null, actor: 'ana', since: 1, until: null, n }),
})

describe('a stream with workers=false', () => {
  it.each(['?workers=false', '?workers=false&batched=true'])(
    'has all events but those of workers: %p (D162)',
    async (query) => {
      const fixture = await openEventsFixture()
      const [all, some] = [
        await Listener.begin(fixture.master.url),
        await Listener.begin(fixture.master.url, { query }),
      ]
      listeners.push(all, some)
      await fixture.tell(happened(0), paused(1), together(2, 3), paused(5), happened(6))
      await all.first(7)
      await some.first(2)
      expect(some.events.map(({ name, data }) => [name, data['n']])).toEqual([
        ['queue.paused', 1],
        ['queue.paused', 5],
      ])
      const resumed = await Listener.begin(fixture.master.url, { query, lastEventId: all.events[0]?.id })
      listeners.push(resumed)
      expect((await resumed.first(2)).map(({ data }) => data['n'])).toEqual([1, 5])
    },
  )
})
