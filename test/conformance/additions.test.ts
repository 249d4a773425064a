/** Additions to the contract: overview, dry runs, selection, events, claims. */
import { expect, it } from '@jest/globals'
import {
  API,
  eventuallyMatches,
  onEachStore,
  OTHER,
  SCOPED,
  SECOND,
  type Json,
  type Listening,
  type ConformanceFixture,
} from './fixture.ts'
import { eventually } from '../kit/index.ts'
import { rolloutReport } from '../kit/rollout-report.ts'

interface Event {
  readonly id: string
  readonly name: string
  readonly data: Json
}

/** Parses the events of a stream. */
function eventsOf({ text }: Listening): Event[] {
  return text()
    .split('\n\n')
    .flatMap((block) => {
      const field = (name: string): string | undefined =>
        block
          .split('\n')
          .find((line) => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .trim()
      const data = field('data')
      return data === undefined ? [] : [{ id: field('id') ?? '', name: field('event') ?? '', data: JSON.parse(data) }]
    })
}

onEachStore('additions', (open) => {
  const withWorker = async (options = {}): Promise<ConformanceFixture> => {
    const fixture = await open(options)
    await fixture.worker('w-1')
    return fixture
  }
  /** Waits for the newest event of this name. The master publishes events in batches, so the test advances the time. */
  const received = async (fixture: ConformanceFixture, stream: Listening, name: string): Promise<Event> => {
    await eventually(async () => {
      await fixture.time.advance(50)
      return eventsOf(stream).some((event) => event.name === name)
    })
    return eventsOf(stream).findLast((event) => event.name === name) as Event
  }

  it('D48a: summarizes the fleet, limited to the types of the token', async () => {
    const fixture = await withWorker()
    const worker = await fixture.worker('w-2')
    worker.state({ state: 'RUNNING' })
    worker.stats({ slots: 3 })
    await eventuallyMatches(() => fixture.record('w-2'), { state: 'RUNNING' })
    await eventually(async () => (await fixture.record('w-2')).current_stats !== null)
    await fixture.dead('w-1')
    for (const priority of [1, 0, 0, -1]) await fixture.submit({ priority })
    const { status, body } = await fixture.call('GET', `${API}/overview`)
    expect([status, typeof body.ts, Object.keys(body.automations).toSorted()]).toEqual([
      200,
      'number',
      ['brief', 'mailer', 'probe'],
    ])
    expect(body.automations.mailer).toEqual({
      kind: 'BatchAutomation',
      workers: {
        total: 2,
        connected: 2,
        behind: expect.any(Number),
        IDLE: 1,
        RUNNING: 1,
        ERROR: 0,
        DRAINING: 0,
        connected_in_error: 0,
      },
      slots: 3,
      queue: { high: 1, normal: 2, low: 1, in_flight: 0, scheduled: 0, dead: 1, oldest_submitted_at: fixture.now },
      stream: { length: 0 },
    })
    expect(body.automations.probe).toMatchObject({ kind: 'ContinuousAutomation', queue: null, workers: { total: 0 } })
    expect(Object.keys((await fixture.call('GET', `${API}/overview`, { token: SCOPED })).body.automations)).toEqual([
      'mailer',
    ])
  })

  it('D48b: samples the queue every 15 s, oldest first, with running totals', async () => {
    const fixture = await withWorker()
    for (let i = 0; i < 3; i += 1) await fixture.submit({})
    const [task] = await fixture.reserve('w-1')
    await fixture.settle('w-1', 'ack', task)
    await fixture.pass(31 * SECOND)
    await eventually(async () => (await fixture.ok('GET', '/mailer/queue/stats')).length >= 2)
    const rows = await fixture.ok('GET', '/mailer/queue/stats')
    expect(rows.at(-1)).toEqual({
      ts: expect.any(Number),
      high: 0,
      normal: 2,
      low: 0,
      in_flight: 0,
      scheduled: 0,
      dead: 0,
      submitted: 3,
      acked: 1,
      nacked: 0,
      died: 0,
    })
    const times = rows.map(({ ts }: Json) => ts)
    expect(times).toEqual(times.toSorted((a: number, b: number) => a - b))
    expect(await fixture.ok('GET', '/mailer/queue/stats?limit=1')).toEqual([rows.at(-1)])
    expect(await fixture.ok('GET', `/mailer/queue/stats?since=${times.at(-1)}`)).toEqual([rows.at(-1)])
    for (const query of ['limit=0', 'limit=10001', 'since=-1'])
      expect([query, await fixture.status('GET', `/mailer/queue/stats?${query}`)]).toEqual([query, 422])
  })

  it('D49a: validates a PATCH without changing anything', async () => {
    const fixture = await withWorker()
    const validate = (body: unknown): Promise<Json> => fixture.ok('POST', '/mailer/workers/w-1/config/validate', body)
    expect(await validate({ slots: 5 })).toEqual({ valid: true, errors: [], changed: ['slots'] })
    expect(await validate({ slots: 'x', colour: 1 })).toMatchObject({
      valid: false,
      errors: expect.arrayContaining([
        expect.objectContaining({ path: '/slots', message: expect.any(String), keyword: expect.any(String) }),
      ]),
    })
    expect(await fixture.record('w-1')).toMatchObject({ config_gen: 0, config: { slots: 1 } })
    expect(await fixture.status('POST', '/mailer/workers/unknown/config/validate', {})).toBe(404)
  })

  it('D49b: validates a submit without queueing it or counting it against a rate limit', async () => {
    const fixture = await withWorker({ submitRpsPerToken: 1 })
    const validate = (body: unknown): Promise<Json> => fixture.ok('POST', '/mailer/tasks/validate', body)
    for (let i = 0; i < 5; i += 1)
      expect(await validate({ payload: { to: 'x' }, priority: 3 })).toMatchObject({ valid: true, errors: [] })
    expect(await validate({ payload: {} })).toMatchObject({
      valid: false,
      errors: [expect.objectContaining({ path: expect.stringMatching(/^\/payload/) })],
    })
    expect((await fixture.ok('GET', '/mailer/queue')).length).toBe(0)
    expect((await fixture.submit({})).queued).toBe(true)
    expect(await fixture.status('POST', '/probe/tasks/validate', { payload: {} })).toBe(400)
  })

  it('D50a: replays or removes only the named dead tasks', async () => {
    const fixture = await withWorker()
    for (const id of ['a', 'b', 'c']) await fixture.dead('w-1', { task_id: id })
    const select = (action: string, ids: readonly string[]): Promise<Json> =>
      fixture.ok('POST', '/mailer/dead/select', { action, task_ids: ids })
    expect(await select('replay', ['b', 'unknown'])).toEqual({
      results: [
        { task_id: 'b', outcome: 'replayed' },
        { task_id: 'unknown', outcome: 'not_dead' },
      ],
    })
    expect(await select('remove', ['c'])).toEqual({ results: [{ task_id: 'c', outcome: 'removed' }] })
    expect([await fixture.place('a'), await fixture.place('b'), await fixture.place('c')]).toEqual([
      'dead',
      'pending',
      'gone',
    ])
    for (const body of [{ action: 'replay', task_ids: [] }, { action: 'keep', task_ids: ['a'] }, { action: 'replay' }])
      expect(await fixture.status('POST', '/mailer/dead/select', body)).toBe(422)
  })

  it('D31a, D51a: publishes changes, and continues behind the last event', async () => {
    const fixture = await open()
    const stream = await fixture.listen(`${API}/events`)
    expect([stream.status, stream.contentType]).toEqual([200, expect.stringMatching(/^text\/event-stream/)])
    const worker = await fixture.worker('w-1')
    expect(await received(fixture, stream, 'worker.registered')).toMatchObject({
      id: expect.stringMatching(/./),
      data: { type: 'mailer', worker_id: 'w-1', ts: expect.any(Number) },
    })
    worker.state({ state: 'RUNNING' })
    expect((await received(fixture, stream, 'worker.state')).data).toMatchObject({ worker_id: 'w-1', state: 'RUNNING' })
    await fixture.patch('w-1', { slots: 2, password: 'hunter2' })
    const changed = await received(fixture, stream, 'worker.config_changed')
    expect(changed.data).toMatchObject({ worker_id: 'w-1', config_gen: 1 })
    worker.state({ state: 'RUNNING', config_gen: 1 })
    expect((await received(fixture, stream, 'worker.config_applied')).data).toMatchObject({ worker_id: 'w-1' })
    stream.end()
    await fixture.ok('POST', '/mailer/workers/w-1/drain')
    const again = await fixture.listen(`${API}/events`, { headers: { 'last-event-id': changed.id } })
    await received(fixture, again, 'worker.draining')
    expect(eventsOf(again).map(({ name }) => name)).not.toContain('worker.registered')
    worker.socket.terminate()
    await received(fixture, again, 'worker.disconnected')
    await fixture.ok('DELETE', '/mailer/workers/w-1')
    await received(fixture, again, 'worker.forgotten')
    expect(stream.text() + again.text()).not.toContain('hunter2')
    const lost = await fixture.listen(`${API}/events`, { headers: { 'last-event-id': 'nowhere' } })
    await received(fixture, lost, 'reset')
  })

  it('D31c: publishes to a scoped token only the events of its types', async () => {
    const fixture = await open()
    const [mine, others] = [
      await fixture.listen(`${API}/events`, { token: SCOPED }),
      await fixture.listen(`${API}/events`, { token: OTHER }),
    ]
    await fixture.worker('w-1')
    await fixture.worker('p-1', { type: 'probe' })
    await received(fixture, mine, 'worker.registered')
    await received(fixture, others, 'worker.registered')
    expect([
      eventsOf(mine).filter(({ data }) => data.type === 'probe'),
      eventsOf(others).filter(({ data }) => data.type === 'mailer'),
    ]).toEqual([[], []])
  })

  it('D31b, D51b: records the manager of a config, and still accepts PATCHes of others', async () => {
    const fixture = await withWorker()
    const claim = `/mailer/workers/w-1/claim`
    expect(await fixture.ok('PUT', claim, { managed_by: 'kubernetes:fleet/w-1' })).toMatchObject({
      worker_id: 'w-1',
      managed_by: 'kubernetes:fleet/w-1',
      config_gen: 0,
    })
    expect(await fixture.ok('PUT', claim, { managed_by: 'other' })).toMatchObject({ managed_by: 'other' })
    expect(await fixture.patch('w-1', { slots: 2 })).toMatchObject({ config_gen: 1 })
    for (const bad of ['', 'x'.repeat(129), 'é', 7])
      expect([bad, await fixture.status('PUT', claim, { managed_by: bad })]).toEqual([bad, 422])
    for (let time = 0; time < 2; time += 1) expect([200, 204]).toContain(await fixture.status('DELETE', claim))
    expect(await fixture.record('w-1')).toMatchObject({ managed_by: null, config_gen: 1 })
    expect(await fixture.status('PUT', '/mailer/workers/unknown/claim', { managed_by: 'x' })).toBe(404)
  })

  it('D66: lets a scoped token change a claim only as its holder or with force, and an admin always', async () => {
    const fixture = await withWorker()
    const [claim, holder] = ['/mailer/workers/w-1/claim', 'kubernetes:fleet/w-1#01234567']
    const scoped = async (
      method: string,
      more: { query?: string; body?: object; actor?: string } = {},
    ): Promise<number> =>
      (
        await fixture.call(method, `${API}/automations${claim}${more.query ?? ''}`, {
          token: SCOPED,
          body: more.body,
          headers: more.actor === undefined ? {} : { 'muster-actor': more.actor },
        })
      ).status
    const managedBy = async (): Promise<unknown> => (await fixture.record('w-1'))['managed_by']
    expect([
      await scoped('PUT', { body: { managed_by: holder } }),
      await scoped('PUT', { body: { managed_by: holder } }),
    ]).toEqual([200, 200])
    const refused = await fixture.call('PUT', `${API}/automations${claim}`, {
      token: SCOPED,
      body: { managed_by: 'mine' },
    })
    expect([refused.status, refused.text.replaceAll('\\', '')]).toEqual([
      409,
      expect.stringMatching(/is managed by "kubernetes:fleet\/w-1#01234567"; use an admin token, or add \?force=true/),
    ])
    expect([
      await scoped('DELETE'),
      await scoped('PUT', { body: { managed_by: 'mine' }, actor: 'mine' }),
      await scoped('PUT', { query: '?force=false', body: { managed_by: 'mine' } }),
    ]).toEqual([409, 409, 409])
    expect(await managedBy()).toBe(holder)
    expect([await scoped('PUT', { query: '?force=true', body: { managed_by: 'mine' } }), await managedBy()]).toEqual([
      200,
      'mine',
    ])
    expect([
      await scoped('PUT', { body: { managed_by: 'next' }, actor: 'mine' }),
      await scoped('DELETE', { actor: 'next' }),
      await managedBy(),
    ]).toEqual([200, 200, null])
    await scoped('PUT', { body: { managed_by: holder } })
    expect([
      await fixture.status('PUT', claim, { managed_by: 'admin' }),
      await scoped('DELETE', { query: '?force=true' }),
      await managedBy(),
    ]).toEqual([200, 200, null])
    expect(await scoped('PUT', { query: '?force=perhaps', body: { managed_by: 'mine' } })).toBe(422)
  })

  it('D141a: a rule gives its revision to a worker that registers for the first time, and to no other', async () => {
    const fixture = await open()
    const type = `${API}/automations/mailer`
    await fixture.worker('w-0')
    await fixture.call('PUT', `${type}/revisions/r1`, { body: { config: { enabled: true } } })
    const rule = { id_patterns: ['w-?'], revision: 'r1', patch: { slots: 3 }, variant: 'v1', managed_by: 'set:a' }
    expect((await fixture.call('PUT', `${type}/enrolments/e1`, { body: rule })).status).toBe(200)
    for (const id of ['w-0', 'w-1', 'w-10']) await fixture.worker(id)
    const plain = { config_revision: null, managed_by: null, config: { enabled: false, slots: 1 } }
    expect(await fixture.record('w-0')).toMatchObject(plain)
    expect(await fixture.record('w-1')).toMatchObject({
      config_revision: 'r1/v1',
      managed_by: 'set:a',
      config: { enabled: true, slots: 3 },
    })
    expect(await fixture.record('w-10')).toMatchObject(plain)
  })

  it('D148a: a report of a rollout is stored, listed with the time of the master, replaced and removed', async () => {
    const fixture = await open()
    const rollouts = `${API}/automations/mailer/rollouts`
    const list = async (): Promise<Json[]> => (await fixture.call('GET', rollouts)).body.rollouts
    const put = (more: object) => fixture.call('PUT', `${rollouts}/s1`, { body: { ...rolloutReport(), ...more } })
    expect((await put({ limit: 3 })).body).toMatchObject({ rollout: 's1', limit: 3, update_revision: 'r2' })
    const [first] = await list()
    expect(first).toMatchObject({ rollout: 's1', reported_at: expect.any(Number), set: { name: 'crawlers' } })
    expect((await put({ limit: 4 })).status).toBe(200)
    expect(await list()).toMatchObject([{ rollout: 's1', limit: 4 }])
    expect((await put({ unknown: 1 })).status).toBe(422)
    expect(await fixture.status('DELETE', '/mailer/rollouts/s1')).toBe(200)
    expect(await fixture.status('DELETE', '/mailer/rollouts/s1')).toBe(404)
    expect(await list()).toEqual([])
  })

  it('D148b: another revision, attempt, phase or stage, and a removal, is an event; a count is none', async () => {
    const fixture = await open()
    const path = `${API}/automations/mailer/rollouts/s1`
    const stream = await fixture.listen(`${API}/events`)
    const { counts } = rolloutReport()
    for (const more of [{}, { counts: { ...counts, updated: 9 } }, { stage: 2 }])
      await fixture.call('PUT', path, { body: { ...rolloutReport(), ...more } })
    await fixture.call('DELETE', path)
    const of = (phase: string, stage: number) => ({ set: 'prod/crawlers', revision: 'r2', phase, stage })
    const changes = () => eventsOf(stream).filter(({ name }) => name === 'rollout.changed')
    await eventually(async () => {
      await fixture.time.advance(50)
      return changes().length >= 3
    })
    expect(changes().map(({ data }) => data)).toMatchObject([of('Baking', 1), of('Baking', 2), of('Removed', 2)])
  })

  it('D148c: the overview shows the rollouts of a type where there are any', async () => {
    const fixture = await open()
    await fixture.call('PUT', `${API}/automations/mailer/rollouts/s1`, { body: rolloutReport() })
    const { mailer, brief } = (await fixture.call('GET', `${API}/overview`)).body.automations
    expect(mailer.rollouts).toEqual([
      {
        name: 's1',
        set: 'prod/crawlers',
        phase: 'Baking',
        paused: false,
        since: rolloutReport().since,
        stage: 1,
        stages: 3,
      },
    ])
    expect(Object.keys(brief)).not.toContain('rollouts')
  })

  it('D171a: an acknowledgement of the attention list is stored, listed, replaced, ended and removed', async () => {
    const fixture = await open()
    const path = `${API}/automations/mailer/acknowledgements/error`
    const list = async (): Promise<Json[]> =>
      (await fixture.call('GET', `${API}/acknowledgements`)).body.acknowledgements
    expect((await fixture.call('PUT', path, { body: { note: 'seen', count: 2, mark: 'ECONNREFUSED' } })).status).toBe(
      200,
    )
    const stored = { type: 'mailer', item: 'error', actor: 'admin', note: 'seen', count: 2, mark: 'ECONNREFUSED' }
    expect(await list()).toMatchObject([{ ...stored, until: null, until_change: false }])
    expect((await fixture.call('GET', `${API}/automations/mailer/rollouts`)).body.rollouts).toEqual([])
    expect((await fixture.call('PUT', path, { body: { seconds: 60 } })).status).toBe(200)
    expect(await list()).toMatchObject([{ item: 'error', note: null, count: 0 }])
    await fixture.time.advance(61_000)
    expect(await list()).toEqual([])
    expect(await fixture.status('DELETE', '/mailer/acknowledgements/error')).toBe(200)
    expect(await fixture.status('DELETE', '/mailer/acknowledgements/error')).toBe(404)
  })

  it('D142a: the record shows an orderly end, close code 4100, until the next register, in both views', async () => {
    const fixture = await open()
    const path = `${API}/automations/mailer/workers/w-1`
    for (const [code, ended] of [
      [4100, true],
      [1000, false],
    ] as const) {
      const worker = await fixture.worker('w-1')
      expect(await fixture.record('w-1')).toMatchObject({ connected: true, ended: false })
      worker.socket.close(code)
      await worker.closed
      await eventuallyMatches(() => fixture.record('w-1'), { connected: false, ended })
      expect((await fixture.call('GET', `${path}?view=summary`)).body).toMatchObject({ ended })
    }
  })

  it('D136a: the record shows the labels of the newest register, in both views', async () => {
    const fixture = await open()
    const labels = { zone: 'eu-1', 'example.com/tier': '' }
    const worker = await fixture.connect('w-1')
    worker.register({ labels })
    await worker.received()
    expect(await fixture.record('w-1')).toMatchObject({ labels })
    expect((await fixture.call('GET', `${API}/automations/mailer/workers/w-1?view=summary`)).body).toMatchObject({
      labels,
    })
    await fixture.worker('w-2')
    expect((await fixture.record('w-2')).labels).toEqual({})
    await fixture.worker('w-1')
    expect((await fixture.record('w-1')).labels).toEqual({})
  })

  it('D136b: labels outside of their bounds close the connection with 1007, naming the label', async () => {
    const fixture = await open()
    for (const [labels, pointer] of [
      [{ Zone: 'eu-1' }, '/labels/Zone'],
      [{ zone: 'ü' }, '/labels/zone'],
      [{ zone: 'v'.repeat(64) }, '/labels/zone'],
      [Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, ''])), '/labels'],
    ] as const) {
      const worker = await fixture.connect('w-1')
      worker.register({ labels })
      expect(await worker.closed).toEqual({ code: 1007, reason: expect.stringContaining(`${pointer}: `) })
    }
    expect(await fixture.status('GET', `${API}/automations/mailer/workers/w-1`)).toBe(404)
  })

  it('D136c: worker.connected names the labels of the worker', async () => {
    const fixture = await open()
    const stream = await fixture.listen(`${API}/events`)
    const worker = await fixture.connect('w-1')
    worker.register({ labels: { zone: 'eu-1' } })
    await worker.received()
    expect((await received(fixture, stream, 'worker.connected')).data).toMatchObject({ labels: { zone: 'eu-1' } })
  })

  it('D137b: the record shows tasks_held and refused_config_gen of the newest statistics, in both views', async () => {
    const fixture = await withWorker()
    const none = { tasks_held: null, refused_config_gen: null }
    expect(await fixture.record('w-1')).toMatchObject(none)
    const worker = await fixture.worker('w-2')
    worker.stats({ metrics: { 'gauge.muster.tasks_held': 3, 'gauge.muster.refused_config_gen': 7 } })
    const shown = { tasks_held: 3, refused_config_gen: 7 }
    await eventuallyMatches(() => fixture.record('w-2'), shown)
    expect((await fixture.call('GET', `${API}/automations/mailer/workers/w-2?view=summary`)).body).toMatchObject(shown)
    worker.stats({ metrics: {} })
    await eventuallyMatches(() => fixture.record('w-2'), none)
  })
})
