/** Failed attempts of tasks. */
import { expect, it } from '@jest/globals'
import { onEachStore, SECOND, type ConformanceFixture, type Json } from './fixture.ts'

onEachStore('failed attempts', (open) => {
  const withWorker = async (): Promise<ConformanceFixture> => {
    const fixture = await open()
    await fixture.worker('w-1')
    return fixture
  }
  const state = (fixture: ConformanceFixture, id: string): Promise<Json> => fixture.ok('GET', `/mailer/tasks/${id}`)
  const fail = async (fixture: ConformanceFixture, more: object): Promise<Json> => {
    const [reserved] = await fixture.reserve('w-1')
    expect(await fixture.settle('w-1', 'nack', reserved, more)).toMatchObject({ ok: true })
    return reserved
  }

  it('D115a, D115b: shows the failed runs of a task where it is, and in the dead letters', async () => {
    const fixture = await withWorker()
    await fixture.submit({ task_id: 'a' })
    expect(await state(fixture, 'a')).toEqual({ task_id: 'a', place: 'pending' })
    await fail(fixture, { error: 'x'.repeat(300), retry_in_ms: 0 })
    const first = { attempt: 1, at: fixture.now, kind: 'failed', error: 'x'.repeat(256), worker_id: 'w-1' }
    expect(await state(fixture, 'a')).toEqual({ task_id: 'a', place: 'scheduled', attempts: [first] })
    await fixture.pass(SECOND, SECOND)
    await fail(fixture, { error: 'no such mailbox', permanent: true })
    const attempts = [first, { ...first, attempt: 2, at: fixture.now, error: 'no such mailbox' }]
    expect(await state(fixture, 'a')).toMatchObject({ place: 'dead', attempt: 2, attempts })
    const { items } = await fixture.ok('GET', '/mailer/dead')
    expect(items).toMatchObject([{ id: 'a', last_error: 'no such mailbox', attempts, payload: expect.anything() }])
    await fixture.ok('POST', '/mailer/dead/replay')
    expect(await state(fixture, 'a')).toEqual({ task_id: 'a', place: 'pending', attempts })
  })

  it('D115c: shows a lost lease with the worker that had it', async () => {
    const fixture = await withWorker()
    await fixture.submit({ task_id: 'a' })
    await fixture.reserve('w-1')
    for (let passed = 0; passed < 400 && (await fixture.place('a')) === 'in_flight'; passed += 1)
      await fixture.pass(SECOND, SECOND)
    const lost = { attempt: 0, at: expect.any(Number), kind: 'lease_lost', error: null, worker_id: 'w-1' }
    expect(await state(fixture, 'a')).toEqual({ task_id: 'a', place: 'pending', attempts: [lost] })
  })

  it('D115d: keeps the newest five, also with an outcome, and none of a task that did not fail', async () => {
    const fixture = await withWorker()
    await fixture.submit({ task_id: 'a', retain_seconds: 60, max_attempts: 10 })
    for (let run = 0; run < 6; run += 1) {
      await fail(fixture, { error: `run ${run}`, retry_in_ms: 0 })
      await fixture.pass(SECOND, SECOND)
    }
    await fixture.submit({ task_id: 'b', retain_seconds: 60 })
    for (const reserved of await fixture.reserve('w-1', 2)) await fixture.settle('w-1', 'ack', reserved)
    const { place, attempts } = await state(fixture, 'a')
    expect(place).toBe('done')
    expect((attempts as Json[]).map(({ error }) => error)).toEqual(['run 1', 'run 2', 'run 3', 'run 4', 'run 5'])
    expect(await state(fixture, 'b')).not.toHaveProperty('attempts')
  })
})
