/** Operations of the kinds drain and replay (D189, D192). */
import { describe, expect, it } from '@jest/globals'
import type { OperationPreview, ReplaysBody } from '../../../src/protocol/index.ts'
import { OperationFixture, PATH, TYPE } from './fixture.ts'

describe('an operation of kind drain', () => {
  it('drains connected workers, a number at a time, until they have left', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect('a', 'b', 'c')
    await fixture.disconnect('c')
    const body = { kind: 'drain', workers: ['a', 'b', 'c'] }
    const preview = (await fixture.call('POST', `${PATH}/preview`, body)).json as OperationPreview
    expect(preview).toMatchObject({ total: 3, change: 2, unchanged: 1 })
    const created = await fixture.create({ ...body, parallel: 1 })
    await fixture.advance(3_000)
    const draining = async () => (await fixture.backend.workers.page(TYPE, null, 10)).map((row) => row.draining)
    expect(await draining()).toEqual([true, false, false])
    expect((await fixture.get(created)).counts).toMatchObject({ active: 1, pending: 1, unchanged: 1 })
    await fixture.disconnect('a')
    await fixture.advance(1_000)
    expect(await draining()).toEqual([true, true, false])
    await fixture.disconnect('b')
    await fixture.advance(1_000)
    expect(await fixture.get(created)).toMatchObject({
      state: 'done',
      counts: { done: 2, unchanged: 1 },
      can_undo: false,
    })
  })

  it('fails a worker that drains for too long', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect('a')
    const created = await fixture.create({ kind: 'drain', workers: ['a'], wait_seconds: 10 })
    await fixture.advance(12_000)
    const done = await fixture.get(created)
    expect(done.failures).toEqual([{ worker_id: 'a', message: 'still drains after 10 s' }])
    expect((await fixture.call('POST', `${PATH}/${created.operation}/undo`)).status).toBe(422)
  })
})

describe('an operation of kind replay', () => {
  it('replays the dead tasks of the type at its pace', async () => {
    const fixture = await OperationFixture.open()
    await fixture.kill(5)
    expect(await fixture.deadByError()).toEqual({ boom: 5 })
    const preview = (await fixture.call('POST', `${PATH}/preview`, { kind: 'replay' })).json as OperationPreview
    expect(preview).toMatchObject({ total: 5, change: 5 })
    const created = await fixture.create({ kind: 'replay', per_second: 2, expected: 5 })
    await fixture.advance(1_000)
    expect(await fixture.deadByError()).toEqual({ boom: 3 })
    expect((await fixture.get(created)).counts).toMatchObject({ done: 2, pending: 3 })
    await fixture.advance(4_000)
    expect(await fixture.get(created)).toMatchObject({ state: 'done', total: 5, counts: { done: 5, pending: 0 } })
    expect((await fixture.call('GET', `${PATH}/${created.operation}/results`)).json).toEqual({ results: [] })
  })

  it('counts and replays the tasks of its group that died before a moment, a thousand a second', async () => {
    const fixture = await OperationFixture.open()
    await fixture.kill(1_200)
    await fixture.kill(3, 'other')
    const { as_of: before, groups } = await fixture.deadGroups()
    const group = groups.find(({ pattern }) => pattern === 'boom')?.group
    await fixture.advance(1_000)
    await fixture.kill(700)
    const body = { kind: 'replay', group, before, per_second: 1_000 }
    const created = await fixture.create({ ...body, expected: 1_200 })
    expect(created).toMatchObject({ total: 1_200 })
    await fixture.advance(1_000)
    expect(await fixture.deadByError()).toEqual({ boom: 900, other: 3 })
    await fixture.advance(2_000)
    expect(await fixture.deadByError()).toEqual({ boom: 700, other: 3 })
    expect(await fixture.get(created)).toMatchObject({
      state: 'done',
      total: 1_200,
      counts: { done: 1_200, pending: 0 },
    })
  })

  it('has one result, however long it takes: how many are done, and how many are dead again (D194)', async () => {
    const fixture = await OperationFixture.open()
    await fixture.kill(3)
    const [{ group } = { group: '' }] = (await fixture.deadGroups()).groups
    const created = await fixture.create({ kind: 'replay', group, per_second: 0.1 })
    const hour = 3_600_000
    await fixture.advance(15_000)
    await fixture.time.advance(hour)
    await fixture.advance(15_000)
    expect((await fixture.get(created)).state).toBe('done')
    await fixture.kill(1)
    const { json } = await fixture.call('GET', `/api/v1/automations/${TYPE}/dead/replays`)
    expect((json as ReplaysBody).replays).toMatchObject([
      { operation: created.operation, group, pattern: 'boom', replayed: 3, done: 0, died: 1 },
    ])
  })

  it('keeps its result although many other replays begin meanwhile (D194)', async () => {
    const fixture = await OperationFixture.open()
    await fixture.kill(3)
    const [{ group } = { group: '' }] = (await fixture.deadGroups()).groups
    const created = await fixture.create({ kind: 'replay', group, per_second: 0.1 })
    await fixture.advance(1_000)
    await fixture.kill(25, 'other')
    for (let n = 0; n < 25; n += 1) {
      const { items } = await fixture.backend.tasks.newestDead(TYPE, null, null, 50)
      const other = items.find(({ lastError }) => lastError === 'other')?.id
      await fixture.call('POST', `/api/v1/automations/${TYPE}/dead/select`, { action: 'replay', task_ids: [other] })
      await fixture.time.advance(1)
    }
    await fixture.advance(40_000)
    expect((await fixture.get(created)).state).toBe('done')
    const { json } = await fixture.call('GET', `/api/v1/automations/${TYPE}/dead/replays`)
    const { replays } = json as ReplaysBody
    expect(replays.filter(({ operation }) => operation !== undefined)).toMatchObject([{ replayed: 3 }])
    expect(replays).toHaveLength(21)
  })
})
