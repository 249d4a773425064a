import { describe, expect, it } from '@jest/globals'
import { EventGatherer } from '../../../src/master/registry/event-gatherer.ts'
import { seededRandom } from '../../../src/runtime/index.ts'

type Step = readonly [name: string, id: string, type?: string]

/** What is appended for these events: per entry its name and workers. */
function gathered(steps: readonly Step[], mayJoin = true): readonly string[] {
  const gatherer = new EventGatherer()
  for (const [name, id, type = 'mailer'] of steps) gatherer.add(name, { type, id }, id, mayJoin)
  return gatherer.entries().map(({ name, scope, data, more = [] }) => `${scope} ${name} ${[data, ...more].join(',')}`)
}

describe('gathered events', () => {
  it('of one name and type share an entry (D135)', () => {
    const steps: Step[] = [
      ['connected', 'a'],
      ['state', 'a'],
      ['connected', 'b'],
      ['state', 'b'],
      ['state', 'c', 'probe'],
    ]
    expect(gathered(steps)).toEqual(['mailer connected a,b', 'mailer state a,b', 'probe state c'])
  })

  it('keep the order of the events of a worker (G10)', () => {
    const flapping: Step[] = ['connected', 'disconnected', 'connected', 'disconnected'].map((name) => [name, 'a'])
    expect(gathered(flapping)).toHaveLength(4)
    const random = seededRandom(7)
    const names = ['connected', 'disconnected', 'state']
    const pick = (count: number): number => Math.floor(random.unit() * count)
    const steps = Array.from({ length: 2_000 }, (_, n): [string, string, number] => [
      names[pick(names.length)] ?? '',
      `w${pick(20)}`,
      n,
    ])
    const gatherer = new EventGatherer()
    for (const [name, id, n] of steps) gatherer.add(name, { type: 'mailer', id }, `{"id":"${id}","n":${n}}`, true)
    const entries = gatherer.entries()
    const items = entries
      .flatMap(({ data, more = [] }) => [data, ...more])
      .map((data) => JSON.parse(data) as { id: string; n: number })
    for (const worker of new Set(items.map(({ id }) => id))) {
      const own = items.filter(({ id }) => id === worker).map(({ n }) => n)
      expect(own).toEqual(own.toSorted((one, other) => one - other))
    }
    expect([items.length, entries.length < steps.length / 2]).toEqual([2_000, true])
  })

  it('fill an entry up to 500 events or 64 KiB (G17)', () => {
    const sizes = (count: number, length: number): readonly number[] => {
      const gatherer = new EventGatherer()
      for (let n = 0; n < count; n += 1)
        gatherer.add('state', { type: 'mailer', id: `w${n}` }, 'x'.repeat(length), true)
      return gatherer.entries().map(({ more = [] }) => 1 + more.length)
    }
    expect(sizes(1_200, 10)).toEqual([500, 500, 200])
    expect(sizes(5, 30_000)).toEqual([2, 2, 1])
    expect(sizes(2, 100_000)).toEqual([1, 1])
  })

  it('have an entry each, in order, while a live master does not read batches (D120)', () => {
    const steps: Step[] = [
      ['connected', 'a'],
      ['state', 'a'],
      ['connected', 'b'],
    ]
    expect(gathered(steps, false)).toEqual(['mailer connected a', 'mailer state a', 'mailer connected b'])
  })
})
