/** Pause and resume of a queue (D106). */
import { expect, it } from '@jest/globals'
import { eventually } from '../kit/index.ts'
import { API, eventuallyMatches, onEachStore, SCOPED, SECOND, type ConformanceFixture, type Json } from './fixture.ts'

const PAUSE = '/mailer/queue/pause'
const queue = (fixture: ConformanceFixture): Promise<Json> => fixture.ok('GET', '/mailer/queue')

onEachStore('pause', (open) => {
  async function withWorker() {
    const fixture = await open()
    await fixture.worker('w-1')
    return fixture
  }

  it('D106a: a paused queue leases nothing until it is resumed, and shows who paused it and why', async () => {
    const fixture = await withWorker()
    const { task_id: id } = await fixture.submit({})
    const paused = { note: 'mail server is down', actor: 'admin ana', since: fixture.now, until: null }
    const headers = { 'muster-actor': 'ana' }
    expect(await fixture.ok('PUT', PAUSE, { note: 'mail server is down' }, { headers })).toEqual({ paused })
    expect(await fixture.reserve('w-1')).toEqual([])
    expect(await queue(fixture)).toMatchObject({ length: 1, paused, items: [{ id }] })
    const { body } = await fixture.call('GET', `${API}/overview`)
    expect(body.automations.mailer.queue).toMatchObject({ normal: 1, paused })
    expect(body.automations.brief.queue).not.toHaveProperty('paused')
    expect(await fixture.metric('svc_queue_paused{automation_type="mailer"}')).toBe('1')
    expect(await fixture.metric('svc_queue_paused{automation_type="brief"}')).toBe('0')
    expect(await fixture.ok('DELETE', PAUSE)).toEqual({ paused: null })
    expect(await queue(fixture)).not.toHaveProperty('paused')
    expect(await fixture.reserve('w-1')).toMatchObject([{ task_id: id }])
    expect(await fixture.ok('DELETE', PAUSE)).toEqual({ paused: null })
    await fixture.pass(6 * SECOND)
    expect(await fixture.metric('svc_queue_paused{automation_type="mailer"}')).toBe('0')
  })

  it('D106b: until or seconds end a pause without a call, and a waiting reserve gets the task', async () => {
    const fixture = await withWorker()
    const until = fixture.now + 10
    expect(await fixture.ok('PUT', PAUSE, { until })).toMatchObject({ paused: { note: null, until } })
    const { task_id: first } = await fixture.submit({})
    let tasks: Json[] | null = null
    const waiting = fixture.rpc('w-1', 'tasks.reserve', { limit: 1, wait_ms: 30_000 }).then((answer) => {
      tasks = answer.tasks
    })
    await fixture.pass(9 * SECOND, SECOND)
    expect(tasks).toBeNull()
    await eventually(async () => {
      await fixture.time.advance(SECOND / 2)
      return tasks !== null
    })
    await waiting
    expect(tasks).toMatchObject([{ task_id: first }])
    expect(await queue(fixture)).not.toHaveProperty('paused')
    const { paused } = await fixture.ok('PUT', PAUSE, { seconds: 90.5 })
    expect(paused.until - paused.since).toBeCloseTo(90.5, 1)
    const again = await fixture.ok('PUT', PAUSE, { note: null, until: null, seconds: null })
    expect(again).toEqual({ paused: { ...paused, until: null } })
  })

  it('D106c: submits, settles and due tasks continue while the queue is paused, and tasks expire', async () => {
    const fixture = await withWorker()
    for (let i = 0; i < 2; i += 1) await fixture.submit({})
    const [done, failed] = await fixture.reserve('w-1', 2)
    await fixture.ok('PUT', PAUSE)
    expect(await fixture.settle('w-1', 'ack', done)).toEqual({ ok: true })
    expect(await fixture.settle('w-1', 'nack', failed, { retry_in_ms: 0 })).toMatchObject({ outcome: 'scheduled' })
    const { task_id: late } = await fixture.submit({ delay_seconds: 5 })
    await fixture.submit({ ttl_seconds: 10 })
    await fixture.pass(15 * SECOND)
    expect(await fixture.reserve('w-1', 10)).toEqual([])
    expect(await fixture.place(late)).toBe('pending')
    await fixture.ok('DELETE', PAUSE)
    const tasks = await fixture.reserve('w-1', 10)
    expect(new Set(tasks.map(({ task_id }: Json) => task_id))).toEqual(new Set([failed.task_id, late]))
  })

  it('D106d: rejects a wrong body or actor, and a type without a queue', async () => {
    const fixture = await withWorker()
    for (const body of [
      { until: fixture.now + 10, seconds: 10 },
      { until: fixture.now - 10 },
      { until: fixture.now + 31_536_100 },
      { seconds: 0 },
      { seconds: 31_536_001 },
      { note: '' },
      { note: 'x'.repeat(257) },
      { reason: 'x' },
    ])
      expect([body, await fixture.status('PUT', PAUSE, body)]).toEqual([body, 422])
    expect(await queue(fixture)).not.toHaveProperty('paused')
    expect(await fixture.status('PUT', '/probe/queue/pause', {})).toBe(400)
    expect(await fixture.status('PUT', '/nowhere/queue/pause', {})).toBe(404)
    for (const method of ['PUT', 'DELETE'] as const) {
      const headers = { 'muster-actor': 'x'.repeat(129) }
      const { status, body } = await fixture.call(method, `${API}/automations${PAUSE}`, { headers })
      expect({ method, status, path: body.detail[0].path }).toEqual({
        method,
        status: 422,
        path: '/headers/Muster-Actor',
      })
    }
  })

  it('D106e: publishes who paused and who resumed the queue', async () => {
    const fixture = await withWorker()
    const stream = await fixture.listen(`${API}/events`, { token: SCOPED })
    await fixture.ok('PUT', PAUSE, { note: 'n' }, { headers: { 'muster-actor': 'ana' } })
    await fixture.ok('DELETE', PAUSE, undefined, { headers: { 'muster-actor': 'bob' } })
    await fixture.ok('DELETE', PAUSE)
    const events = async (): Promise<Json[]> => {
      await fixture.time.advance(SECOND)
      return stream
        .text()
        .split('\n\n')
        .filter((each) => /^event: queue\.(paused|resumed)$/m.test(each))
        .map((each) => ({
          name: /^event: (.*)$/m.exec(each)?.[1],
          ...JSON.parse(/^data: (.*)$/m.exec(each)?.[1] ?? ''),
        }))
    }
    await eventuallyMatches(async () => ({ seen: (await events()).length }), { seen: 2 })
    expect(await events()).toMatchObject([
      { name: 'queue.paused', type: 'mailer', paused: { note: 'n', actor: 'admin ana', until: null } },
      { name: 'queue.resumed', type: 'mailer', actor: 'admin bob' },
    ])
  })
})
