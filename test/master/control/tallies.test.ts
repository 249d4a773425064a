/** What masters add to the tallies of revisions (D138). */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { FleetError } from '../../../src/protocol/index.ts'
import type { Tally } from '../../../src/storage/index.ts'
import { RegistryFixture, stateFrame, statsFrame, type WorkerClient } from '../registry/fixture.ts'

const SECONDS = 1_000
let fixture: RegistryFixture
const others: RegistryFixture[] = []
beforeEach(async () => {
  fixture = await RegistryFixture.open()
  for (const name of ['r1', 'r2'])
    await fixture.deps.backend.revisions.put('mailer', { name, config: '{}', managedBy: null, actor: 'a' })
})
afterEach(async () => {
  for (const other of others.splice(0)) await other.close()
  await fixture.close()
})

/** Brings a worker to a revision with a new generation, which is returned. */
async function bring(id: string, revision = 'r1'): Promise<number> {
  const { configs } = fixture.deps.backend
  const [row] = await configs.get([{ type: 'mailer', id }])
  if (row === null || row === undefined) throw new Error(`there is no ${id}`)
  const put = { id, expectGen: row.gen, expectConfig: row.config, expectManagedBy: row.managedBy, variant: '-' }
  const change = { config: row.config, patch: '{}', changed: [] }
  const bulk = { revision, managedBy: null, actor: 'a' }
  expect(await configs.putMany('mailer', bulk, [{ ...put, change }])).toMatchObject([{ kind: 'stored' }])
  return row.gen + 1
}

/** A worker that runs generation `gen`. */
async function report(worker: WorkerClient, gen: number, counters: object = {}): Promise<void> {
  worker.send(stateFrame({ config_gen: gen }))
  await worker.settled()
  await count(worker, gen, counters)
}
async function count(worker: WorkerClient, gen: number, counters: object): Promise<void> {
  worker.send(statsFrame({ metrics: { 'gauge.muster.config_gen': gen, ...counters } }))
  await worker.settled()
}
const ok = (n: number): object => ({ 'counter.muster.runs_ok': n })
const failed = (n: number): object => ({ 'counter.muster.runs_failed': n })

async function tallies(): Promise<Readonly<Record<string, Tally>>> {
  for (const each of [fixture, ...others]) await each.time.advance(5 * SECONDS)
  const rows = await fixture.deps.backend.revisions.list('mailer')
  return Object.fromEntries(rows.map(({ name, tally }) => [name, tally]))
}

describe('the tally of a revision', () => {
  it('adds up the differences of the frames of its workers, every 5 s (D138)', async () => {
    const [one, two] = [await fixture.worker('w1'), await fixture.worker('w2')]
    await bring('w1')
    await bring('w2')
    await report(one, 1, { ...ok(3), 'counter.muster.run_ms_le.9': 3 })
    await report(two, 1, failed(1))
    await count(one, 1, { ...ok(5), 'counter.muster.run_ms_le.9': 4, 'counter.muster.run_ms_le.10': 1 })
    await fixture.time.advance(4 * SECONDS)
    expect(await fixture.deps.backend.revisions.list('mailer')).toMatchObject([{ tally: {} }, { tally: {} }])
    expect(await tallies()).toEqual({
      r1: { runs_ok: 5, runs_failed: 1, 'run_ms_le.9': 4, 'run_ms_le.10': 1 },
      r2: {},
    })
    await count(one, 1, { ...ok(5), 'counter.muster.run_ms_le.9': 4, 'counter.muster.run_ms_le.10': 1 })
    expect((await tallies())['r1']).toMatchObject({ runs_ok: 5 })
  })

  it('gets what its generation counted, whatever another generation counted before (D138)', async () => {
    const worker = await fixture.worker('w1')
    await bring('w1', 'r1')
    await report(worker, 1, ok(7))
    await bring('w1', 'r2')
    await count(worker, 1, ok(9)) // The worker has not applied the new config yet.
    await report(worker, 2, ok(10))
    expect(await tallies()).toMatchObject({ r1: { runs_ok: 9 }, r2: { runs_ok: 10 } })
  })

  it('gets nothing from a generation that no revision wrote, or that is not stored yet (D138)', async () => {
    const worker = await fixture.worker('w1')
    await report(worker, 0, ok(1))
    await bring('w1')
    for (const gen of [7, -1, 1.5, 1e300]) await count(worker, gen, ok(100))
    await fixture.patch('w1', { slots: 3 })
    await report(worker, 2, ok(50))
    expect(await tallies()).toEqual({ r1: {}, r2: {} })
  })

  it('counts a restarted process from 0, also if its counters are higher (D138)', async () => {
    const before = await fixture.worker('w1', { instance: 'first' })
    await bring('w1')
    await report(before, 1, ok(4))
    await before.close()
    const after = await fixture.worker('w1', { instance: 'second' })
    await report(after, 1, ok(6))
    await count(after, 1, ok(7))
    expect((await tallies())['r1']).toMatchObject({ runs_ok: 11 })
  })

  it('counts a process that connects again from its first frame, so nothing twice (D138)', async () => {
    const before = await fixture.worker('w1', { instance: 'same' })
    await bring('w1')
    await report(before, 1, ok(4))
    await before.close()
    const after = await fixture.worker('w1', { instance: 'same' })
    await report(after, 1, ok(5))
    await count(after, 1, ok(7))
    expect((await tallies())['r1']).toMatchObject({ runs_ok: 6 })
  })

  it('takes a lower value as a restart of all reserved counters; one that is 0 is left out (D138)', async () => {
    const worker = await fixture.worker('w1')
    await bring('w1')
    await report(worker, 1, { ...ok(4), ...failed(2) })
    await count(worker, 1, failed(3))
    expect((await tallies())['r1']).toMatchObject({ runs_ok: 4, runs_failed: 5 })
    await count(worker, 1, { ...ok(1), ...failed(2) })
    await count(worker, 1, { ...ok(2), ...failed(1) })
    expect((await tallies())['r1']).toMatchObject({ runs_ok: 7, runs_failed: 8 })
  })

  it('adds up counters of plugins, which continue with another config (D138)', async () => {
    const worker = await fixture.worker('w1')
    await bring('w1', 'r1')
    await report(worker, 1, { 'counter.http_5xx': 100 })
    await bring('w1', 'r2')
    await report(worker, 2, { 'counter.http_5xx': 103.5 })
    expect(await tallies()).toMatchObject({ r1: { 'counter.http_5xx': 100 }, r2: { 'counter.http_5xx': 3.5 } })
  })

  it('adds up entries into ERROR, and the time under the revision (D138)', async () => {
    const worker = await fixture.worker('w1')
    await bring('w1')
    const say = async (state: string): Promise<void> => {
      worker.send(stateFrame({ config_gen: 1, state, last_error: state === 'ERROR' ? 'no' : null }))
      await worker.settled()
    }
    for (const state of ['ERROR', 'ERROR', 'RUNNING', 'ERROR']) await say(state)
    await count(worker, 1, {})
    await fixture.time.advance(15 * SECONDS)
    await count(worker, 1, {})
    await fixture.time.advance(600 * SECONDS)
    await count(worker, 1, {})
    expect((await tallies())['r1']).toEqual({ error_entries: 2, worker_seconds: 75 })
    await worker.close()
    const again = await fixture.worker('w1') // It was in ERROR when it disconnected.
    again.send(stateFrame({ config_gen: 1, state: 'ERROR', last_error: 'no' }))
    await again.settled()
    expect((await tallies())['r1']).toMatchObject({ error_entries: 2 })
  })

  it('adds up over two masters, and over a worker that moves between them (D138)', async () => {
    const other = await RegistryFixture.open({ shared: fixture, masterId: 'm2' })
    others.push(other)
    const [one, two] = [await fixture.worker('w1', { instance: 'a' }), await other.worker('w2', { instance: 'b' })]
    await bring('w1')
    await bring('w2')
    await report(one, 1, ok(3))
    await report(two, 1, ok(4))
    expect((await tallies())['r1']).toMatchObject({ runs_ok: 7 })
    const moved = await other.worker('w1', { instance: 'a' })
    await report(moved, 1, ok(5))
    await count(moved, 1, ok(6))
    const back = await fixture.worker('w1', { instance: 'a' })
    await report(back, 1, ok(8))
    await count(back, 1, ok(9))
    expect((await tallies())['r1']).toMatchObject({ runs_ok: 9 })
  })

  it('loses nothing when the master stops (D138)', async () => {
    const other = await RegistryFixture.open({ shared: fixture, masterId: 'm2' })
    const worker = await other.worker('w1')
    await bring('w1')
    await report(worker, 1, ok(3))
    await other.control.stop?.()
    expect(await fixture.deps.backend.revisions.list('mailer')).toMatchObject([
      { name: 'r2' },
      { tally: { runs_ok: 3 } },
    ])
  })

  it('gets what the store rejected with the next call, unless it may have been added (D138)', async () => {
    const { revisions } = fixture.deps.backend
    const add = revisions.addTallies.bind(revisions)
    const failWith = (outcome: 'not_sent' | 'unknown') => async () => {
      revisions.addTallies = add
      throw new FleetError('STORAGE_UNAVAILABLE', 'unavailable', { outcome })
    }
    const worker = await fixture.worker('w1')
    await bring('w1')
    revisions.addTallies = failWith('not_sent')
    await report(worker, 1, ok(3))
    expect(await tallies()).toMatchObject({ r1: {} })
    await count(worker, 1, ok(4))
    expect(await tallies()).toMatchObject({ r1: { runs_ok: 4 } })
    revisions.addTallies = failWith('unknown')
    await count(worker, 1, ok(6))
    await tallies()
    expect(await tallies()).toMatchObject({ r1: { runs_ok: 4 } })
  })

  it('ignores what a hostile worker sends beyond its bounds (D138)', async () => {
    const worker = await fixture.worker('w1')
    await bring('w1')
    const names = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`counter.x${i}`, 1]))
    await report(worker, 1, {
      ...names,
      [`counter.${'x'.repeat(300)}`]: 1,
      'counter.muster.other': 1,
      'counter.muster.runs_ok': -5,
      'counter.muster.runs_failed': 1e300,
      'counter.muster.run_ms_le.88': 1,
      'counter.muster.runs_released': Number.MAX_SAFE_INTEGER,
    })
    for (const n of [1, 2, 3]) await count(worker, 1, { 'counter.muster.runs_released': n, [`counter.later${n}`]: 1 })
    const { r1 = {} } = await tallies()
    expect(Object.keys(r1)).toHaveLength(65)
    expect(r1).toMatchObject({ runs_released: Number.MAX_SAFE_INTEGER, 'counter.x0': 1, 'counter.x63': 1 })
    expect(worker.socket.readyState).toBe(worker.socket.OPEN)
  })

  it('bounds what it keeps until the store takes it (D138)', async () => {
    const { revisions } = fixture.deps.backend
    const taken: number[] = []
    revisions.addTallies = async (_, [increment]) => void taken.push(Object.keys(increment?.counters ?? {}).length)
    const worker = await fixture.worker('w1')
    await bring('w1')
    const some = (n: number): object =>
      Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`counter.x${n}_${i}`, 1]))
    await report(worker, 1, some(1))
    await count(worker, 1, some(2))
    await count(worker, 1, some(3))
    await fixture.time.advance(5 * SECONDS)
    expect(taken).toEqual([64])
  })

  it('of a revision that is not stored any more is left out, without an error (D138)', async () => {
    const worker = await fixture.worker('w1')
    await bring('w1')
    await report(worker, 1, ok(3))
    const { revisions } = fixture.deps.backend
    const add = revisions.addTallies.bind(revisions)
    revisions.addTallies = (type, increments) =>
      add(
        type,
        increments.map((each) => ({ ...each, revision: 'dropped' })),
      )
    expect(await tallies()).toEqual({ r1: {}, r2: {} })
    expect(fixture.log.lines.filter(({ level }) => level === 'warn')).toEqual([])
  })
})
