/** Operations of kind patch over HTTP: preview, pace, results, stop, cancel, undo and export (D189, D190, D191). */
import { describe, expect, it } from '@jest/globals'
import type { OperationPreview, OperationShown } from '../../../src/protocol/index.ts'
import { TOKENS, tokenWith } from '../../kit/running-master.ts'
import { OperationFixture, PATH, TYPE } from './fixture.ts'

const ids = (n: number): string[] => Array.from({ length: n }, (_, at) => `w${String(at).padStart(3, '0')}`)

describe('an operation of kind patch', () => {
  it('previews the workers that would change, by generation and present values, and changes nothing', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect('a', 'b', 'c', 'd')
    await fixture.disconnect('d')
    for (const id of ['a', 'b'])
      await fixture.call('PATCH', `/api/v1/automations/${TYPE}/workers/${id}/config`, { slots: id === 'a' ? 4 : 2 })
    await fixture.backend.workers.manage([{ type: TYPE, id: 'b', managedBy: 'operator/prod/crawlers' }])
    const body = { kind: 'patch', workers: ['a', 'b', 'c', 'd', 'nope'], patch: { slots: 4 } }
    const preview = (await fixture.call('POST', `${PATH}/preview`, body)).json as OperationPreview
    expect(preview).toEqual({
      kind: 'patch',
      total: 5,
      change: 3,
      unchanged: 1,
      refused: 0,
      unknown: 1,
      offline: 1,
      generations: [
        { config_gen: 0, workers: 2 },
        { config_gen: 1, workers: 1 },
      ],
      values: [
        { values: { slots: 1 }, workers: 2 },
        { values: { slots: 2 }, workers: 1 },
      ],
      managed: [{ managed_by: 'operator/prod/crawlers', workers: 1 }],
      refused_because: [],
    })
    expect(await fixture.gens()).toEqual({ a: 1, b: 1, c: 0, d: 0 })
    const refused = { kind: 'patch', id_patterns: ['*'], patch: { host: 'x'.repeat(21) } }
    const { refused: count, refused_because: reasons } = (await fixture.call('POST', `${PATH}/preview`, refused))
      .json as OperationPreview
    expect([count, reasons]).toEqual([4, [{ workers: 4, detail: [expect.objectContaining({ path: '/host' })] }]])
  })

  it('changes workers at its pace, waits until they have applied the config, and lists each result', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect(...ids(5))
    await fixture.disconnect('w004')
    const body = {
      kind: 'patch',
      id_patterns: ['w*'],
      patch: { slots: 4 },
      per_second: 2,
      bake_seconds: 0,
      expected: 5,
    }
    const created = await fixture.create(body)
    expect(created).toMatchObject({ state: 'running', total: 5, created_by: 'admin', counts: { pending: 5 } })
    await fixture.advance(1_000)
    expect((await fixture.get(created)).counts).toMatchObject({ active: 2, pending: 3 })
    await fixture.applyAll()
    await fixture.advance(1_000)
    expect((await fixture.get(created)).counts).toMatchObject({ done: 2, active: 2, pending: 1 })
    await fixture.advance(1_000)
    await fixture.applyAll()
    await fixture.advance(2_000)
    const done = await fixture.get(created)
    expect(done).toMatchObject({ state: 'done', counts: { done: 4, offline: 1, pending: 0, active: 0 } })
    expect(done.ended_at).not.toBeNull()
    expect(await fixture.slots()).toEqual({ w000: 4, w001: 4, w002: 4, w003: 4, w004: 4 })
    const [row] = await fixture.backend.configs.history({ type: TYPE, id: 'w000' }, 1)
    expect(row?.actor).toBe(`operation ${created.operation} of admin`)
    const { text } = await fixture.call('GET', `${PATH}/${created.operation}/results?format=csv`)
    expect(text.split('\r\n').slice(0, 2)).toEqual([
      'worker_id,result,config_gen_before,config_gen,message',
      'w000,done,0,1,',
    ])
    const lines = (await fixture.call('GET', `${PATH}/${created.operation}/results?format=ndjson`)).text
    expect(lines.trimEnd().split('\n')).toHaveLength(5)
    const { operations } = (await fixture.call('GET', '/api/v1/operations')).json as { operations: OperationShown[] }
    expect(operations.map(({ operation }) => operation)).toEqual([created.operation])
  })

  it('has at most `parallel` workers active, and fails one that does not confirm in time', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect(...ids(3))
    const body = { kind: 'patch', workers: ids(3), patch: { slots: 4 }, parallel: 1, wait_seconds: 5, stop_after: 1 }
    const created = await fixture.create(body)
    await fixture.advance(4_000)
    expect((await fixture.get(created)).counts).toMatchObject({ active: 1, pending: 2 })
    await fixture.advance(4_000)
    const stopped = await fixture.get(created)
    expect(stopped).toMatchObject({
      state: 'stopped',
      reason: '1 worker has failed',
      counts: { failed: 1, pending: 2 },
    })
    expect(stopped.failures).toEqual([{ worker_id: 'w000', message: 'has not applied generation 1 within 5 s' }])
    await fixture.advance(5_000)
    expect(await fixture.gens()).toEqual({ w000: 1, w001: 0, w002: 0 })
  })

  it('stops when workers refuse the config, or report an error after they applied it', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect(...ids(6))
    const created = await fixture.create({
      kind: 'patch',
      workers: ids(6),
      patch: { slots: 4 },
      parallel: 3,
      per_second: 3,
      stop_after: 2,
    })
    await fixture.advance(1_000)
    await fixture.report('w000', { state: 'RUNNING', gen: 0, lastError: 'bad host', refusedGen: 1 })
    await fixture.report('w001', { gen: 1 })
    await fixture.report('w002', { state: 'ERROR', gen: 1, lastError: 'ENOTFOUND' })
    await fixture.advance(5_000)
    const stopped = await fixture.get(created)
    expect(stopped).toMatchObject({ state: 'stopped', reason: '2 workers have failed' })
    expect(stopped.failures.map(({ message }) => message)).toEqual(['refuses generation 1: bad host', 'ENOTFOUND'])
    expect(stopped.counts).toMatchObject({ failed: 2, done: 1, pending: 3, active: 0 })
  })

  it('cancels: no further worker begins, and active ones are still judged', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect(...ids(4))
    const created = await fixture.create({ kind: 'patch', workers: ids(4), patch: { slots: 4 }, per_second: 1 })
    await fixture.advance(1_000)
    const { json } = await fixture.call('POST', `${PATH}/${created.operation}/cancel`)
    expect(json).toMatchObject({ state: 'cancelled', reason: 'cancelled by admin' })
    await fixture.applyAll()
    await fixture.advance(5_000)
    const cancelled = await fixture.get(created)
    expect(cancelled).toMatchObject({ state: 'cancelled', counts: { done: 1, pending: 3, active: 0 } })
    expect(await fixture.gens()).toEqual({ w000: 1, w001: 0, w002: 0, w003: 0 })
  })

  it('undoes: writes the values before, only where the config is still the one that it wrote', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect('a', 'b', 'c')
    const config = (id: string) => `/api/v1/automations/${TYPE}/workers/${id}/config`
    await fixture.call('PATCH', config('b'), { slots: 7, region: 'us', key: 'secret-before' })
    const patch = { slots: 4, region: 'ap', key: 'secret-after' }
    const created = await fixture.create({ kind: 'patch', workers: ['a', 'b', 'c'], patch, bake_seconds: 0 })
    expect(created.patch).toEqual({ slots: 4, region: 'ap', key: '********' })
    expect((await fixture.call('POST', `${PATH}/${created.operation}/undo`)).status).toBe(422)
    await fixture.advance(1_000)
    await fixture.applyAll()
    await fixture.advance(2_000)
    expect(await fixture.get(created)).toMatchObject({ state: 'done', can_undo: true })
    await fixture.call('PATCH', config('c'), { slots: 9 })
    const undo = (await fixture.call('POST', `${PATH}/${created.operation}/undo`)).json as OperationShown
    expect(undo).toMatchObject({ undo_of: created.operation, patch: null, counts: { pending: 2, conflict: 1 } })
    await fixture.advance(1_000)
    await fixture.applyAll()
    await fixture.advance(2_000)
    expect(await fixture.get(undo)).toMatchObject({ state: 'done', counts: { done: 2, conflict: 1 } })
    const rows = await fixture.backend.workers.page(TYPE, null, 10)
    const configs = rows.map((row) => JSON.parse(row.config.config) as Record<string, unknown>)
    expect(configs[0]).toMatchObject({ slots: 1, region: 'eu' })
    expect(configs[0]).not.toHaveProperty('key')
    expect(configs[1]).toMatchObject({ slots: 7, region: 'us', key: 'secret-before' })
    expect(configs[2]).toMatchObject({ slots: 9, region: 'ap', key: 'secret-after' })
    expect(await fixture.get(created)).toMatchObject({ undone_by: undo.operation, can_undo: false })
    expect((await fixture.call('POST', `${PATH}/${created.operation}/undo`)).status).toBe(422)
  })

  it('leaves a worker alone whose config changed since the operation was created', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect('a', 'b')
    const created = await fixture.create({ kind: 'patch', workers: ['a', 'b'], patch: { slots: 4 }, per_second: 1 })
    await fixture.call('PATCH', `/api/v1/automations/${TYPE}/workers/b/config`, { slots: 2 })
    await fixture.advance(2_000)
    await fixture.applyAll()
    await fixture.advance(4_000)
    expect(await fixture.get(created)).toMatchObject({ state: 'done', counts: { done: 1, conflict: 1 } })
    expect(await fixture.slots()).toEqual({ a: 4, b: 2 })
  })

  it('is refused if another number of workers would change than expected, or none', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect('a', 'b')
    const body = { kind: 'patch', workers: ['a', 'b'], patch: { slots: 4 } }
    expect((await fixture.call('POST', PATH, { ...body, expected: 3 })).status).toBe(412)
    expect((await fixture.call('POST', PATH, { ...body, patch: { slots: 1 } })).status).toBe(422)
    expect((await fixture.call('POST', PATH, { ...body, expected: 2 })).status).toBe(200)
  })

  it.each([
    ['no patch', { kind: 'patch', workers: ['a'] }],
    ['an empty patch', { kind: 'patch', workers: ['a'], patch: {} }],
    ['no workers', { kind: 'patch', patch: { slots: 1 } }],
    ['workers and patterns', { kind: 'patch', workers: ['a'], id_patterns: ['*'], patch: { slots: 1 } }],
    ['a patch of a drain', { kind: 'drain', workers: ['a'], patch: { slots: 1 } }],
    ['workers of a replay', { kind: 'replay', workers: ['a'] }],
  ])('rejects %s', async (_, body) => {
    const fixture = await OperationFixture.open()
    expect((await fixture.call('POST', PATH, body)).status).toBe(422)
    expect((await fixture.call('POST', `${PATH}/preview`, body)).status).toBe(422)
  })

  it('needs configure, or operate for slots and enabled, and shows only the types of the token', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect('a', 'b')
    const body = (patch: object) => ({ kind: 'patch', workers: ['a'], patch })
    const status = async (patch: object, token: string) => (await fixture.call('POST', PATH, body(patch), token)).status
    expect(await status({ host: 'x' }, tokenWith('operate'))).toBe(403)
    expect(await status({ slots: 4 }, TOKENS.probe)).toBe(403)
    expect(await status({ slots: 4 }, TOKENS.viewer)).toBe(403)
    expect(await status({ slots: 4 }, tokenWith('operate'))).toBe(200)
    const list = async (token: string) =>
      ((await fixture.call('GET', '/api/v1/operations', undefined, token)).json as { operations: unknown[] }).operations
    expect(await list(TOKENS.viewer)).toHaveLength(1)
    expect(await list(TOKENS.probe)).toHaveLength(0)
  })

  it('keeps the newest 20 that have ended', async () => {
    const fixture = await OperationFixture.open()
    await fixture.connect('a')
    let last = ''
    for (let n = 0; n < 24; n += 1) {
      const created = await fixture.create({ kind: 'patch', workers: ['a'], patch: { slots: n + 2 } })
      last = created.operation
      await fixture.call('POST', `${PATH}/${last}/cancel`)
    }
    const { operations } = (await fixture.call('GET', '/api/v1/operations')).json as { operations: OperationShown[] }
    expect(operations).toHaveLength(20)
    expect(operations.some(({ operation }) => operation === last)).toBe(true)
  })
})
