/** Progress of tasks. */
import { expect, it } from '@jest/globals'
import { onEachStore, SECOND, type ConformanceFixture, type Json } from './fixture.ts'

onEachStore('progress', (open) => {
  const leased = async (task: object): Promise<readonly [ConformanceFixture, Json]> => {
    const fixture = await open()
    await fixture.worker('w-1')
    await fixture.submit(task)
    const [reserved] = await fixture.reserve('w-1')
    expect(reserved).not.toHaveProperty('progress')
    return [fixture, reserved]
  }
  const state = (fixture: ConformanceFixture, id: string): Promise<Json> => fixture.ok('GET', `/mailer/tasks/${id}`)

  it('D114a: stores the progress of an extend, and shows it with its time until the task is done', async () => {
    const [fixture, reserved] = await leased({ task_id: 'a', retain_seconds: 60 })
    expect(await state(fixture, 'a')).toEqual({ task_id: 'a', place: 'in_flight' })
    const progress = { page: 7, of: [1, null, 'ü'] }
    expect(await fixture.settle('w-1', 'extend', reserved, { progress })).toMatchObject({ ok: true })
    const shown = { task_id: 'a', place: 'in_flight', progress, progress_at: fixture.now }
    expect(await state(fixture, 'a')).toEqual(shown)
    await fixture.pass(SECOND)
    await fixture.settle('w-1', 'extend', reserved)
    expect(await state(fixture, 'a')).toEqual(shown)
    await fixture.settle('w-1', 'ack', reserved, { result: 1 })
    expect(await state(fixture, 'a')).not.toHaveProperty('progress')
  })

  it('D114b: hands the progress to the next run, also after a replay', async () => {
    const [fixture, reserved] = await leased({ task_id: 'a', max_attempts: 2 })
    await fixture.settle('w-1', 'extend', reserved, { progress: 41 })
    await fixture.settle('w-1', 'extend', reserved, { progress: 42 })
    await fixture.settle('w-1', 'nack', reserved, { retry_in_ms: 0 })
    await fixture.pass(SECOND, SECOND)
    const [second] = await fixture.reserve('w-1')
    expect(second).toMatchObject({ attempt: 1, progress: 42 })
    await fixture.settle('w-1', 'nack', second)
    expect(await state(fixture, 'a')).toMatchObject({ place: 'dead', progress: 42 })
    await fixture.ok('POST', '/mailer/dead/replay')
    expect(await fixture.reserve('w-1')).toMatchObject([{ attempt: 0, progress: 42 }])
  })

  it('D114c: refuses more than 1 KiB, and stores nothing for a lease that was lost', async () => {
    const [fixture, { task_id, token }] = await leased({ task_id: 'a' })
    const extend = (of: number, progress: string): Promise<Json> =>
      fixture.rpc('w-1', 'tasks.extend', { tasks: [{ task_id, token: of, progress }] })
    expect(await extend(token, 'x'.repeat(1_023))).toMatchObject({ code: -32602 })
    expect((await extend(token, 'x'.repeat(1_022))).results).toMatchObject([{ ok: true }])
    expect((await extend(token - 1, 'late')).results).toEqual([{ ok: false, error: 'lease_lost' }])
    expect((await state(fixture, 'a')).progress).toBe('x'.repeat(1_022))
  })
})
