/** Output streams: limits, peek, pop, tail. */
import { expect, it } from '@jest/globals'
import { eventuallyMatches, onEachStore, SECOND, type Json, type Worker, type ConformanceFixture } from './fixture.ts'

onEachStore('streams', (open) => {
  const length = (fixture: ConformanceFixture): Promise<Json> => fixture.ok('GET', '/probe/output/length')
  const numbers = (entries: Json): number[] => entries.map(({ payload }: Json) => payload.i)
  const pop = (fixture: ConformanceFixture, n?: number): Promise<Json> =>
    fixture.ok('POST', '/probe/output/pop', n === undefined ? {} : { n })
  const tail = (fixture: ConformanceFixture, query = ''): Promise<Json> =>
    fixture.ok('GET', `/probe/output/tail${query}`)

  /** Opens a stream of `count` outputs, numbered from 0. */
  const stream = async (count: number): Promise<{ fixture: ConformanceFixture; worker: Worker }> => {
    const fixture = await open()
    const worker = await fixture.worker('p-1', { type: 'probe' })
    await push(fixture, worker, 0, count)
    return { fixture, worker }
  }
  const push = async (fixture: ConformanceFixture, worker: Worker, from: number, count: number): Promise<void> => {
    const before = (await length(fixture)).length
    for (let at = from; at < from + count; at += 1_000) {
      worker.send({
        type: 'output_batch',
        outputs: Array.from({ length: Math.min(1_000, from + count - at) }, (_, i) => ({
          slot_id: 0,
          ts: 1,
          payload: { i: at + i },
        })),
      })
    }
    await eventuallyMatches(() => length(fixture), { length: Math.min(50_000, before + count) })
  }

  it('output/id, output/slot_id, output/ts, output/payload, route/length, D30a: stores outputs with ids', async () => {
    const { fixture } = await stream(3)
    expect(await length(fixture)).toEqual({ length: 3 })
    const entries = await fixture.ok('GET', '/probe/output/peek')
    expect(entries).toMatchObject([0, 1, 2].map((i) => ({ id: expect.any(String), slot_id: 0, ts: 1, payload: { i } })))
    const ids = entries.map(({ id }: Json) => id)
    expect([new Set(ids).size, ids.toSorted()]).toEqual([3, ids])
  })

  it('D188a: an entry names its worker, and the task if the worker reports it', async () => {
    const fixture = await open()
    const worker = await fixture.worker('p-1', { type: 'probe' })
    worker.send({ type: 'output', slot_id: 0, ts: 1, task_id: 't "1"', payload: { i: 0 } })
    worker.send({ type: 'output', slot_id: 1, ts: 1, payload: { i: 1 } })
    await eventuallyMatches(() => length(fixture), { length: 2 })
    expect(await fixture.ok('GET', '/probe/output/peek')).toEqual([
      { id: expect.any(String), slot_id: 0, ts: 1, worker_id: 'p-1', task_id: 't "1"', payload: { i: 0 } },
      { id: expect.any(String), slot_id: 1, ts: 1, worker_id: 'p-1', payload: { i: 1 } },
    ])
  })

  it('route/peek, limits/n-peek, D9d: peeks at the oldest entries, 10 without n, and removes none', async () => {
    const { fixture } = await stream(12)
    expect(numbers(await fixture.ok('GET', '/probe/output/peek'))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(numbers(await fixture.ok('GET', '/probe/output/peek?n=2'))).toEqual([0, 1])
    expect(await length(fixture)).toEqual({ length: 12 })
  })

  it('route/pop, pop/destructive, D9h: pops the oldest entries once, 10 without n', async () => {
    const { fixture } = await stream(15)
    expect(numbers(await pop(fixture, 3))).toEqual([0, 1, 2])
    expect(numbers(await pop(fixture))).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(numbers(await fixture.ok('GET', '/probe/output/peek'))).toEqual([13, 14])
  })

  it('pop/atomic: returns no entry to two concurrent pops', async () => {
    const { fixture } = await stream(100)
    const popped = await Promise.all(Array.from({ length: 10 }, () => pop(fixture, 14)))
    expect(popped.flatMap(numbers).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i))
  })

  it('pop/does-not-wait: returns immediately with nothing for an empty stream', async () => {
    const fixture = await open()
    expect([await pop(fixture), await fixture.ok('GET', '/probe/output/peek'), await length(fixture)]).toEqual([
      [],
      [],
      { length: 0 },
    ])
  })

  it('stream/entries, limits/stream-entries: keeps the newest 50,000', async () => {
    const { fixture, worker } = await stream(50_000)
    await push(fixture, worker, 50_000, 5)
    await eventuallyMatches(async () => ({ first: numbers(await fixture.ok('GET', '/probe/output/peek?n=1'))[0] }), {
      first: 5,
    })
    expect(await length(fixture)).toEqual({ length: 50_000 })
  })

  it('stream/age, limits/stream-age, D61d: drops entries older than 3600 s during a push', async () => {
    const { fixture, worker } = await stream(3)
    fixture.time.jump(3_601 * SECOND)
    worker.output({ i: 9 }, { ts: 1 })
    await eventuallyMatches(async () => ({ all: numbers(await fixture.ok('GET', '/probe/output/peek')).join() }), {
      all: '9',
    })
  })

  it('D50b: returns the newest entries, continues behind an id, and reports a gap', async () => {
    const { fixture } = await stream(5)
    const newest = await tail(fixture, '?n=2')
    expect([numbers(newest.entries), newest.gap]).toEqual([[3, 4], false])
    const [first] = await fixture.ok('GET', '/probe/output/peek?n=1')
    const behind = await tail(fixture, `?after=${first.id}`)
    expect([numbers(behind.entries), behind.gap]).toEqual([[1, 2, 3, 4], false])
    await pop(fixture, 3)
    expect(await tail(fixture, `?after=${first.id}`)).toMatchObject({ gap: true })
    expect(await length(fixture)).toEqual({ length: 2 })
  })

  it('stream/not-changeable: has no route that changes the limits of a stream', async () => {
    expect(
      (await open()).routes
        .filter((route) => route.includes('/output'))
        .map((route) => route.replace(/ .*\/output/, ' '))
        .toSorted(),
    ).toEqual(['GET /length', 'GET /peek', 'GET /tail', 'POST /pop'])
  })
})
