import { expect, it } from '@jest/globals'
import type { TestMaster } from '../../kit/running-master.ts'
import { onEachStore } from '../stores.ts'

const MAILER = '/api/v1/automations/mailer'
const WORKER = { type: 'mailer', id: 'w' }
const NONE = '0123456789abcdef'

interface Group {
  readonly group: string
  readonly pattern: string | null
  readonly count: number
  readonly workers: readonly string[]
  readonly example: unknown
}
interface Groups {
  readonly complete: boolean
  readonly as_of: number | null
  readonly groups: readonly Group[]
}

/** Lets tasks die of an error, in this order. */
async function die(master: TestMaster, error: string, ids: readonly string[]): Promise<void> {
  const { tasks, workers } = master.backend
  await workers.register([{ ...WORKER, conn: 'm/1', instance: 'i', hardware: '{}', defaults: '{"max_attempts":3}' }])
  const tasksOf = ids.map((id) => ({ payload: { to: id }, task_id: id, labels: { order: id } }))
  const queued = await master.call('POST', `${MAILER}/tasks/batch`, { body: { tasks: tasksOf } })
  expect(queued.status).toBe(200)
  for (let left = ids.length; left > 0;) {
    const reserved = await tasks.reserve('mailer', 60_000, [{ worker: 'w', limit: 500, gen: 0, defaultMaxAttempts: 3 }])
    const [reservation] = reserved.results
    if (reservation?.kind !== 'leased') throw new Error(`no leases: ${JSON.stringify(reservation)}`)
    left -= reservation.leases.length
    const nack = { error, retryInMs: null, permanent: true, jitter: 0 }
    const nacks = reservation.leases.map(({ id, token }) => ({ id, token, ...nack }))
    expect(await tasks.nack('mailer', { baseMs: 1, factor: 1, capMs: 1 }, nacks)).toEqual(nacks.map(() => 'dead'))
  }
}

const groupsOf = async (master: TestMaster): Promise<Groups> =>
  (await master.call('GET', `${MAILER}/dead/groups`)).json as Groups

interface Replay {
  readonly group: string | null
  readonly pattern: string | null
  readonly replayed: number
  readonly done: number
  readonly died: number
}
const replaysOf = async (master: TestMaster): Promise<readonly Replay[]> =>
  ((await master.call('GET', `${MAILER}/dead/replays`)).json as { replays: Replay[] }).replays

/** Leases all pending tasks; the first `done` of them succeed, the others die. */
async function finish({ backend: { tasks } }: TestMaster, done: number, error: string): Promise<void> {
  const { results } = await tasks.reserve('mailer', 60_000, [
    { worker: 'w', limit: 500, gen: 0, defaultMaxAttempts: 3 },
  ])
  const leases = results[0]?.kind === 'leased' ? results[0].leases : []
  const refs = leases.map(({ id, token }) => ({ id, token }))
  await tasks.ack('mailer', refs.slice(0, done))
  const nack = { error, retryInMs: null, permanent: true, jitter: 0 }
  const failed = refs.slice(done).map((ref) => ({ ...ref, ...nack }))
  if (failed.length > 0) await tasks.nack('mailer', { baseMs: 1, factor: 1, capMs: 1 }, failed)
}

onEachStore('replays of dead tasks', (open) => {
  it('say how many tasks are done, and how many are dead again (D180)', async () => {
    const { master, advance } = await open()
    expect(await replaysOf(master)).toEqual([])
    await die(master, 'HTTP 503', ['a', 'b', 'c', 'd'])
    await advance(5)
    const { as_of: before, groups } = await groupsOf(master)
    const group = groups[0]?.group ?? ''
    const replay = () => master.call('POST', `${MAILER}/dead/groups/${group}/replay`, { body: { before } })
    expect((await replay()).json).toMatchObject({ replayed: 4 })
    const of = { group, pattern: 'HTTP 503', replayed: 4 }
    expect(await replaysOf(master)).toMatchObject([{ ...of, before, done: 0, died: 0 }])
    await finish(master, 3, 'HTTP 503')
    expect(await replaysOf(master)).toMatchObject([{ ...of, done: 3, died: 1 }])
    expect((await replay()).json).toMatchObject({ replayed: 0 })
    expect(await replaysOf(master)).toHaveLength(1)
    await advance(5)
    const replayed = await master.call('POST', `${MAILER}/dead/select`, { body: { action: 'replay', task_ids: ['d'] } })
    expect(replayed.status).toBe(200)
    await finish(master, 1, '')
    expect(await replaysOf(master)).toMatchObject([{ group: null, replayed: 1, done: 1, died: 0 }, of])
  })

  it('are the newest 20 of a type, without those that replayed nothing', async () => {
    const { master, advance } = await open()
    expect((await master.call('POST', `${MAILER}/dead/replay`)).json).toEqual({ replayed: 0 })
    expect(await replaysOf(master)).toEqual([])
    for (let n = 0; n < 22; n += 1) {
      await die(master, 'HTTP 503', [`t${n}`])
      await master.call('POST', `${MAILER}/dead/replay`)
      await finish(master, 1, '')
      await advance(5)
    }
    const replays = await replaysOf(master)
    expect(replays).toHaveLength(20)
    expect(replays.every(({ replayed, done }) => replayed === 1 && done === 1)).toBe(true)
  })
})

onEachStore('groups of dead tasks', (open) => {
  it('are listed with their patterns, newest death first (D157)', async () => {
    const { master, advance } = await open()
    expect(await groupsOf(master)).toEqual({ complete: true, as_of: null, groups: [] })
    await die(master, 'code 17 of img-04', ['a', 'b'])
    await advance(5)
    await die(master, 'HTTP 503', ['c'])
    await advance(5)
    await die(master, 'code 4 of img-1', ['d'])
    const { complete, as_of: asOf, groups } = await groupsOf(master)
    expect(complete).toBe(true)
    expect(asOf).toEqual(expect.any(Number))
    expect(groups).toMatchObject([
      {
        pattern: 'code <n> of img-<n>',
        count: 3,
        workers: ['w'],
        example: { task_id: 'd', error: 'code 4 of img-1' },
      },
      { pattern: 'HTTP 503', count: 1, example: { task_id: 'c', error: 'HTTP 503' } },
    ])
  })

  it('list their tasks page by page, newest death first', async () => {
    const { master } = await open()
    await die(master, 'code 1', ['a', 'b', 'c'])
    await die(master, 'other', ['d'])
    const { groups } = await groupsOf(master)
    const path = `${MAILER}/dead/newest?n=2&group=${groups[1]?.group}`
    const first = (await master.call('GET', path)).json as { items: readonly unknown[]; cursor: string }
    expect(first).toMatchObject({ items: [{ id: 'c', last_error: 'code 1', payload: { to: 'c' } }, { id: 'b' }] })
    const rest = (await master.call('GET', `${path}&cursor=${first.cursor}`)).json
    expect(rest).toMatchObject({ items: [{ id: 'a' }], cursor: null })
    const all = (await master.call('GET', `${MAILER}/dead/newest`)).json
    expect(all).toMatchObject({ items: [{ id: 'd' }, { id: 'c' }, { id: 'b' }, { id: 'a' }], cursor: null })
    for (const query of ['n=0', 'n=501', 'group=x', 'cursor=x'])
      expect((await master.call('GET', `${MAILER}/dead/newest?${query}`)).status).toBe(422)
  })

  it('are replayed and removed as of a moment (D158)', async () => {
    const { master, advance } = await open()
    const many = Array.from({ length: 60 }, (_, i) => `t${i}`)
    await die(master, 'code 1', many)
    const { as_of: before, groups } = await groupsOf(master)
    const path = `${MAILER}/dead/groups/${groups[0]?.group}`
    await advance(5)
    await die(master, 'code 2', ['late'])
    await die(master, 'other', ['else'])
    const replayed = await master.call('POST', `${path}/replay`, { body: { before } })
    expect(replayed).toMatchObject({ status: 200, json: { replayed: 60, more: false, delay_seconds: 0 } })
    expect(await groupsOf(master)).toMatchObject({ groups: [{ count: 1 }, { count: 1 }] })
    const later = (await groupsOf(master)).as_of
    const removed = await master.call('POST', `${path}/remove`, { body: { before: later } })
    expect(removed).toMatchObject({ status: 200, json: { removed: 1, more: false } })
    expect(await groupsOf(master)).toMatchObject({ groups: [{ pattern: 'other' }] })
    const none = await master.call('POST', `${MAILER}/dead/groups/${NONE}/remove`, { body: { before: later } })
    expect(none).toMatchObject({ status: 200, json: { removed: 0, more: false } })
    expect((await master.call('POST', `${MAILER}/dead/groups/x/remove`, { body: { before: later } })).status).toBe(404)
    expect((await master.call('POST', `${path}/remove`, { body: {} })).status).toBe(422)
  })

  it('are replayed at a pace: the tasks are scheduled one after the other (D158)', async () => {
    const { master } = await open()
    await die(
      master,
      'code 1',
      Array.from({ length: 30 }, (_, i) => `t${i}`),
    )
    const { as_of: before, groups } = await groupsOf(master)
    const body = { before, per_second: 2, delay_seconds: 60 }
    const replayed = await master.call('POST', `${MAILER}/dead/groups/${groups[0]?.group}/replay`, { body })
    expect(replayed).toMatchObject({ json: { replayed: 30, more: false, delay_seconds: 75 } })
    const { json } = await master.call('GET', `${MAILER}/tasks?place=scheduled`)
    const due = (json as { items: readonly { due_at: number }[] }).items.map(({ due_at: at }) => at)
    expect(due).toHaveLength(30)
    expect((due[29] ?? 0) - (due[0] ?? 0)).toBeGreaterThanOrEqual(14.4)
    expect((due[29] ?? 0) - (due[0] ?? 0)).toBeLessThan(20)
  })

  it('lose a task that is edited and replayed (D159)', async () => {
    const { master } = await open()
    await die(master, 'code 1', ['a', 'b'])
    const { json: listed } = await master.call('GET', `${MAILER}/dead`)
    const [{ died_at: diedAt } = { died_at: 0 }] = (listed as { items: readonly { died_at: number }[] }).items
    const edit = (id: string, body: object) => master.call('POST', `${MAILER}/dead/tasks/${id}/replay`, { body })
    const payload = { to: 'someone else' }
    expect((await edit('a', { died_at: diedAt, payload: { to: 1 } })).status).toBe(422)
    const notDead = { status: 200, json: { task_id: 'a', outcome: 'not_dead' } }
    expect(await edit('a', { died_at: diedAt - 1, payload })).toMatchObject(notDead)
    const replayed = { status: 200, json: { task_id: 'a', outcome: 'replayed' } }
    expect(await edit('a', { died_at: diedAt, payload })).toMatchObject(replayed)
    expect(await edit('a', { died_at: diedAt, payload })).toMatchObject(notDead)
    const { json: queued } = await master.call('GET', `${MAILER}/queue`)
    expect(queued).toMatchObject({ items: [{ id: 'a', attempt: 0, payload, labels: { order: 'a' } }] })
    expect((await groupsOf(master)).groups).toMatchObject([{ count: 1 }])
  })
})
