/** Tests group commit, its limits, and the outcome of a group when a call or the engine fails. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { VirtualTime } from '../../../src/runtime/index.ts'
import { Committer } from '../../../src/storage/sqlite/committer.ts'
import type { CallGroup, CallResult, CallRule } from '../../../src/storage/sqlite/calls.ts'
import { Engine } from '../../../src/storage/sqlite/engine.ts'
import { SqliteBackend, type SqliteOptions } from '../../../src/storage/sqlite/index.ts'
import { DAY, fails, ManualClock, TYPE, reserve, submit, task } from '../contract/fixture.ts'
import { backendOn, folders, THREAD_URL } from './fixture.ts'

const folder = folders()
const opened: SqliteBackend[] = []

afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close()
})

async function openedWith(more: Partial<SqliteOptions> & { readonly time?: VirtualTime } = {}): Promise<SqliteBackend> {
  const backend = backendOn(folder().file, new ManualClock(), more)
  opened.push(backend)
  await backend.open(AbortSignal.timeout(30_000))
  return backend
}

/** A committer whose engine completes a group when the test calls `answer`. */
function held(): { committer: Committer; groups: { group: CallGroup; answer: () => void }[] } {
  const groups: { group: CallGroup; answer: () => void }[] = []
  const run = (group: CallGroup): Promise<readonly CallResult[]> =>
    new Promise((resolve) => {
      groups.push({
        group,
        answer: () => resolve(group.calls.map(({ method }) => ({ kind: 'returned', value: method }))),
      })
    })
  return { committer: new Committer({ nowMs: () => 0, run, onOutcome: () => undefined }), groups }
}

const call = (
  committer: Committer,
  method: string,
  items = 1,
  kind: CallRule['kind'] = 'write',
  text = '',
): Promise<unknown> => committer.call({ group: 'kv', method, args: [Array.from({ length: items }, () => text)] }, kind)
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('group commit', () => {
  it('sends the calls of one turn together, and later calls with the next group', async () => {
    const { committer, groups } = held()
    const first = [call(committer, 'a'), call(committer, 'b')]
    await turn()
    const second = [call(committer, 'c'), call(committer, 'd'), call(committer, 'e')]
    await turn()
    expect(groups.map(({ group }) => group.calls.map(({ method }) => method))).toEqual([['a', 'b']])
    groups[0]?.answer()
    expect(await Promise.all(first)).toEqual(['a', 'b'])
    await turn()
    expect(groups[1]?.group.calls.map(({ method }) => method)).toEqual(['c', 'd', 'e'])
    groups[1]?.answer()
    expect(await Promise.all(second)).toEqual(['c', 'd', 'e'])
  })

  it('sends a call that follows a response together with the waiting calls', async () => {
    const { committer, groups } = held()
    const chain = (async () => {
      await call(committer, 'look', 1, 'read')
      for (let i = 0; i < 10; i += 1) await Promise.resolve() // Simulates the layers of the caller.
      return call(committer, 'reserve')
    })()
    await turn()
    const waited = call(committer, 'ack')
    groups[0]?.answer()
    await turn()
    expect(groups.map(({ group }) => group.calls.map(({ method }) => method))).toEqual([['look'], ['ack', 'reserve']])
    groups[1]?.answer()
    expect(await Promise.all([chain, waited])).toEqual(['reserve', 'ack'])
  })

  it('limits a group to 2,000 items or 8 MiB, but always takes one call', async () => {
    const { committer, groups } = held()
    const all = [
      call(committer, 'a', 900),
      call(committer, 'b', 900),
      call(committer, 'c', 900),
      call(committer, 'd', 3, 'write', 'x'.repeat(4_000_000)),
      call(committer, 'e'),
    ]
    for (let i = 0; i < 4; i += 1) {
      await turn()
      groups[i]?.answer()
    }
    await Promise.all(all)
    expect(groups.map(({ group }) => group.calls.map(({ method }) => method))).toEqual([
      ['a', 'b'],
      ['c'],
      ['d'],
      ['e'],
    ])
  })

  it('is relaxed only if every change in it is', async () => {
    const { committer, groups } = held()
    for (const kinds of [['read'], ['read', 'relaxed'], ['read', 'relaxed', 'write']] as const) {
      const calls = kinds.map((kind) => call(committer, kind, 1, kind))
      await turn()
      groups.at(-1)?.answer()
      await Promise.all(calls)
    }
    expect(groups.map(({ group }) => group.kind)).toEqual(['read', 'relaxed', 'write'])
  })

  it('rejects more than 10,000 waiting items, and accepts calls again when they are done', async () => {
    const { committer, groups } = held()
    const all = [call(committer, 'running', 500)]
    await turn()
    for (let i = 0; i < 20; i += 1) all.push(call(committer, `w${i}`, 500))
    await expect(call(committer, 'too much')).rejects.toEqual(fails('STORAGE_OVERLOADED'))
    for (let i = 0; i < 6; i += 1) {
      groups[i]?.answer()
      await turn()
    }
    await Promise.all(all)
    const again = call(committer, 'again')
    await turn()
    groups.at(-1)?.answer()
    expect(await again).toBe('again')
  })

  it('rejects more than 64 MiB of waiting text', async () => {
    const { committer } = held()
    void call(committer, 'running')
    await turn()
    for (let i = 0; i < 8; i += 1) void call(committer, 'w', 2, 'write', 'x'.repeat(4 * 1_048_576))
    await expect(call(committer, 'too much', 1, 'write', 'x')).rejects.toEqual(fails('STORAGE_OVERLOADED'))
  })

  it('settles every call within 5 s: sent calls as unknown, waiting calls as not sent', async () => {
    const { committer } = held()
    const sent = call(committer, 'sent')
    await turn()
    const waiting = call(committer, 'waiting')
    const results = Promise.allSettled([sent, waiting])
    for (let i = 0; i < 6; i += 1) committer.tick()
    expect(await results).toEqual([
      { status: 'rejected', reason: expect.objectContaining({ code: 'STORAGE_UNAVAILABLE', outcome: 'unknown' }) },
      { status: 'rejected', reason: expect.objectContaining({ code: 'STORAGE_UNAVAILABLE', outcome: 'not_sent' }) },
    ])
  })
})

describe('a group with one failing call', () => {
  it('fails only that call and keeps the others, in memory and in the file', async () => {
    const { file } = folder()
    const engine = new Engine({ path: file, newEpoch: 'e' })
    engine.open()
    const submitCall = (id: string) => ({ group: 'tasks', method: 'submit', args: [TYPE, DAY, [task(id)]] }) as const
    // Fails after its first item was stored.
    const broken = {
      group: 'tasks',
      method: 'submit',
      args: [TYPE, DAY, [task('x'), task('y', { body: null as unknown as string })]],
    } as const
    const results = engine.run({ nowMs: 1, kind: 'write', calls: [submitCall('a'), broken, submitCall('b')] })
    expect(results).toEqual([
      { kind: 'returned', value: [{ kind: 'queued' }] },
      { kind: 'threw', error: expect.objectContaining({ code: null }) },
      { kind: 'returned', value: [{ kind: 'queued' }] },
    ])
    const look = {
      nowMs: 2,
      kind: 'read',
      calls: [
        { group: 'tasks', method: 'counts', args: [[TYPE]] },
        { group: 'tasks', method: 'locate', args: [TYPE, ['a', 'b', 'x', 'y']] },
      ],
    } as const
    const seen = engine.run(look)
    expect(seen[0]).toEqual({
      kind: 'returned',
      value: [expect.objectContaining({ tiers: [0, 2, 0], totals: expect.objectContaining({ submitted: 2 }) })],
    })
    expect(seen[1]).toEqual({ kind: 'returned', value: ['pending', 'pending', null, null] })
    engine.close(3)
    const again = new Engine({ path: file, newEpoch: 'e' })
    again.open()
    expect(again.run(look)).toEqual(seen)
    again.close(4)
  })
})

describe('a disk that is nearly full', () => {
  it('rejects writes that grow the store, and accepts acks, pops and reads', async () => {
    const time = new VirtualTime()
    let free = 1e12
    const backend = await openedWith({ time, freeBytes: async () => free })
    await submit(backend, 'a', 'b')
    const leases = await reserve(backend, 1)
    free = 64 * 1_048_576 - 1
    await time.advance(5_000)
    await expect(backend.tasks.submit(TYPE, DAY, [task('c')])).rejects.toEqual(fails('STORAGE_FULL'))
    await expect(backend.kv.set('n', [{ key: 'k', value: '1', ttlMs: null }])).rejects.toEqual(fails('STORAGE_FULL'))
    expect(await backend.tasks.ack(TYPE, leases)).toEqual(['ok'])
    expect((await backend.tasks.queue(TYPE, 10)).length).toBe(1)
    expect(await backend.streams.pop(TYPE, 1)).toEqual([])
    free = 1e12
    await time.advance(5_000)
    await submit(backend, 'c')
  })

  it('keeps no outcome in the space that is reserved for tasks, and accepts the ack (D110)', async () => {
    const time = new VirtualTime()
    let free = 1e12
    const backend = await openedWith({ time, freeBytes: async () => free })
    await submit(backend, task('a', { retainMs: DAY }), task('b', { retainMs: DAY }))
    const leases = await reserve(backend, 2)
    free = 128 * 1_048_576 - 1
    await time.advance(5_000)
    expect(await backend.tasks.ack(TYPE, leases.slice(0, 1))).toEqual(['ok'])
    free = 1e12
    await time.advance(5_000)
    expect(await backend.tasks.ack(TYPE, leases.slice(1))).toEqual(['ok'])
    expect(await backend.tasks.describe(TYPE, ['a', 'b'])).toMatchObject([null, { kind: 'done' }])
  })
})

describe('the idle work of a SQLite store', () => {
  it('deletes cleared tasks and expired keys, and shortens the log', async () => {
    const time = new VirtualTime()
    const { file } = folder()
    const backend = new SqliteBackend({
      path: file,
      clock: time,
      timers: time,
      random: { unit: () => 0, bytes: (n) => new Uint8Array(n), uuid: () => 'u' },
    })
    opened.push(backend)
    await backend.open(AbortSignal.timeout(30_000))
    for (let batch = 0; batch < 5; batch += 1) {
      await backend.tasks.submit(
        TYPE,
        DAY,
        Array.from({ length: 500 }, (_, i) => task(`${batch}-${i}`)),
      )
      const leases = await reserve(backend)
      await backend.tasks.nack(
        TYPE,
        { baseMs: 1, factor: 1, capMs: 1 },
        leases.map((lease) => ({
          id: lease.id,
          token: lease.token,
          error: '',
          retryInMs: null,
          permanent: true,
          jitter: 0,
        })),
      )
    }
    expect(await backend.tasks.clearDead(TYPE)).toBe(2_500)
    await time.advance(3_000)
    await backend.close()
    const { default: Sqlite } = await import('better-sqlite3')
    const db = new Sqlite(file, { readonly: true })
    expect(
      db.prepare<[], number>('SELECT (SELECT count(*) FROM task) + (SELECT count(*) FROM body)').pluck().get(),
    ).toBe(0)
    db.close()
  })
})

describe('a storage thread that dies', () => {
  it('reports its calls as unknown, and is restarted by the next call', async () => {
    const { ThreadHost } = await import('../../../src/storage/sqlite/host.ts')
    const host = new ThreadHost(THREAD_URL)
    const backend = await openedWith({ host })
    await submit(backend, 'a')
    const cut = backend.tasks.counts([TYPE])
    const died = expect(cut).rejects.toEqual(
      expect.objectContaining({ code: 'STORAGE_UNAVAILABLE', outcome: 'unknown' }),
    )
    await host.kill()
    await died
    expect(backend.health().ok).toBe(false)
    expect((await backend.tasks.queue(TYPE, 10)).length).toBe(1)
    expect(backend.health().ok).toBe(true)
  })
})
