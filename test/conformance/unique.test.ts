/** Unique keys of tasks. */
import { expect, it } from '@jest/globals'
import { onEachStore, SECOND, type ConformanceFixture, type Json } from './fixture.ts'

onEachStore('unique keys', (open) => {
  const withWorker = async (): Promise<ConformanceFixture> => {
    const fixture = await open()
    await fixture.worker('w-1')
    return fixture
  }
  const submit = (fixture: ConformanceFixture, id: string, more: object = {}): Promise<Json> =>
    fixture.ok('POST', '/mailer/tasks', { task_id: id, payload: { to: 'a' }, unique_key: 'user-7', ...more })
  const queued = (id: string, more: object = {}): object => ({ task_id: id, queued: true, priority: 0, ...more })
  const duplicate = (id: string): object => ({ task_id: id, queued: false, duplicate: true })

  it('D118a: a submit whose unique key is that of a waiting task is a duplicate', async () => {
    const fixture = await withWorker()
    expect(await submit(fixture, 'a', { delay_seconds: 60 })).toEqual(queued('a'))
    expect(await submit(fixture, 'b', { on_conflict: 'keep', unique_until: null })).toEqual(duplicate('a'))
    expect(await submit(fixture, 'c', { unique_key: 'user-8' })).toEqual(queued('c'))
    expect(await fixture.place('b')).toBe('gone')
    await fixture.ok('DELETE', '/mailer/tasks/a')
    expect(await submit(fixture, 'd')).toEqual(queued('d'))
  })

  it('D118b: replace cancels the waiting task and ends the waits for it', async () => {
    const fixture = await withWorker()
    await submit(fixture, 'a', { retain_seconds: 60 })
    const waiting = fixture.status('GET', '/mailer/tasks/a?wait_seconds=30')
    await fixture.pass(SECOND / 2)
    expect(await submit(fixture, 'b', { on_conflict: 'replace' })).toEqual(queued('b', { replaced: 'a' }))
    expect(await waiting).toBe(404) // No time passes.
    const body = { tasks: ['c', 'd'].map((id) => ({ task_id: id, payload: { to: 'a' }, unique_key: 'user-7' })) }
    Object.assign(body.tasks[1] ?? {}, { on_conflict: 'replace' })
    const { results } = await fixture.ok('POST', '/mailer/tasks/batch', body)
    expect(results).toEqual([duplicate('b'), queued('d', { replaced: 'b' })])
    const reserved = await fixture.reserve('w-1')
    expect(reserved.map((task: Json) => [task.task_id, task.unique_key])).toEqual([['d', 'user-7']])
  })

  it('D118c: a running task conflicts only with unique_until finished, and is never replaced', async () => {
    const fixture = await withWorker()
    await submit(fixture, 'a')
    await fixture.reserve('w-1')
    expect(await submit(fixture, 'b', { unique_until: 'finished' })).toEqual(queued('b'))
    const [running] = await fixture.reserve('w-1')
    expect(await submit(fixture, 'c', { on_conflict: 'replace' })).toEqual(duplicate('b'))
    await fixture.settle('w-1', 'ack', running)
    expect(await submit(fixture, 'd')).toEqual(queued('d'))
  })

  it('D118d: rejects wrong fields, and those without a key', async () => {
    const fixture = await withWorker()
    const wrong = [
      { unique_key: '' },
      { unique_key: 7 },
      { unique_until: 'done' },
      { on_conflict: 'drop' },
      { unique_key: null, unique_until: 'started' },
      { unique_key: null, on_conflict: 'keep' },
    ]
    for (const fields of wrong) {
      const task = { payload: { to: 'a' }, unique_key: 'user-7', ...fields }
      expect(await fixture.status('POST', '/mailer/tasks', task)).toBe(422)
      expect(await fixture.ok('POST', '/mailer/tasks/validate', task)).toMatchObject({ valid: false })
    }
    const valid = { payload: { to: 'a' }, unique_key: 'k', unique_until: 'finished', on_conflict: 'replace' }
    expect(await fixture.ok('POST', '/mailer/tasks/validate', valid)).toMatchObject({ valid: true })
  })
})
