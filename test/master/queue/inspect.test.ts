import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { QueueFixture } from './fixture.ts'

let fixture: QueueFixture
beforeEach(async () => {
  fixture = await QueueFixture.open()
  await fixture.workers(['w'])
})
afterEach(() => fixture.close())

const ids = (json: unknown): string[] => (json as { items: { id: string }[] }).items.map(({ id }) => id)

/** Moves a task to the dead letters. */
async function die(id: string, error = 'boom'): Promise<void> {
  await fixture.submit('a@b', { task_id: id })
  const [lease] = await fixture.take('w')
  await fixture.rpc('w', 'tasks.nack', { tasks: [{ task_id: id, token: lease?.token ?? 0, error, permanent: true }] })
}

describe('reading the queue', () => {
  it('lists high, then normal, then low, first in, first out within a tier; length counts all tasks', async () => {
    for (const [id, priority] of [
      ['n1', 0],
      ['l1', -1],
      ['h1', 1],
      ['n2', 0],
      ['h2', 900],
    ] as const)
      await fixture.submit('a@b', { task_id: id, priority })
    const { json } = await fixture.call('GET', '/automations/mailer/queue?n=4')
    expect(ids(json)).toEqual(['h1', 'h2', 'n1', 'n2'])
    expect(json).toMatchObject({ length: 5 })
    expect((json as { items: { priority: number }[] }).items[1]?.priority).toBe(900)
  })

  it('returns 20 tasks without n, and removes none', async () => {
    await fixture.call('POST', '/automations/mailer/tasks/batch', {
      body: { tasks: Array.from({ length: 25 }, () => ({ payload: { to: 'a@b' } })) },
    })
    expect(ids((await fixture.call('GET', '/automations/mailer/queue')).json)).toHaveLength(20)
    expect((await fixture.call('GET', '/automations/mailer/queue?n=10000')).json).toMatchObject({ length: 25 })
  })

  it.each(['0', '-1', '1.5', '1e3', '10001', '', 'x', '5&n=6'])('refuses n=%s and names it (D9)', async (n) => {
    for (const path of ['queue', 'dead']) {
      const { status, json } = await fixture.call('GET', `/automations/mailer/${path}?n=${n}`)
      expect(status).toBe(422)
      expect((json as { detail: { path: string }[] }).detail[0]?.path).toBe('/n')
    }
  })

  it('returns the place of a task, and 404 when it is gone (D29)', async () => {
    const id = await fixture.submit()
    expect((await fixture.call('GET', `/automations/mailer/tasks/${id}`)).json).toEqual({
      task_id: id,
      place: 'pending',
    })
    const [lease] = await fixture.take('w')
    expect(await fixture.place(id)).toBe('in_flight')
    await fixture.rpc('w', 'tasks.ack', { tasks: [{ task_id: id, token: lease?.token ?? 0 }] })
    expect((await fixture.call('GET', `/automations/mailer/tasks/${id}`)).status).toBe(404)
  })
})

describe('the dead letters', () => {
  it('contain last_error, died_at and max_attempts, oldest death first (D29, D50)', async () => {
    await die('a', 'first "quoted"')
    await fixture.time.advance(1_500)
    await die('b')
    const { json } = await fixture.call('GET', '/automations/mailer/dead')
    expect(ids(json)).toEqual(['a', 'b'])
    expect((json as { items: unknown[] }).items[0]).toMatchObject({
      id: 'a',
      payload: { to: 'a@b' },
      attempt: 1,
      max_attempts: 3,
      priority: 0,
      last_error: 'first "quoted"',
      submitted_at: fixture.time.wallMs() / 1_000 - 1.5,
      died_at: fixture.time.wallMs() / 1_000 - 1.5,
    })
  })

  it('are replayed oldest death first with attempt 0, and reach a waiting worker immediately', async () => {
    await die('a')
    await die('b')
    const waiting = fixture.rpc('w', 'tasks.reserve', { limit: 5, wait_ms: 30_000 })
    await fixture.time.advance(100)
    expect((await fixture.call('POST', '/automations/mailer/dead/replay', { body: { n: 1 } })).json).toEqual({
      replayed: 1,
    })
    expect((await waiting).tasks).toMatchObject([{ task_id: 'a', attempt: 0 }])
    expect(await fixture.place('b')).toBe('dead')
  })

  it('are replayed by task id, and reach a waiting worker immediately (D50)', async () => {
    await die('a')
    await die('b')
    const waiting = fixture.rpc('w', 'tasks.reserve', { limit: 5, wait_ms: 30_000 })
    await fixture.time.advance(100)
    await fixture.call('POST', '/automations/mailer/dead/select', { body: { action: 'replay', task_ids: ['b'] } })
    const { tasks } = await waiting
    expect(tasks).toMatchObject([{ task_id: 'b', attempt: 0 }])
    expect(fixture.time.monotonicMs()).toBe(100)
  })

  it('are replayed 50 at a time without n, and more than the 500 that a store takes per call (D9)', async () => {
    await fixture.call('POST', '/automations/mailer/tasks/batch', {
      body: {
        tasks: Array.from({ length: 700 }, (_, at) => ({ payload: { to: 'a@b' }, task_id: `t${at}`, max_attempts: 1 })),
      },
    })
    for (const limit of [500, 200]) {
      const leases = await fixture.take('w', limit)
      await fixture.rpc('w', 'tasks.nack', {
        tasks: leases.map(({ task_id, token }) => ({ task_id, token, error: 'no' })),
      })
    }
    expect((await fixture.call('POST', '/automations/mailer/dead/replay', { body: {} })).json).toEqual({ replayed: 50 })
    expect((await fixture.call('POST', '/automations/mailer/dead/replay', { body: { n: 10_000 } })).json).toEqual({
      replayed: 650,
    })
    expect((await fixture.call('POST', '/automations/mailer/dead/replay', { body: { n: 1 } })).json).toEqual({
      replayed: 0,
    })
  })

  it('are replayed and selected in pieces of 25; tasks that die again meanwhile stay dead (D84)', async () => {
    const { tasks } = fixture.deps.backend
    const [replay, applyToDead, pieces] = [tasks.replay.bind(tasks), tasks.applyToDead.bind(tasks), [] as number[]]
    const dieAgain = async (piece: number): Promise<void> => {
      pieces.push(piece)
      const leases = await fixture.take('w', 500)
      await fixture.rpc('w', 'tasks.nack', {
        tasks: leases.map(({ task_id, token }) => ({ task_id, token, error: 'no', permanent: true })),
      })
    }
    Object.assign(tasks, {
      replay: async (type: string, n: number, until?: number) => {
        const replayed = await replay(type, n, until)
        await dieAgain(n)
        return replayed
      },
      applyToDead: async (type: string, action: 'replay' | 'remove', named: readonly string[]) => {
        const outcomes = await applyToDead(type, action, named)
        await dieAgain(named.length)
        return outcomes
      },
    })
    const names = Array.from({ length: 60 }, (_, at) => `t${at}`)
    for (const id of names) await die(id)
    expect((await fixture.call('POST', '/automations/mailer/dead/replay', { body: { n: 10_000 } })).json).toEqual({
      replayed: 60,
    })
    const { json } = await fixture.call('POST', '/automations/mailer/dead/select', {
      body: { action: 'replay', task_ids: [...names, 't0'] },
    })
    const outcomes = (json as { results: { outcome: string }[] }).results.map(({ outcome }) => outcome)
    expect(outcomes).toEqual([...names.map(() => 'replayed'), 'not_dead'])
    expect(pieces).toEqual([25, 25, 25, 25, 25, 10])
    expect((await fixture.call('GET', '/automations/mailer/dead?n=1')).json).toMatchObject({ length: 60 })
  })

  it('reject a replay of n outside 1..10000 (D9)', async () => {
    for (const n of [0, -1, 1.5, 10_001, '5'])
      expect((await fixture.call('POST', '/automations/mailer/dead/replay', { body: { n } })).status).toBe(422)
  })

  it('are cleared together', async () => {
    await die('a')
    await die('b')
    expect((await fixture.call('DELETE', '/automations/mailer/dead')).json).toEqual({ cleared: 2 })
    expect((await fixture.call('GET', '/automations/mailer/dead')).json).toEqual({ length: 0, items: [] })
  })
})
