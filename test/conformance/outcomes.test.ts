/** Retained outcomes of tasks, and waiting for them. */
import { expect, it } from '@jest/globals'
import { API, onEachStore, SCOPED, SECOND, type Json, type ConformanceFixture } from './fixture.ts'

/** Lets time pass until the response is there: the request may arrive at the master after the first step. */
async function passedUntil<T>(fixture: ConformanceFixture, response: Promise<T>): Promise<T> {
  const passed = (): Promise<boolean> => fixture.pass(SECOND, SECOND).then(() => true)
  while (await Promise.race([response.then(() => false), passed()]));
  return response
}

onEachStore('outcomes', (open) => {
  const withWorker = async (options = {}): Promise<ConformanceFixture> => {
    const fixture = await open(options)
    await fixture.worker('w-1')
    return fixture
  }
  const state = (fixture: ConformanceFixture, id: string, query = ''): Promise<Json> =>
    fixture.ok('GET', `/mailer/tasks/${id}${query}`)
  const done = async (fixture: ConformanceFixture, task: object, ack: object = {}): Promise<Json> => {
    await fixture.submit(task)
    const [reserved] = await fixture.reserve('w-1')
    expect(await fixture.settle('w-1', 'ack', reserved, ack)).toEqual({ ok: true })
    return reserved
  }

  it('D110a, D110b: keeps the outcome of a task with retain_seconds until that time is over', async () => {
    const fixture = await withWorker()
    const reserved = await done(fixture, { task_id: 'a', retain_seconds: 90.5 }, { result: { sent: [1, null] } })
    expect(reserved).toMatchObject({ retain: true, retain_seconds: 90.5 })
    const finished = fixture.now
    expect(await state(fixture, 'a')).toEqual({
      task_id: 'a',
      place: 'done',
      attempt: 0,
      worker_id: 'w-1',
      finished_at: finished,
      retained_until: finished + 90.5,
      result: { sent: [1, null] },
    })
    fixture.time.jump(90.5 * SECOND - 1)
    expect(await fixture.place('a')).toBe('done')
    fixture.time.jump(1)
    expect(await fixture.place('a')).toBe('gone')
    const plain = await done(fixture, { task_id: 'b', retain_seconds: 0 }, { result: 'ignored' })
    expect(['retain' in plain, 'retain_seconds' in plain]).toEqual([false, false])
    expect(await fixture.place('b')).toBe('gone')
  })

  it('D110a: says expired when the ttl ends before a worker reserves the task', async () => {
    const fixture = await withWorker()
    await fixture.submit({ task_id: 'a', retain_seconds: 60, ttl_seconds: 5 })
    fixture.time.jump(5 * SECOND)
    expect(await fixture.reserve('w-1')).toEqual([])
    expect(await state(fixture, 'a')).toEqual({
      task_id: 'a',
      place: 'expired',
      attempt: 0,
      finished_at: fixture.now,
      retained_until: fixture.now + 60,
    })
  })

  it('D110c: omits a result above 64 KiB', async () => {
    const fixture = await withWorker()
    const ofBytes = (bytes: number): string => 'x'.repeat(bytes - 2)
    await done(fixture, { task_id: 'fits', retain_seconds: 60 }, { result: ofBytes(65_536) })
    await done(fixture, { task_id: 'large', retain_seconds: 60 }, { result: ofBytes(65_537) })
    await done(fixture, { task_id: 'said', retain_seconds: 60 }, { result_omitted: 'too_large' })
    await done(fixture, { task_id: 'none', retain_seconds: 60 })
    expect((await state(fixture, 'fits')).result).toBe(ofBytes(65_536))
    for (const id of ['large', 'said'])
      expect(await state(fixture, id)).toMatchObject({ result: null, result_omitted: 'too_large' })
    const none = await state(fixture, 'none')
    expect([none.result, 'result_omitted' in none]).toEqual([null, false])
  })

  it('D110d: rejects a wrong retain_seconds', async () => {
    const fixture = await withWorker()
    const good = { payload: { to: 'x' } }
    const bad = [-1, 604_800.5, '60', true].map((seconds) => ({ ...good, retain_seconds: seconds }))
    for (const body of bad) {
      expect(await fixture.status('POST', '/mailer/tasks', body)).toBe(422)
      expect(await fixture.ok('POST', '/mailer/tasks/validate', body)).toMatchObject({ valid: false })
    }
    const tasks = [...bad, { ...good, retain_seconds: 604_800 }, { ...good, retain_seconds: null }]
    const { results } = await fixture.ok('POST', '/mailer/tasks/batch', { tasks })
    expect((results as Json[]).map(({ error, queued }) => error?.status ?? queued)).toEqual([
      422,
      422,
      422,
      422,
      true,
      true,
    ])
  })

  it('D110e: knows the id of a retained outcome', async () => {
    const fixture = await withWorker()
    await done(fixture, { task_id: 'a', retain_seconds: 60 })
    expect(await fixture.submit({ task_id: 'a' })).toEqual({ task_id: 'a', queued: false, duplicate: true })
    fixture.time.jump(60 * SECOND)
    expect(await fixture.submit({ task_id: 'a' })).toMatchObject({ queued: true })
  })

  it('D110f: keeps as many outcomes as the setting allows, those that last longest', async () => {
    const fixture = await withWorker({ maxOutcomes: 2 })
    for (const seconds of [30, 10, 20]) await done(fixture, { task_id: `t${seconds}`, retain_seconds: seconds })
    const places = await Promise.all(['t10', 't20', 't30'].map((id) => fixture.place(id)))
    expect(places).toEqual(['gone', 'done', 'done'])
  })

  it('D110g: shows the error of a dead task, and keeps the first outcome', async () => {
    const fixture = await withWorker()
    await fixture.dead('w-1', { task_id: 'a', retain_seconds: 60 })
    expect(await state(fixture, 'a')).toMatchObject({
      task_id: 'a',
      place: 'dead',
      attempt: 1,
      error: 'failed',
      finished_at: fixture.now,
    })
    const reserved = await done(fixture, { task_id: 'b', retain_seconds: 60 }, { result: 1 })
    expect(await fixture.settle('w-1', 'ack', reserved, { result: 2 })).toEqual({ ok: true })
    expect((await state(fixture, 'b')).result).toBe(1)
  })

  it('D117b, D117c: keeps the outcome of a cancelled task, and returns it to later cancels', async () => {
    const fixture = await withWorker()
    const cancel = (id: string): Promise<Json> => fixture.ok('DELETE', `/mailer/tasks/${id}`)
    await fixture.submit({ task_id: 'a', retain_seconds: 60 })
    await fixture.submit({ task_id: 'b' })
    expect(await cancel('a')).toEqual({ task_id: 'a', outcome: 'cancelled', was: 'pending' })
    await cancel('b')
    expect(await state(fixture, 'a')).toEqual({
      task_id: 'a',
      place: 'cancelled',
      actor: 'admin',
      finished_at: fixture.now,
      retained_until: fixture.now + 60,
    })
    expect(await cancel('a')).toEqual({ task_id: 'a', outcome: 'cancelled' })
    expect(await fixture.status('DELETE', '/mailer/tasks/b')).toBe(404)
    await done(fixture, { task_id: 'c', retain_seconds: 60 })
    expect(await cancel('c')).toEqual({ task_id: 'c', outcome: 'done' })
    expect(
      await fixture.ok('POST', '/mailer/tasks/select', { action: 'cancel', task_ids: ['a', 'b', 'c'] }),
    ).toMatchObject({ results: [{ outcome: 'cancelled' }, { outcome: 'not_found' }, { outcome: 'done' }] })
    expect(await fixture.submit({ task_id: 'a' })).toMatchObject({ queued: false, duplicate: true })
    fixture.time.jump(60 * SECOND)
    expect(await fixture.place('a')).toBe('gone')
    expect(await fixture.submit({ task_id: 'a' })).toMatchObject({ queued: true })
  })

  it('D116a, D116b: finds a task by its id in all types that the token covers', async () => {
    const fixture = await withWorker()
    const find = async (id: string, options = {}): Promise<Json> => {
      const { status, body } = await fixture.call('GET', `${API}/tasks/${id}`, options)
      expect(status).toBe(200)
      return body
    }
    await done(fixture, { task_id: 'a', retain_seconds: 60 }, { result: 1 })
    await fixture.submit({ task_id: 'a' }, 'brief')
    const ofMailer = { automation_type: 'mailer', ...(await state(fixture, 'a')) }
    expect(ofMailer).toMatchObject({ place: 'done', result: 1 })
    expect(await find('a')).toEqual([{ automation_type: 'brief', task_id: 'a', place: 'pending' }, ofMailer])
    expect(await find('a', { token: SCOPED })).toEqual([ofMailer])
    await fixture.submit({ task_id: 'b' }, 'brief')
    expect(await find('b', { token: SCOPED })).toEqual([])
    expect(await find('unknown')).toEqual([])
  })

  it('D116c: lists the tasks of a place, or of all, with what is known there', async () => {
    const fixture = await withWorker()
    await fixture.dead('w-1', { task_id: 'x' })
    await fixture.submit({ task_id: 'a', priority: 1 })
    await fixture.submit({ task_id: 'b', delay_seconds: 60 })
    const [reserved] = await fixture.reserve('w-1')
    expect(reserved.task_id).toBe('a')
    await fixture.submit({ task_id: 'c', labels: { tenant: 'acme' } })
    const all = await fixture.ok('GET', '/mailer/tasks')
    const shared = { attempt: 0, payload: expect.any(Object), submitted_at: expect.any(Number) }
    expect(all).toEqual({
      items: [
        { ...shared, task_id: 'c', place: 'pending', priority: 0, labels: { tenant: 'acme' } },
        {
          ...shared,
          task_id: 'a',
          place: 'in_flight',
          priority: 1,
          worker_id: 'w-1',
          lease_expires_at: expect.any(Number),
        },
        {
          ...shared,
          task_id: 'b',
          place: 'scheduled',
          priority: 0,
          not_before: fixture.now + 60,
          due_at: fixture.now + 60,
        },
        { ...shared, attempt: 1, task_id: 'x', place: 'dead', priority: 0, error: 'failed', finished_at: fixture.now },
      ],
      cursor: null,
      examined: 4,
    })
    const scheduled = await fixture.ok('GET', '/mailer/tasks?place=scheduled')
    expect(scheduled.items.map((item: Json) => item.task_id)).toEqual(['b'])
  })

  it('D116d: lists by labels and text, page by page', async () => {
    const fixture = await withWorker()
    for (let i = 0; i < 20; i += 1)
      await fixture.submit({
        task_id: `t${i}`,
        payload: { to: i === 7 ? 'Say "Ünder"' : 'x' },
        labels: { tenant: i % 2 === 0 ? 'acme' : 'bolt', n: `${i}` },
      })
    const listed = async (query: string): Promise<string[]> => {
      const seen: string[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
        const page: Json = await fixture.ok('GET', `/mailer/tasks?${query}${from}`)
        expect(page.items.length).toBeLessThanOrEqual(3)
        seen.push(...page.items.map((item: Json) => item.task_id))
        cursor = page.cursor
      }
      return seen
    }
    const even = Array.from({ length: 10 }, (_, i) => `t${2 * i}`)
    expect(await listed('limit=3&label=tenant:acme')).toEqual(even)
    expect(await listed('limit=3&label=tenant:acme&label=n:4')).toEqual(['t4'])
    expect(await listed('limit=3&place=dead')).toEqual([])
    expect(await listed(`limit=3&text=${encodeURIComponent('say "üNDER"')}`)).toEqual(['t7'])
    expect(await listed('limit=3&text=T1')).toEqual(['t1', ...Array.from({ length: 10 }, (_, i) => `t1${i}`)])
  })

  it('D116e: rejects a wrong place, label, limit or cursor, and lists no finished tasks', async () => {
    const fixture = await withWorker()
    const wrong = [
      'place=done',
      'label=tenant',
      'label=:x',
      'limit=0',
      'limit=1001',
      'text=',
      'cursor=x',
      'cursor=pending.x.0',
      'place=dead&cursor=pending..0',
    ]
    for (const query of wrong) expect(await fixture.status('GET', `/mailer/tasks?${query}`)).toBe(422)
    expect(await fixture.ok('GET', '/mailer/tasks?cursor=pending.7:0.3')).toMatchObject({ items: [], examined: 0 })
  })

  it('D111a: waits until the task has finished, or until the time is over', async () => {
    const fixture = await withWorker()
    await fixture.submit({ task_id: 'a', retain_seconds: 60 })
    const from = fixture.now
    expect((await passedUntil(fixture, state(fixture, 'a', '?wait_seconds=2'))).place).toBe('pending')
    expect(fixture.now - from).toBeGreaterThanOrEqual(2)
    const [reserved] = await fixture.reserve('w-1')
    const waiting = state(fixture, 'a', '?wait_seconds=30')
    await fixture.pass(SECOND)
    await fixture.settle('w-1', 'ack', reserved, { result: 7 })
    expect(await passedUntil(fixture, waiting)).toMatchObject({ place: 'done', result: 7 })
    expect(await state(fixture, 'a', '?wait_seconds=30')).toMatchObject({ place: 'done' })
    expect(await fixture.status('GET', '/mailer/tasks/nowhere?wait_seconds=30')).toBe(404)
  })

  it('D111b: waits for the first of many tasks', async () => {
    const fixture = await withWorker()
    for (const id of ['a', 'b', 'c']) await fixture.submit({ task_id: id, retain_seconds: 60 })
    const [first] = await fixture.reserve('w-1')
    const waiting = fixture.ok('POST', '/mailer/tasks/await', { task_ids: ['c', 'b', 'a'], wait_seconds: 30 })
    await fixture.pass(SECOND)
    await fixture.settle('w-1', 'nack', first, { permanent: true })
    expect((await passedUntil(fixture, waiting)).results).toMatchObject([
      { task_id: 'c', place: 'pending' },
      { task_id: 'b', place: 'pending' },
      { task_id: 'a', place: 'dead', attempt: 1, error: 'failed', finished_at: expect.any(Number) },
    ])
    const body = { task_ids: ['c', 'nowhere'], wait_seconds: 30 }
    expect((await fixture.ok('POST', '/mailer/tasks/await', body)).results).toEqual([
      { task_id: 'c', place: 'pending' },
      { task_id: 'nowhere', place: null },
    ])
  })

  it('D111d: ends the wait for a task that is cancelled, without waiting for the check of all waits', async () => {
    const fixture = await withWorker()
    await fixture.submit({ task_id: 'a', retain_seconds: 60 })
    await fixture.submit({ task_id: 'b' })
    const waiting = ['a', 'b'].map((id) => fixture.status('GET', `/mailer/tasks/${id}?wait_seconds=30`))
    await fixture.pass(SECOND / 2)
    for (const id of ['a', 'b'])
      expect(await fixture.ok('DELETE', `/mailer/tasks/${id}`)).toMatchObject({ outcome: 'cancelled' })
    expect(await Promise.all(waiting)).toEqual([200, 404]) // No time passes.
  })

  it('D111c: rejects a wrong time and a wrong list', async () => {
    const fixture = await withWorker()
    for (const seconds of ['-1', '30.5', 'x'])
      expect(await fixture.status('GET', `/mailer/tasks/a?wait_seconds=${seconds}`)).toBe(422)
    const many = Array.from({ length: 1_001 }, (_, i) => `t${i}`)
    const bad = [{}, { task_ids: [] }, { task_ids: many }, { task_ids: ['a'], wait_seconds: 31 }, { task_ids: [7] }]
    for (const body of bad) expect(await fixture.status('POST', '/mailer/tasks/await', body)).toBe(422)
    const { status } = await fixture.call('POST', `${API}/automations/nowhere/tasks/await`, {
      body: { task_ids: ['a'] },
    })
    expect(status).toBe(404)
  })
})
