/** Groups of tasks (D119, G30). */
import { expect, it } from '@jest/globals'
import { eventually } from '../kit/index.ts'
import { API, onEachStore, SECOND, type ConformanceFixture, type Json } from './fixture.ts'

type Groups = Parameters<Parameters<Parameters<typeof onEachStore>[1]>[0]>[1]

onEachStore('groups of tasks', (open) => {
  async function withWorker(groups: Groups): Promise<ConformanceFixture> {
    const fixture = await open({}, groups)
    await fixture.worker('c-1', { type: 'courier' })
    return fixture
  }
  const submit = (fixture: ConformanceFixture, id: string, group: string | null, more: object = {}): Promise<Json> =>
    fixture.submit({ task_id: id, group_key: group, ...more }, 'courier')
  const idsOf = (tasks: readonly Json[]): readonly string[] => tasks.map(({ task_id: id }) => id)
  const take = async (fixture: ConformanceFixture, limit = 1): Promise<readonly string[]> =>
    idsOf(await fixture.reserve('c-1', limit, 'courier'))
  function poll(fixture: ConformanceFixture) {
    const seen: { tasks: Json[] | null } = { tasks: null }
    const params = { limit: 1, wait_ms: 30_000 }
    const done = fixture.rpc('c-1', 'tasks.reserve', params, 'courier').then(({ tasks }) => void (seen.tasks = tasks))
    return { seen, done }
  }

  it('D119a: takes turns, with tiers and the order of submits inside a group', async () => {
    const fixture = await withWorker({})
    for (const id of ['a1', 'a2', 'a3']) await submit(fixture, id, 'a')
    await submit(fixture, 'a4', 'a', { priority: 1 })
    await submit(fixture, 'b1', 'b')
    await submit(fixture, 'none', null)
    expect(await take(fixture, 4)).toEqual(['none', 'a4', 'b1', 'a1'])
    await submit(fixture, 'b2', 'b', { priority: -1 })
    expect((await take(fixture, 10)).toSorted()).toEqual(['a2', 'a3', 'b2'])
  })

  it('D119b: leases up to max_in_flight tasks of a group, and the next right after the end of one (G30)', async () => {
    const fixture = await withWorker({ maxInFlight: 1 })
    for (const id of ['a1', 'a2', 'a3', 'a4']) await submit(fixture, id, 'a')
    const [first] = await fixture.reserve('c-1', 5, 'courier')
    expect(first).toMatchObject({ task_id: 'a1', group_key: 'a' })
    const ends: readonly ((task: Json) => Promise<unknown>)[] = [
      (task) => fixture.settle('c-1', 'ack', task, {}, 'courier'),
      (task) => fixture.settle('c-1', 'nack', task, { permanent: true }, 'courier'),
      ({ task_id: id }) => fixture.ok('DELETE', `/courier/tasks/${id}`),
    ]
    let running: Json = first
    for (const end of ends) {
      const { seen, done } = poll(fixture)
      await fixture.pass(SECOND / 10, SECOND / 10)
      expect(seen.tasks).toBeNull()
      await end(running)
      await done // No tick: no time passes.
      running = seen.tasks?.[0]
    }
    expect(running.task_id).toBe('a4')
  })

  it('D119h: counts the groups by what they wait for, without a series for each', async () => {
    const fixture = await withWorker({ maxInFlight: 1, rate: { tasks: 1, perSeconds: 60, burst: 1 } })
    const shown = async (): Promise<readonly (string | undefined)[]> => {
      await fixture.pass(5 * SECOND, SECOND) // The numbers are read at most every 5 s.
      const names = ['ready', 'rate_limited', 'in_flight'].map(
        (name) => `svc_groups_${name}{automation_type="courier"}`,
      )
      return Promise.all(names.map((name) => fixture.metric(name)))
    }
    expect(await shown()).toEqual(['0', '0', '0'])
    for (const id of ['a1', 'a2', 'b1', 'c1']) await submit(fixture, id, id.charAt(0))
    expect(await shown()).toEqual(['3', '0', '0'])
    const [first] = await fixture.reserve('c-1', 2, 'courier')
    expect(await shown()).toEqual(['1', '0', '2'])
    await fixture.settle('c-1', 'ack', first, {}, 'courier')
    expect(await take(fixture)).toEqual(['c1'])
    expect(await take(fixture)).toEqual([]) // A store may find only in a reserve that the rate of `a` permits no start.
    expect(await shown()).toEqual(['0', '1', '2'])
    const { text } = await fixture.call('GET', '/metrics', { token: null })
    expect(text).not.toMatch(/^svc_groups_\w+\{.*(?:mailer|group_key)/m)
  })

  it('D119c: starts at most burst tasks at a time, and then one when the rate permits it (G30)', async () => {
    const fixture = await withWorker({ rate: { tasks: 2, perSeconds: 20, burst: 2 } })
    for (const id of ['a1', 'a2', 'a3', 'a4']) await submit(fixture, id, 'a')
    const startedAt = fixture.now
    expect(await take(fixture, 5)).toEqual(['a1', 'a2'])
    const { groups } = await fixture.ok('GET', '/courier/queue')
    expect(groups).toEqual([
      { group_key: 'a', pending: 2, in_flight: 2, next_start_at: expect.closeTo(startedAt + 10) },
    ])
    const { seen, done } = poll(fixture)
    await fixture.pass(9 * SECOND, SECOND)
    expect(seen.tasks).toBeNull()
    await eventually(async () => {
      await fixture.time.advance(SECOND / 2)
      return seen.tasks !== null
    })
    await done
    expect(idsOf(seen.tasks ?? [])).toEqual(['a3'])
    expect(fixture.now - startedAt).toBeLessThan(13)
    expect(await take(fixture, 5)).toEqual([])
  })

  it('D119d: rejects wrong names, and a group for a type without groups', async () => {
    const fixture = await withWorker({})
    const faulty = ['', 7, {}, 'a\nb', '\u0000', 'x'.repeat(257)].map((group) => ['courier', group] as const)
    for (const [type, group] of [...faulty, ['brief', 'a'] as const]) {
      const task = { payload: {}, group_key: group }
      const single = await fixture.call('POST', `${API}/automations/${type}/tasks`, { body: task })
      expect([single.status, single.body.detail[0].path]).toEqual([422, '/group_key'])
      const { results } = await fixture.ok('POST', `/${type}/tasks/batch`, { tasks: [task, { payload: {} }] })
      expect(results).toMatchObject([{ error: { status: 422 } }, { queued: true }])
      expect(await fixture.ok('POST', `/${type}/tasks/validate`, task)).toMatchObject({ valid: false })
    }
    const anything = ['__proto__', '{a}:*"\'\\', 'é😀', ' ', 'x'.repeat(256)]
    for (const group of anything) await submit(fixture, group, group)
    const tasks = await fixture.reserve('c-1', 50, 'courier')
    const grouped = tasks.filter(({ group_key: group }) => group !== undefined)
    expect(new Set(grouped.map(({ group_key: group }) => group))).toEqual(new Set(anything))
    expect(grouped).toHaveLength(anything.length)
    expect(grouped.every(({ task_id: id, group_key: group }) => id === group)).toBe(true)
  })

  it('D119e: shows the group of a task wherever the task is', async () => {
    const fixture = await withWorker({ maxInFlight: 1, rate: { tasks: 1, perSeconds: 0.5 } })
    const { queue } = await fixture.ok('GET', '/../catalog/courier')
    expect(queue.groups).toEqual({ max_in_flight: 1, rate: { tasks: 1, per_seconds: 0.5 } })
    expect((await fixture.ok('GET', '/../catalog/brief')).queue).not.toHaveProperty('groups')
    expect(await fixture.ok('GET', '/brief/queue')).not.toHaveProperty('groups')
    expect(await fixture.ok('GET', '/courier/queue')).toMatchObject({ length: 0, groups: [] })
    await submit(fixture, 't', 'acme', { unique_key: 'u', labels: { a: 'b' } })
    const shown = { task_id: 't', group_key: 'acme' }
    const row = { group_key: 'acme', pending: 1, in_flight: 0 }
    const { items, groups } = await fixture.ok('GET', '/courier/queue')
    expect([groups, items]).toEqual([[row], [expect.objectContaining({ id: 't', group_key: 'acme' })]])
    expect(await fixture.ok('GET', '/courier/tasks/t')).toEqual({ ...shown, place: 'pending' })
    expect((await fixture.ok('GET', '/courier/tasks')).items).toMatchObject([shown])
    const [task] = await fixture.reserve('c-1', 1, 'courier')
    expect(task).toMatchObject(shown)
    expect(await fixture.ok('GET', '/courier/tasks/t')).toMatchObject({ ...shown, place: 'in_flight' })
    expect((await fixture.ok('GET', '/courier/queue')).groups).toEqual([{ ...row, pending: 0, in_flight: 1 }])
    await fixture.settle('c-1', 'nack', task, { permanent: true }, 'courier')
    expect((await fixture.ok('GET', '/courier/dead')).items).toMatchObject([{ id: 't', group_key: 'acme' }])
    expect((await fixture.ok('GET', '/courier/queue')).groups).toEqual([])
    await fixture.ok('POST', '/courier/dead/replay', {})
    await fixture.pass(SECOND)
    expect(await fixture.reserve('c-1', 1, 'courier')).toMatchObject([shown])
  })
})
