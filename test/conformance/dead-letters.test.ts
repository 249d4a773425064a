/** The dead-letter queue: inspection, replay, clear. */
import { expect, it } from '@jest/globals'
import { onEachStore, type Json, type ConformanceFixture } from './fixture.ts'

onEachStore('dead letters', (open) => {
  /** Opens a fixture with `count` dead tasks that died one second apart, `d-0` first. */
  const withDead = async (count: number, task: object = {}): Promise<ConformanceFixture> => {
    const fixture = await open()
    await fixture.worker('w-1')
    for (let i = 0; i < count; i += 1) {
      await fixture.dead('w-1', { task_id: `d-${i}`, ...task })
      fixture.time.jump(1_000)
    }
    return fixture
  }
  const dead = (fixture: ConformanceFixture, query = ''): Promise<Json> => fixture.ok('GET', `/mailer/dead${query}`)
  const replay = (fixture: ConformanceFixture, body: object = {}): Promise<Json> =>
    fixture.ok('POST', '/mailer/dead/replay', body)
  const ids = ({ items }: Json): string[] => items.map(({ id }: Json) => id)

  it('dead-item/fields, route/dead, D29a: shows dead tasks with max attempts, error and time of death', async () => {
    const fixture = await withDead(1, { max_attempts: 5, priority: 2 })
    expect(await dead(fixture)).toEqual({
      length: 1,
      items: [
        {
          id: 'd-0',
          payload: { to: 'x' },
          attempt: expect.any(Number),
          max_attempts: 5,
          submitted_at: fixture.now - 1,
          priority: 2,
          last_error: 'failed',
          died_at: fixture.now - 1,
          attempts: [expect.objectContaining({ attempt: 1, error: 'failed' })],
        },
      ],
    })
  })

  it('limits/n-dead, inspect/dead-not-consuming, D9f, D50c: lists 50 without n, oldest first; keeps all', async () => {
    const fixture = await withDead(55)
    const all = await dead(fixture)
    expect([all.length, all.items.length, ids(all).slice(0, 2)]).toEqual([55, 50, ['d-0', 'd-1']])
    expect([ids(await dead(fixture, '?n=1')), (await dead(fixture)).length]).toEqual([['d-0'], 55])
    expect(await replay(fixture)).toEqual({ replayed: 50 })
  })

  it('task/replay, route/replay: puts up to n tasks back to the end of the normal tier, with attempt 0', async () => {
    const fixture = await withDead(3, { priority: 5 })
    await fixture.submit({ task_id: 'waiting' })
    await fixture.submit({ task_id: 'low', priority: -1 })
    expect(await replay(fixture, { n: 2 })).toEqual({ replayed: 2 })
    const { items } = await fixture.ok('GET', '/mailer/queue')
    expect(items.map(({ id, attempt }: Json) => [id, attempt])).toEqual([
      ['waiting', 0],
      ['d-0', 0],
      ['d-1', 0],
      ['low', 0],
    ])
    expect(ids(await dead(fixture))).toEqual(['d-2'])
    expect([await replay(fixture, { n: 10 }), await replay(fixture)]).toEqual([{ replayed: 1 }, { replayed: 0 }])
  })

  it('task/clear, route/clear: removes all dead tasks permanently', async () => {
    const fixture = await withDead(3)
    expect(await fixture.ok('DELETE', '/mailer/dead')).toEqual({ cleared: 3 })
    expect([await dead(fixture), await fixture.place('d-0'), await fixture.ok('DELETE', '/mailer/dead')]).toEqual([
      { length: 0, items: [] },
      'gone',
      { cleared: 0 },
    ])
  })
})
