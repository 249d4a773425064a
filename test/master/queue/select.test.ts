import { expect, it } from '@jest/globals'
import type { TestMaster } from '../../kit/running-master.ts'
import { onEachStore } from '../stores.ts'

const MAILER = '/api/v1/automations/mailer'
const WORKER = { type: 'mailer', id: 'w' }

/** Moves tasks to the dead letters, in this order. */
async function die(master: TestMaster, ids: readonly string[]): Promise<void> {
  const { tasks, workers } = master.backend
  await workers.register([{ ...WORKER, conn: 'm/1', instance: 'i', hardware: '{}', defaults: '{"max_attempts":3}' }])
  const queued = await master.call('POST', `${MAILER}/tasks/batch`, {
    body: { tasks: ids.map((id) => ({ payload: { to: id }, task_id: id })) },
  })
  expect(queued.status).toBe(200)
  for (let left = ids.length; left > 0;) {
    const {
      results: [reservation],
    } = await tasks.reserve('mailer', 60_000, [{ worker: 'w', limit: 500, gen: 0, defaultMaxAttempts: 3 }])
    if (reservation?.kind !== 'leased') throw new Error(`no leases: ${JSON.stringify(reservation)}`)
    const { leases } = reservation
    left -= leases.length
    const nacks = leases.map(({ id, token }) => ({
      id,
      token,
      error: 'boom',
      retryInMs: null,
      permanent: true,
      jitter: 0,
    }))
    expect(await tasks.nack('mailer', { baseMs: 1, factor: 1, capMs: 1 }, nacks)).toEqual(nacks.map(() => 'dead'))
  }
}

const select = (master: TestMaster, body: unknown) => master.call('POST', `${MAILER}/dead/select`, { body })
const dead = async (master: TestMaster): Promise<readonly string[]> =>
  ((await master.call('GET', `${MAILER}/dead`)).json as { items: { id: string }[] }).items.map(({ id }) => id)

onEachStore('dead/select', (open) => {
  it('replays the named tasks with attempt 0, and leaves the others dead (D50)', async () => {
    const { master } = await open()
    await die(master, ['a', 'b', 'c'])
    expect(await select(master, { action: 'replay', task_ids: ['c', 'never', 'a'] })).toMatchObject({
      status: 200,
      json: {
        results: [
          { task_id: 'c', outcome: 'replayed' },
          { task_id: 'never', outcome: 'not_dead' },
          { task_id: 'a', outcome: 'replayed' },
        ],
      },
    })
    expect(await dead(master)).toEqual(['b'])
    const { json } = await master.call('GET', `${MAILER}/queue`)
    expect(json).toMatchObject({
      length: 2,
      items: [
        { id: 'c', attempt: 0 },
        { id: 'a', attempt: 0 },
      ],
    })
  })

  it('removes the named tasks permanently, and returns not_dead for a repeated id', async () => {
    const { master } = await open()
    await die(master, ['a', 'b'])
    expect((await select(master, { action: 'remove', task_ids: ['a', 'a'] })).json).toEqual({
      results: [
        { task_id: 'a', outcome: 'removed' },
        { task_id: 'a', outcome: 'not_dead' },
      ],
    })
    expect((await select(master, { action: 'replay', task_ids: ['a'] })).json).toEqual({
      results: [{ task_id: 'a', outcome: 'not_dead' }],
    })
    expect(await dead(master)).toEqual(['b'])
    expect((await master.call('GET', `${MAILER}/tasks/a`)).status).toBe(404)
  })

  it('changes no task that is not dead', async () => {
    const { master } = await open()
    await master.call('POST', `${MAILER}/tasks`, { body: { payload: { to: 'x' }, task_id: 'pending' } })
    for (const action of ['replay', 'remove'])
      expect((await select(master, { action, task_ids: ['pending'] })).json).toEqual({
        results: [{ task_id: 'pending', outcome: 'not_dead' }],
      })
    expect((await master.call('GET', `${MAILER}/queue`)).json).toMatchObject({ length: 1 })
  })

  it('accepts 1,000 ids, more than a store takes in one step', async () => {
    const { master } = await open()
    const ids = Array.from({ length: 1_000 }, (_, at) => `t${at}`)
    await die(master, ids)
    const { json } = await select(master, { action: 'replay', task_ids: ids })
    expect((json as { results: object[] }).results).toEqual(ids.map((id) => ({ task_id: id, outcome: 'replayed' })))
    expect(await dead(master)).toEqual([])
  })

  it.each([
    ['/action', { action: 'clear', task_ids: ['a'] }],
    ['/task_ids', { action: 'replay', task_ids: [] }],
    ['/task_ids', { action: 'replay', task_ids: Array.from({ length: 1_001 }, () => 'a') }],
    ['/task_ids', { action: 'replay' }],
    ['/task_ids/1', { action: 'remove', task_ids: ['a', ''] }],
    ['/task_ids/0', { action: 'remove', task_ids: ['a\nb'] }],
    ['/n', { action: 'replay', task_ids: ['a'], n: 1 }],
  ])('rejects an invalid body, names the field, and changes nothing: %s', async (path, body) => {
    const { master } = await open()
    await die(master, ['a'])
    const { status, json } = await select(master, body)
    expect([status, (json as { detail: { path: string }[] }).detail[0]?.path]).toEqual([422, path])
    expect(await dead(master)).toEqual(['a'])
  })
})
