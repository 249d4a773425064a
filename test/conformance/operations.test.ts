/** Operations: changes of many workers, or of many dead tasks, that the master carries out (D189 to D192). */
import { expect, it } from '@jest/globals'
import { API, onEachStore, OTHER, SCOPED, SECOND, type ConformanceFixture, type Json, type Worker } from './fixture.ts'

const OPERATIONS = '/mailer/operations'
const IDS = ['w-1', 'w-2', 'w-3', 'w-4']
/** One worker after the other. */
const SERIAL = { parallel: 1, stop_after: 1 }
const PATCH = { kind: 'patch', workers: IDS, patch: { slots: 4 }, per_second: 1, bake_seconds: 0 }
/** Seconds within which an operation of a few workers has to get where a test expects it. */
const PATIENCE = 60

onEachStore('operations', (open) => {
  async function withWorkers() {
    const fixture = await open()
    return { fixture, workers: await connect(fixture) }
  }
  const connect = (fixture: ConformanceFixture): Promise<Worker[]> => Promise.all(IDS.map((id) => fixture.worker(id)))
  const create = (fixture: ConformanceFixture, body: object): Promise<Json> => fixture.ok('POST', OPERATIONS, body)
  const read = (fixture: ConformanceFixture, { operation }: Json): Promise<Json> =>
    fixture.ok('GET', `${OPERATIONS}/${operation}`)
  const slots = (fixture: ConformanceFixture): Promise<Json[]> =>
    Promise.all(IDS.map(async (id) => (await fixture.record(id)).config.slots))

  /** Each worker reports that it has applied its stored config. */
  async function applyAll(fixture: ConformanceFixture, workers: readonly Worker[]): Promise<void> {
    for (const worker of workers) worker.state({ config_gen: (await fixture.record(worker.id)).config_gen })
  }

  /** Lets seconds pass, in which workers apply their configs, until the operation has got there. */
  async function passUntil(
    fixture: ConformanceFixture,
    operation: Json,
    { isThere, workers = [] }: { readonly isThere: (seen: Json) => boolean; readonly workers?: readonly Worker[] },
  ): Promise<Json> {
    for (let second = 0; ; second += 1) {
      const seen = await read(fixture, operation)
      if (isThere(seen) || second === PATIENCE) return seen
      await applyAll(fixture, workers)
      await fixture.pass(SECOND, SECOND)
    }
  }
  async function reach(
    fixture: ConformanceFixture,
    operation: Json,
    { shape, workers = [] }: { readonly shape: object; readonly workers?: readonly Worker[] },
  ): Promise<Json> {
    const isThere = (seen: Json): boolean => expect.objectContaining(shape).asymmetricMatch(seen)
    const seen = await passUntil(fixture, operation, { isThere, workers })
    expect(seen).toMatchObject(shape)
    return seen
  }
  /** Some workers or tasks are done, and others wait. */
  const isUnderWay = ({ counts: { done, pending } }: Json): boolean => done > 0 && pending > 0
  const counts = (of: object): object => ({ counts: expect.objectContaining(of) })

  it('D189a, D189b: counts what would change, and refuses another number than the expected one', async () => {
    const { fixture } = await withWorkers()
    await fixture.patch('w-1', { slots: 4 })
    const { kind, workers, patch } = PATCH
    const preview = await fixture.ok('POST', `${OPERATIONS}/preview`, { kind, workers: [...workers, 'w-5'], patch })
    expect(preview).toMatchObject({ total: 5, change: 3, unchanged: 1, unknown: 1, refused: 0, offline: 0 })
    expect(preview.values).toEqual([{ values: { slots: 1 }, workers: 3 }])
    const refused = await fixture.call('POST', `${API}/automations${OPERATIONS}`, { body: { ...PATCH, expected: 4 } })
    expect([refused.status, refused.text]).toEqual([412, expect.stringContaining('3 workers would change, not 4')])
    expect((await fixture.call('GET', `${API}/operations`)).body).toEqual({ operations: [] })
    expect(await slots(fixture)).toEqual([4, 1, 1, 1])
    expect(await create(fixture, { ...PATCH, expected: 3 })).toMatchObject({ state: 'running', total: 4 })
  })

  it('D189c: shows its progress, who created it and why, and what became of each worker', async () => {
    const { fixture, workers } = await withWorkers()
    const created = await fixture.ok(
      'POST',
      OPERATIONS,
      { ...PATCH, ...SERIAL, note: 'more load' },
      { headers: { 'muster-actor': 'ana' } },
    )
    expect(created).toMatchObject({ created_by: 'admin ana', note: 'more load', counts: { pending: 4 } })
    const middle = await passUntil(fixture, created, { isThere: isUnderWay, workers })
    expect([isUnderWay(middle), middle.state]).toEqual([true, 'running'])
    await reach(fixture, created, { shape: { state: 'done', ...counts({ done: 4, pending: 0 }) }, workers })
    expect(await slots(fixture)).toEqual([4, 4, 4, 4])
    const { results } = await fixture.ok('GET', `${OPERATIONS}/${created.operation}/results`)
    expect(results).toEqual(
      IDS.map((id) => ({ worker_id: id, result: 'done', config_gen_before: 0, config_gen: 1, message: null })),
    )
    const [row] = await fixture.ok('GET', '/mailer/workers/w-1/config/history')
    expect(row).toMatchObject({
      config_gen: 1,
      actor: `operation ${created.operation} of admin ana`,
      changed: ['slots'],
    })
  })

  it('D189d: leaves a worker alone that was changed after the operation was created', async () => {
    const { fixture, workers } = await withWorkers()
    const created = await create(fixture, PATCH)
    await fixture.patch('w-4', { slots: 7 })
    await reach(fixture, created, { shape: { state: 'done', ...counts({ done: 3, conflict: 1 }) }, workers })
    expect(await slots(fixture)).toEqual([4, 4, 4, 7])
  })

  it('D189e: rejects a wrong body and an unknown operation, and hides the operations of other types', async () => {
    const { fixture } = await withWorkers()
    for (const body of [
      {},
      { kind: 'patch', workers: IDS },
      { kind: 'patch', workers: IDS, patch: {} },
      { kind: 'drain', workers: IDS, patch: { slots: 4 } },
      { ...PATCH, id_patterns: ['*'] },
      { ...PATCH, note: '' },
      { ...PATCH, per_second: 0 },
    ])
      expect([body, await fixture.status('POST', OPERATIONS, body)]).toEqual([body, 422])
    expect(await fixture.status('GET', `${OPERATIONS}/0000aaaa`)).toBe(404)
    expect(await fixture.status('POST', `${OPERATIONS}/0000aaaa/cancel`)).toBe(404)
    await create(fixture, PATCH)
    const list = async (token: string): Promise<Json> =>
      (await fixture.call('GET', `${API}/operations`, { token })).body.operations
    expect([(await list(SCOPED)).length, (await list(OTHER)).length]).toEqual([1, 0])
    expect(await fixture.status('POST', OPERATIONS, PATCH, { token: OTHER })).toBe(403)
  })

  it('D190a: continues after a restart of the master, and changes no worker twice', async () => {
    const { fixture, workers } = await withWorkers()
    const created = await create(fixture, { ...PATCH, parallel: 1 })
    await passUntil(fixture, created, { isThere: isUnderWay, workers })
    await fixture.restart()
    const middle = await read(fixture, created)
    expect([isUnderWay(middle), middle.state]).toEqual([true, 'running'])
    const again = await connect(fixture)
    await reach(fixture, created, { shape: { state: 'done', ...counts({ pending: 0, active: 0 }) }, workers: again })
    expect(await slots(fixture)).toEqual([4, 4, 4, 4])
    for (const id of IDS)
      expect(await fixture.ok('GET', `/mailer/workers/${id}/config/history`)).toMatchObject([{ config_gen: 1 }])
  })

  it('D190b: stops after the number of failures that its creator chose', async () => {
    const { fixture, workers } = await withWorkers()
    const created = await create(fixture, { ...PATCH, ...SERIAL })
    await reach(fixture, created, { shape: counts({ active: 1 }) })
    workers[0]?.state({ state: 'ERROR', config_gen: 1, last_error: 'no such host' })
    const stopped = await reach(fixture, created, { shape: { state: 'stopped' } })
    expect(stopped).toMatchObject({ reason: '1 worker has failed', counts: { failed: 1, pending: 3 } })
    expect(stopped.failures).toEqual([{ worker_id: 'w-1', message: 'no such host' }])
    await fixture.pass(5 * SECOND, SECOND)
    expect(await slots(fixture)).toEqual([4, 1, 1, 1])
  })

  it('D190c: begins no further worker after a cancel, and still judges those that it changed', async () => {
    const { fixture, workers } = await withWorkers()
    const created = await create(fixture, { ...PATCH, parallel: 1 })
    await reach(fixture, created, { shape: counts({ active: 1 }) })
    const cancel = `${OPERATIONS}/${created.operation}/cancel`
    expect(await fixture.ok('POST', cancel)).toMatchObject({ state: 'cancelled', reason: 'cancelled by admin' })
    await reach(fixture, created, { shape: counts({ done: 1, active: 0, pending: 3 }), workers })
    await fixture.pass(5 * SECOND, SECOND)
    expect(await slots(fixture)).toEqual([4, 1, 1, 1])
    expect(await fixture.ok('POST', cancel)).toMatchObject({ state: 'cancelled', counts: { pending: 3 } })
  })

  it('D191: restores the values before, once, and leaves alone a worker that was changed later', async () => {
    const { fixture, workers } = await withWorkers()
    await fixture.patch('w-1', { slots: 2 })
    const created = await create(fixture, PATCH)
    const undo = `${OPERATIONS}/${created.operation}/undo`
    expect(await fixture.status('POST', undo)).toBe(422)
    expect(await reach(fixture, created, { shape: { state: 'done' }, workers })).toMatchObject({ can_undo: true })
    await fixture.patch('w-4', { slots: 9 })
    const undoing = await fixture.ok('POST', undo)
    expect(undoing).toMatchObject({ undo_of: created.operation, counts: { pending: 3, conflict: 1 } })
    await reach(fixture, undoing, { shape: { state: 'done', ...counts({ done: 3, conflict: 1 }) }, workers })
    expect(await slots(fixture)).toEqual([2, 1, 1, 9])
    expect(await read(fixture, created)).toMatchObject({ undone_by: undoing.operation, can_undo: false })
    expect(await fixture.status('POST', undo)).toBe(422)
  })

  it('D192: replays dead tasks at its pace, and leaves the rest dead after a cancel', async () => {
    const { fixture } = await withWorkers()
    for (let n = 0; n < 6; n += 1) await fixture.dead('w-1')
    fixture.time.jump(SECOND)
    const created = await create(fixture, { kind: 'replay', per_second: 1, expected: 6 })
    const middle = await passUntil(fixture, created, { isThere: isUnderWay })
    expect([isUnderWay(middle), middle.state]).toEqual([true, 'running'])
    await fixture.ok('POST', `${OPERATIONS}/${created.operation}/cancel`)
    await fixture.pass(5 * SECOND, SECOND)
    const { counts: at, state } = await read(fixture, created)
    const [dead, queue] = [await fixture.ok('GET', '/mailer/dead'), await fixture.ok('GET', '/mailer/queue')]
    expect([state, at.pending > 0]).toEqual(['cancelled', true])
    expect([dead.length, queue.length]).toEqual([at.pending, at.done])
    await fixture.pass(5 * SECOND, SECOND)
    expect(await read(fixture, created)).toMatchObject({ counts: { pending: at.pending } })
  })
})
