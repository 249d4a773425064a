/** Operations while masters stop, are replaced and lose their results (D190). */
import { describe, expect, it } from '@jest/globals'
import { FleetError, type OperationShown, type ReplaysBody } from '../../../src/protocol/index.ts'
import { OperationFixture, TYPE } from './fixture.ts'

const WORKERS = ['w0', 'w1', 'w2', 'w3', 'w4', 'w5']
const BODY = { kind: 'patch', workers: WORKERS, patch: { slots: 4 }, per_second: 2, bake_seconds: 0 }

/** How often each worker was written, by its history. */
async function writes({ backend }: OperationFixture): Promise<readonly number[]> {
  const histories = await Promise.all(WORKERS.map((id) => backend.configs.history({ type: TYPE, id }, 50)))
  return histories.map((rows) => rows.length)
}

/** Advances the time until the operation has written each worker once. */
async function expectDone(fixture: OperationFixture, created: OperationShown): Promise<void> {
  for (let step = 0; step < 6; step += 1) {
    await fixture.advance(1_000)
    await fixture.applyAll()
  }
  await fixture.advance(2_000)
  expect(await fixture.get(created)).toMatchObject({ state: 'done', counts: { done: 6 } })
  expect(await writes(fixture)).toEqual([1, 1, 1, 1, 1, 1])
}

describe('an operation', () => {
  it('is continued by the next master, and writes each worker once', async () => {
    const first = await OperationFixture.open()
    await first.connect(...WORKERS)
    const created = await first.create(BODY)
    await first.advance(1_000)
    expect((await first.get(created)).counts).toMatchObject({ active: 2, pending: 4 })
    Object.defineProperty(first.backend, 'close', { value: async () => {} }) // The next master has the same store.
    await first.master.stop()
    const second = await OperationFixture.open(first)
    await second.connect(...WORKERS)
    for (let step = 0; step < 5; step += 1) {
      await second.applyAll()
      await second.advance(2_000)
    }
    const { state, counts } = await second.get(created)
    // Workers that the second master reached before they connected again are offline.
    expect([state, counts.done + counts.offline, counts.pending, counts.active]).toEqual(['done', 6, 0, 0])
    expect(await writes(second)).toEqual([1, 1, 1, 1, 1, 1])
  })

  it('of kind replay is continued by the next master, and replays each task once (D194)', async () => {
    const first = await OperationFixture.open()
    await first.kill(5)
    await first.kill(2, 'other')
    const group = (await first.deadGroups()).groups.find(({ pattern }) => pattern === 'boom')?.group
    const created = await first.create({ kind: 'replay', group, per_second: 2 })
    await first.advance(1_000)
    expect((await first.get(created)).counts).toMatchObject({ done: 2, pending: 3 })
    Object.defineProperty(first.backend, 'close', { value: async () => {} }) // The next master has the same store.
    await first.master.stop()
    const second = await OperationFixture.open(first)
    expect(await second.get(created)).toMatchObject({ state: 'done', total: 5, counts: { done: 5, pending: 0 } })
    expect(await second.deadByError()).toEqual({ other: 2 })
    expect(await second.backend.tasks.queue(TYPE, 10)).toMatchObject({ items: { length: 5 } })
  })

  it('of kind replay counts what a master replayed that stopped before it stored the result (D194)', async () => {
    const fixture = await OperationFixture.open()
    await fixture.kill(4)
    const [{ group } = { group: '' }] = (await fixture.deadGroups()).groups
    const { tasks } = fixture.backend
    let isLost = true
    const apply = tasks.applyToDeadGroup.bind(tasks)
    const applyToDeadGroup: typeof apply = async (...args) => {
      const replayed = await apply(...args)
      if (!isLost) return replayed
      isLost = false
      throw new FleetError('STORAGE_UNAVAILABLE', 'lost', { outcome: 'unknown' })
    }
    Object.defineProperty(tasks, 'applyToDeadGroup', { value: applyToDeadGroup })
    await fixture.create({ kind: 'replay', group, per_second: 2 })
    await fixture.advance(3_000)
    expect(isLost).toBe(false)
    expect(await fixture.deadByError()).toEqual({})
    await fixture.kill(4) // The replayed tasks die again.
    const { json } = await fixture.call('GET', `/api/v1/automations/${TYPE}/dead/replays`)
    expect((json as ReplaysBody).replays).toMatchObject([{ replayed: 4, died: 4 }])
  })

  it('of kind replay counts the pieces of a step before the one that failed (D194)', async () => {
    const fixture = await OperationFixture.open()
    await fixture.kill(60)
    const { tasks } = fixture.backend
    const apply = tasks.applyToDeadGroup.bind(tasks)
    let calls = 0
    const applyToDeadGroup: typeof apply = async (...args) => {
      calls += 1
      if (calls === 2) throw new FleetError('STORAGE_UNAVAILABLE', 'down')
      return apply(...args)
    }
    Object.defineProperty(tasks, 'applyToDeadGroup', { value: applyToDeadGroup })
    const created = await fixture.create({ kind: 'replay', per_second: 60 })
    await fixture.advance(5_000)
    expect(await fixture.get(created)).toMatchObject({ state: 'done', total: 60, counts: { done: 60 } })
    const { json } = await fixture.call('GET', `/api/v1/automations/${TYPE}/dead/replays`)
    expect((json as ReplaysBody).replays).toMatchObject([{ operation: created.operation, replayed: 60 }])
  })

  it('recognises the workers that it wrote if the result was not stored', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect(...WORKERS)
    const created = await fixture.create(BODY)
    const { operations } = fixture.backend
    let isLost = true
    const update: typeof operations.update = async (...args) => {
      if (!isLost || args[4].length === 0) return operations.update(...args)
      isLost = false
      throw new FleetError('STORAGE_UNAVAILABLE', 'lost', { outcome: 'unknown' })
    }
    Object.defineProperty(fixture.backend, 'operations', { value: { ...operations, update } })
    await fixture.advance(1_000)
    expect(isLost).toBe(false)
    expect(await fixture.gens()).toMatchObject({ w0: 1, w1: 1, w2: 0 })
    expect((await fixture.get(created)).counts).toMatchObject({ pending: 6 })
    await expectDone(fixture, created)
  })

  it('drops the step of a master that another one has replaced', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect(...WORKERS)
    const created = await fixture.create(BODY)
    const { operations } = fixture.backend
    let isReplaced = false
    const update: typeof operations.update = async (...args) => {
      const [type, id, version, text, parts] = args
      if (isReplaced || parts.length === 0) return operations.update(...args)
      isReplaced = true
      const [head] = (await operations.heads([type]))[0] ?? []
      const taken = JSON.stringify({ ...(JSON.parse(head?.head ?? '{}') as object), owner: 'another' })
      await operations.update(type, id, version, taken, [])
      return operations.update(type, id, version, text, parts)
    }
    Object.defineProperty(fixture.backend, 'operations', { value: { ...operations, update } })
    await fixture.advance(1_000)
    expect(isReplaced).toBe(true)
    expect((await fixture.get(created)).counts).toMatchObject({ pending: 6, active: 0 })
    await expectDone(fixture, created)
  })

  it('is advanced by the leader only', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect(...WORKERS)
    const created = await fixture.create({ ...BODY, per_second: 0.5 })
    /** The master with the first id leads. */
    const letAnotherLead = async (): Promise<void> => {
      await fixture.backend.meta.beat('!')
      await fixture.advance(5_000)
    }
    await letAnotherLead()
    const { pending } = (await fixture.get(created)).counts
    expect(pending).toBeGreaterThan(0)
    for (let beat = 0; beat < 4; beat += 1) await letAnotherLead()
    expect((await fixture.get(created)).counts).toMatchObject({ pending })
    await fixture.advance(30_000)
    await expectDone(fixture, created)
  })

  it('is not created while a live master does not know operations', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect('w0')
    await fixture.backend.meta.beat('zzz')
    await fixture.advance(5_000)
    const { status, json } = await fixture.call('POST', `/api/v1/automations/${TYPE}/operations`, {
      kind: 'patch',
      workers: ['w0'],
      patch: { slots: 2 },
    })
    expect([status, (json as { code: string }).code]).toEqual([503, 'UPGRADING'])
  })
})
