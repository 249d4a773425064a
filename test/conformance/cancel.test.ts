/** Cancel of tasks (D109, G28). */
import { expect, it } from '@jest/globals'
import { onEachStore, SECOND, type ConformanceFixture, type Json } from './fixture.ts'

const cancel = (fixture: ConformanceFixture, id: string): Promise<Json> => fixture.ok('DELETE', `/mailer/tasks/${id}`)
const select = (fixture: ConformanceFixture, ...ids: readonly string[]): Promise<Json> =>
  fixture.ok('POST', '/mailer/tasks/select', { action: 'cancel', task_ids: ids })

onEachStore('cancel', (open) => {
  async function withWorker() {
    const fixture = await open()
    await fixture.worker('w-1')
    return fixture
  }

  it('D109a: cancels a task where it is, and leaves a dead one', async () => {
    const fixture = await withWorker()
    await fixture.dead('w-1', { task_id: 'dead' })
    await fixture.submit({ task_id: 'held' })
    await fixture.reserve('w-1')
    await fixture.submit({ task_id: 'waits' })
    await fixture.submit({ task_id: 'later', delay_seconds: 60 })
    expect(await cancel(fixture, 'held')).toEqual({ task_id: 'held', outcome: 'cancelled', was: 'in_flight' })
    expect(await cancel(fixture, 'waits')).toEqual({ task_id: 'waits', outcome: 'cancelled', was: 'pending' })
    expect(await cancel(fixture, 'later')).toEqual({ task_id: 'later', outcome: 'cancelled', was: 'scheduled' })
    expect(await cancel(fixture, 'dead')).toEqual({ task_id: 'dead', outcome: 'dead' })
    for (const id of ['held', 'waits', 'later']) expect([id, await fixture.place(id)]).toEqual([id, 'gone'])
    expect(await fixture.place('dead')).toBe('dead')
  })

  it('D109b: no settle of a cancelled task succeeds, and it is not delivered again (G28)', async () => {
    const fixture = await withWorker()
    for (let i = 0; i < 4; i += 1) await fixture.submit({ task_id: `t${i}` })
    const held = await fixture.reserve('w-1', 4)
    await select(fixture, 't0', 't1', 't2', 't3')
    for (const [i, verb] of (['extend', 'nack', 'release', 'ack'] as const).entries())
      expect(await fixture.settle('w-1', verb, held[i])).toEqual({ ok: false, error: 'lease_lost' })
    await fixture.pass(130 * SECOND, 10 * SECOND)
    expect(await fixture.reserve('w-1', 10)).toEqual([])
  })

  it('D109c: cancels many tasks, with one outcome per id', async () => {
    const fixture = await withWorker()
    await fixture.dead('w-1', { task_id: 'dead' })
    for (const id of ['a', 'b', 'c']) await fixture.submit({ task_id: id })
    expect(await select(fixture, 'c', 'dead', 'a', 'none', 'c')).toEqual({
      results: [
        { task_id: 'c', outcome: 'cancelled' },
        { task_id: 'dead', outcome: 'dead' },
        { task_id: 'a', outcome: 'cancelled' },
        { task_id: 'none', outcome: 'not_found' },
        { task_id: 'c', outcome: 'not_found' },
      ],
    })
    expect(await fixture.reserve('w-1', 10)).toMatchObject([{ task_id: 'b' }])
  })

  it('D109d: the id can be submitted again and is a new task at the back of its tier', async () => {
    const fixture = await withWorker()
    for (const id of ['x', 'y']) await fixture.submit({ task_id: id })
    await cancel(fixture, 'x')
    expect(await fixture.submit({ task_id: 'x', payload: { to: 'new' } })).toMatchObject({ queued: true })
    const tasks = await fixture.reserve('w-1', 10)
    expect(tasks).toMatchObject([{ task_id: 'y' }, { task_id: 'x', payload: { to: 'new' }, attempt: 0 }])
    expect(await fixture.settle('w-1', 'ack', tasks[1])).toEqual({ ok: true })
    expect(await fixture.reserve('w-1', 10)).toEqual([])
  })

  it('D109e: counts and the bound show no cancelled task, and queue/stats counts them', async () => {
    const fixture = await open({ maxQueueLength: 2 })
    for (const id of ['a', 'b']) await fixture.submit({ task_id: id })
    const another = { payload: { to: 'x' } }
    expect(await fixture.status('POST', '/mailer/tasks', another)).toBe(503)
    await fixture.pass(20 * SECOND, SECOND)
    expect((await fixture.ok('GET', '/mailer/queue/stats')).at(-1)).not.toHaveProperty('cancelled')
    await cancel(fixture, 'a')
    expect(await fixture.ok('GET', '/mailer/queue')).toMatchObject({ length: 1, items: [{ id: 'b' }] })
    await fixture.pass(20 * SECOND, SECOND)
    const samples = await fixture.ok('GET', '/mailer/queue/stats')
    expect(samples.at(-1)).toMatchObject({ normal: 1, submitted: 2, cancelled: 1 })
    expect(await fixture.status('POST', '/mailer/tasks', another)).toBe(200)
  })

  it('D109f: an unknown id and a repeat are 404, a wrong selection is 422', async () => {
    const fixture = await withWorker()
    await fixture.submit({ task_id: 'a' })
    await cancel(fixture, 'a')
    expect(await fixture.status('DELETE', '/mailer/tasks/a')).toBe(404)
    expect(await fixture.status('DELETE', '/mailer/tasks/never')).toBe(404)
    expect(await fixture.status('DELETE', '/nowhere/tasks/a')).toBe(404)
    for (const body of [
      { action: 'cancel', task_ids: [] },
      { action: 'remove', task_ids: ['a'] },
      { task_ids: ['a'] },
      { action: 'cancel', task_ids: Array.from({ length: 1_001 }, (_, i) => `t${i}`) },
    ])
      expect(await fixture.status('POST', '/mailer/tasks/select', body)).toBe(422)
  })
})
