/** Tests the calls of the published client for logs, groups of dead tasks, operations and alerts, with real masters. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { UnsupportedByMaster, type Operation } from '../../src/client/public.ts'
import { systemRandom, VirtualTime } from '../../src/runtime/index.ts'
import { MemoryBackend } from '../../src/storage/memory/index.ts'
import { eventually } from '../kit/index.ts'
import { runMaster, SETTINGS as KIT_SETTINGS } from '../kit/running-master.ts'
import { masterOf, runTask, stopWorkers, work } from '../master/worker-logs/fixture.ts'
import { makeDead, register, throughProxy } from './fixture.ts'
import { complete, failureOf, mailer, published, publishedClient, WORKER } from './published-fixture.ts'

const NOT_KNOWN = { status: 404, headers: { 'content-type': 'application/json', 'muster-epoch': 'e' }, body: '{}' }
const PATCH = { kind: 'patch', idPatterns: ['w*'], patch: { slots: 4 } } as const
const date = expect.any(Date)

describe('workerLogs', () => {
  afterEach(stopWorkers)

  it('returns the entries of a task, and continues behind a page (D181)', async () => {
    const master = await masterOf()
    await work(master, 'w1')
    const id = await runTask(master, [
      { message: 'resized', fields: { ms: 17, started_at: 1 } },
      { level: 'warn', message: 'slow' },
    ])
    const mails = publishedClient(master.url).automation('mailer')
    const page = await mails.workerLogs('w1', { taskId: id })
    expect(page).toMatchObject({ startedAt: date, hasMore: false, missed: 0 })
    expect(page.entries).toEqual([
      {
        seq: expect.any(Number),
        at: date,
        level: 'info',
        message: 'resized',
        slotId: 0,
        taskId: id,
        attempt: 0,
        fields: { ms: 17, started_at: 1 },
      },
      expect.objectContaining({ message: 'slow' }),
    ])
    expect(Math.abs((page.entries[0]?.at.getTime() ?? 0) - Date.now())).toBeLessThan(60_000)
    const [slow] = (await mails.workerLogs('w1', { taskId: id, level: 'warn' })).entries
    expect(slow?.message).toBe('slow')
    const first = await mails.workerLogs('w1', { after: 0, limit: 1 })
    expect([first.entries.length, first.hasMore]).toEqual([1, true])
    const [second] = (await mails.workerLogs('w1', { after: first.next, limit: 1 })).entries
    expect(second?.seq).toBe((first.entries[0]?.seq ?? 0) + 1)
    expect(await failureOf(mails.workerLogs('none'))).toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('deadLetters', () => {
  it('lists groups, and replays and deletes those that died before a moment (D157, D158)', async () => {
    const { master, mails } = await published()
    expect(await mails.deadLetters.groups()).toEqual({ complete: true, asOf: null, groups: [] })
    await makeDead(master, ['1', '2', '3'])
    const { asOf, groups } = await mails.deadLetters.groups()
    const [group] = groups
    expect(groups).toEqual([
      {
        group: expect.stringMatching(/^[0-9a-f]{16}$/),
        pattern: expect.stringContaining('no such address'),
        count: 3,
        firstDiedAt: date,
        lastDiedAt: date,
        trend: expect.any(Array),
        workers: ['undertaker'],
        example: { taskId: expect.any(String), error: expect.stringContaining('no such address') },
      },
    ])
    const name = group?.group ?? ''
    const before = asOf ?? new Date(0)
    const none = new Date(group?.firstDiedAt.getTime() ?? 0)
    expect(await mails.deadLetters.replayGroup(name, { before: none })).toEqual({
      replayed: 0,
      more: false,
      delaySeconds: 0,
    })
    expect(await mails.deadLetters.replays()).toEqual([])
    expect(await mails.deadLetters.replayGroup(name, { before, perSecond: 100 })).toMatchObject({
      replayed: 3,
      more: false,
    })
    expect(await mails.deadLetters.replays()).toEqual([
      {
        id: expect.any(String),
        group: name,
        before,
        pattern: group?.pattern,
        startedAt: date,
        replayed: 3,
        done: 0,
        died: 0,
      },
    ])
    await register(master, WORKER)
    await eventually('the replayed tasks are pending', async () => (await mails.queue()).length === 3)
    await complete(master)
    await eventually('the replay is done', async () => (await mails.deadLetters.replays())[0]?.done === 3)

    await makeDead(master, ['4', '5'])
    const later = await mails.deadLetters.groups()
    expect(await mails.deadLetters.deleteGroup(name, none)).toEqual({ removed: 0, more: false })
    expect(await mails.deadLetters.deleteGroup(name, later.asOf ?? none)).toEqual({ removed: 2, more: false })
    expect((await mails.deadLetters.list()).length).toBe(0)
  })

  it('pages through the newest, and replays one with another payload unless it has died again (D159)', async () => {
    const { master, mails } = await published()
    await makeDead(master, ['a', 'b', 'c'])
    const first = await mails.deadLetters.newest({ limit: 2 })
    const second = await mails.deadLetters.newest({ limit: 2, cursor: first.cursor ?? undefined })
    expect([...first.items, ...second.items].map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c'])
    expect(second.cursor).toBeNull()
    const [task] = first.items
    if (task === undefined) throw new Error('no task is dead')
    const { id, diedAt } = task
    const earlier = new Date(diedAt.getTime() - 1)
    expect(await mails.deadLetters.replayEdited({ id, diedAt: earlier }, { to: 'eve' })).toBe(false)
    expect(await mails.deadLetters.replayEdited({ id, diedAt }, { to: 'eve' })).toBe(true)
    expect((await mails.queue()).items).toMatchObject([{ id, payload: { to: 'eve' } }])
    const wrong = mails.deadLetters.replayEdited({ id, diedAt }, { to: 7 } as never)
    expect(await failureOf(wrong)).toMatchObject({ code: 'INVALID' })
  })
})

describe('operations', () => {
  it('are previewed, created, read, undone and listed (D189, D191)', async () => {
    const { client, master, mails } = await published({ actor: 'ci' })
    for (const id of ['w1', 'w2', 'w3']) await register(master, id)
    const { operations } = mails
    expect(await operations.preview(PATCH)).toMatchObject({
      kind: 'patch',
      total: 3,
      change: 3,
      offline: 3,
      generations: [{ configGen: 0, workers: 3 }],
      values: [{ values: { slots: 1 }, workers: 3 }],
      managed: [],
      refusedBecause: [],
    })
    const invalid = { ...PATCH, patch: { slots: -1 } }
    expect((await operations.preview(invalid)).refusedBecause).toEqual([
      { workers: 3, detail: [{ field: '/slots', problem: expect.any(String) }] },
    ])
    expect(await failureOf(operations.create({ ...PATCH, expected: 2 }))).toMatchObject({ code: 'STALE_GENERATION' })
    const created = await operations.create({
      ...PATCH,
      note: 'more slots',
      perSecond: 1_000,
      stopAfter: 2,
      expected: 3,
    })
    expect(created).toMatchObject({
      type: 'mailer',
      kind: 'patch',
      note: 'more slots',
      createdAt: date,
      createdBy: 'admin ci',
      endedAt: null,
      patch: { slots: 4 },
      fields: ['slots'],
      perSecond: 1_000,
      stopAfter: 2,
      failures: [],
      canUndo: false,
    })
    const ended = async (name: string): Promise<Operation> => {
      await eventually(`${name} has ended`, async () => (await operations.get(name)).state !== 'running')
      return operations.get(name)
    }
    expect(await ended(created.operation)).toMatchObject({
      state: 'done',
      counts: { offline: 3 },
      endedAt: date,
      canUndo: true,
    })
    expect(await operations.results(created.operation)).toEqual(
      ['w1', 'w2', 'w3'].map((workerId) => ({
        workerId,
        result: 'offline',
        configGenBefore: 0,
        configGen: 1,
        message: null,
      })),
    )
    const undo = await operations.undo(created.operation)
    expect(undo).toMatchObject({ undoOf: created.operation, total: 3 })
    await ended(undo.operation)
    expect((await client.operations()).map(({ operation }) => operation)).toEqual([undo.operation, created.operation])
    expect(await failureOf(operations.undo(created.operation))).toMatchObject({ code: 'INVALID' })
    expect(await failureOf(operations.get('none'))).toMatchObject({ code: 'NOT_FOUND' })
  }, 60_000)

  it('are cancelled: no further worker begins', async () => {
    const { master, mails } = await published()
    for (const id of ['w1', 'w2', 'w3']) await register(master, id)
    const { operations } = mails
    const { operation } = await operations.create({ ...PATCH, perSecond: 0.1 })
    expect(await operations.cancel(operation)).toMatchObject({ state: 'cancelled', reason: expect.any(String) })
  })

  it('replay the dead tasks that died before a moment', async () => {
    const { master, mails } = await published()
    await makeDead(master, ['a', 'b'])
    const before = new Date(Date.now() + 1_000)
    const { operation } = await mails.operations.create({ kind: 'replay', before, perSecond: 500 })
    await eventually('it has ended', async () => (await mails.operations.get(operation)).state === 'done')
    expect(await mails.operations.get(operation)).toMatchObject({
      kind: 'replay',
      before,
      total: 2,
      counts: { done: 2 },
    })
    expect((await mails.queue()).length).toBe(2)
  }, 60_000)
})

describe('alerts', () => {
  it('are listed with their times (D200)', async () => {
    const time = new VirtualTime()
    const backend = new MemoryBackend({ clock: time, random: systemRandom })
    const settings = { ...KIT_SETTINGS, alerts: { afterSeconds: 30, webhook: null } }
    const master = await runMaster({ backend, clock: time, timers: time, settings })
    const client = publishedClient(master.url)
    expect(await client.alerts()).toEqual([])
    await master.call('PUT', '/api/v1/automations/mailer/queue/pause', { body: {} })
    for (let seconds = 0; seconds < 50; seconds += 5) await time.advance(5_000)
    const [alert] = await client.alerts()
    expect(alert).toMatchObject({ type: 'mailer', kind: 'paused', since: date, firedAt: date, resolvedAt: null })
    expect(alert?.firedAt.getTime()).toBeGreaterThan(alert?.since.getTime() ?? Infinity)
  })

  it('and operations reject with UnsupportedByMaster if the master does not know the call', async () => {
    const { proxy } = await throughProxy([NOT_KNOWN, NOT_KNOWN])
    const client = publishedClient(proxy.url)
    expect(await failureOf(client.alerts())).toBeInstanceOf(UnsupportedByMaster)
    expect(await failureOf(client.operations())).toBeInstanceOf(UnsupportedByMaster)
  })
})

it('an output names its worker and task, if they are known (D188)', async () => {
  const { master, client } = await published()
  await master.backend.streams.push('mailer', 'a', 1, [
    JSON.stringify({ slot_id: 3, ts: 1.5, worker_id: 'w1', task_id: 't', payload: { sent: true } }),
    JSON.stringify({ slot_id: 0, ts: 1, payload: { sent: true } }),
  ])
  const emitted = { gap: false, id: expect.any(String), payload: { sent: true } }
  expect(await client.automation<typeof mailer>('mailer').peek(2)).toEqual([
    { ...emitted, slotId: 3, workerId: 'w1', taskId: 't', emittedAt: new Date(1_500) },
    { ...emitted, slotId: 0, emittedAt: new Date(1_000) },
  ])
})
