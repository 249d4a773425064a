/** Groups of dead tasks. */
import { expect, it } from '@jest/globals'
import { onEachStore, SECOND, type ConformanceFixture, type Json } from './fixture.ts'

onEachStore('groups of dead tasks', (open) => {
  const withWorker = async (): Promise<ConformanceFixture> => {
    const fixture = await open()
    await fixture.worker('w-1')
    return fixture
  }
  /** Lets a task die of an error. */
  const die = async (fixture: ConformanceFixture, id: string, error: string): Promise<void> => {
    await fixture.submit({ task_id: id })
    const [reserved] = await fixture.reserve('w-1')
    expect(await fixture.settle('w-1', 'nack', reserved, { error, permanent: true })).toMatchObject({ ok: true })
    fixture.time.jump(SECOND)
  }
  const groups = (fixture: ConformanceFixture): Promise<Json> => fixture.ok('GET', '/mailer/dead/groups')
  const newest = (fixture: ConformanceFixture, query = ''): Promise<Json> =>
    fixture.ok('GET', `/mailer/dead/newest${query}`)
  const ids = ({ items }: Json): string[] => items.map(({ id }: Json) => id)

  it('D157a, D157b: lists groups and their tasks, newest death first', async () => {
    const fixture = await withWorker()
    expect(await groups(fixture)).toEqual({ complete: true, as_of: null, groups: [] })
    for (const [id, error] of Object.entries({ a: 'code 1', b: 'HTTP 503', c: 'code 22' }))
      await die(fixture, id, error)
    const list = await groups(fixture)
    expect(list).toEqual({
      complete: true,
      as_of: expect.any(Number),
      groups: [
        {
          group: expect.stringMatching(/^[\da-f]{16}$/),
          pattern: 'code <n>',
          count: 2,
          first_died_at: fixture.now - 3,
          last_died_at: fixture.now - 1,
          trend: expect.any(Array),
          workers: ['w-1'],
          example: { task_id: 'c', error: 'code 22' },
        },
        expect.objectContaining({ pattern: 'HTTP 503', count: 1 }),
      ],
    })
    const [{ group, trend }] = list.groups
    expect([trend.length, trend.reduce((sum: number, deaths: number) => sum + deaths, 0)]).toEqual([12, 2])
    expect(ids(await newest(fixture))).toEqual(['c', 'b', 'a'])
    const first = await newest(fixture, `?group=${group}&n=1`)
    expect([ids(first), first.items[0].last_error]).toEqual([['c'], 'code 22'])
    const last = await newest(fixture, `?group=${group}&n=1&cursor=${first.cursor}`)
    expect([ids(last), last.cursor]).toEqual([['a'], null])
    for (const query of ['?n=501', '?group=x', '?cursor=x'])
      expect(await fixture.status('GET', `/mailer/dead/newest${query}`)).toBe(422)
  })

  it('D158a, D158b: replays and removes a group as of a moment', async () => {
    const fixture = await withWorker()
    for (const id of ['a', 'b']) await die(fixture, id, 'code 1')
    const { as_of: before, groups: found } = await groups(fixture)
    const path = `/mailer/dead/groups/${found[0].group}`
    await die(fixture, 'late', 'code 3')
    await die(fixture, 'else', 'other')
    const replayed = await fixture.ok('POST', `${path}/replay`, { before, per_second: 2, delay_seconds: 60 })
    expect(replayed).toEqual({ replayed: 2, more: false, delay_seconds: 61 })
    expect([await fixture.place('a'), await fixture.place('b'), await fixture.place('late')]).toEqual([
      'scheduled',
      'scheduled',
      'dead',
    ])
    expect(await fixture.ok('POST', `${path}/remove`, { before: fixture.now + 1 })).toEqual({ removed: 1, more: false })
    expect(await groups(fixture)).toMatchObject({ groups: [{ pattern: 'other' }] })
    expect(await fixture.status('POST', '/mailer/dead/groups/x/remove', { before })).toBe(404)
    for (const body of [{}, { before: 'now' }, { before, per_second: 0 }])
      expect(await fixture.status('POST', `${path}/replay`, body)).toBe(422)
  })

  it('D159: replays a dead task with another payload', async () => {
    const fixture = await withWorker()
    await die(fixture, 'a', 'code 1')
    const [{ died_at: diedAt }] = (await newest(fixture)).items
    const edit = (at: number): Promise<Json> =>
      fixture.ok('POST', '/mailer/dead/tasks/a/replay', { died_at: at, payload: { to: 'y' } })
    expect(await edit(diedAt - 1)).toEqual({ task_id: 'a', outcome: 'not_dead' })
    expect(await edit(diedAt)).toEqual({ task_id: 'a', outcome: 'replayed' })
    expect(await edit(diedAt)).toEqual({ task_id: 'a', outcome: 'not_dead' })
    expect((await fixture.ok('GET', '/mailer/queue')).items).toMatchObject([
      { id: 'a', attempt: 0, payload: { to: 'y' } },
    ])
  })
})
