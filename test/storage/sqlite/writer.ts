/**
 * The process that crash.test.ts kills. It puts a store under load and prints one line of JSON for each result.
 * Usage: node writer.ts FILE RUN [late]   RUN names what this run writes; `late` confirms before the commit.
 */
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { systemRandom, systemTime } from '../../../src/runtime/index.ts'
import { SqliteBackend } from '../../../src/storage/sqlite/index.ts'

/** One result. */
export type Line =
  | { readonly op: 'open' }
  | { readonly op: 'refused'; readonly code: string; readonly message: string }
  | { readonly op: 'submit' | 'ack'; readonly ids: readonly string[]; readonly tokens: readonly number[] }
  | { readonly op: 'reserve'; readonly ids: readonly string[]; readonly tokens: readonly number[] }
  | { readonly op: 'push' | 'pop'; readonly numbers: readonly number[]; readonly ids: readonly string[] }
  | { readonly op: 'kv' | 'gen' | 'counter'; readonly value: number }

const TYPE = 'render'
const WORKER = { type: TYPE, id: 'w1' }
/** Its config never changes, so its generation is 0. */
const TAKER = { type: TYPE, id: 'w2' }
const [file = '', run = '', late] = process.argv.slice(2)

function say(line: Line): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

async function submits(backend: SqliteBackend): Promise<void> {
  for (let batch = 0; ; batch += 1) {
    const ids = Array.from({ length: 7 }, (_, i) => `${run}-${batch}-${i}`)
    await backend.tasks.submit(
      TYPE,
      60_000,
      ids.map((id) => ({
        id,
        ownId: true,
        key: null,
        tier: 1,
        ttlMs: null,
        maxAttempts: null,
        submittedAtMs: 1,
        body: '{"payload":{}}',
      })),
    )
    say({ op: 'submit', ids, tokens: [] })
  }
}

async function settles(backend: SqliteBackend): Promise<void> {
  for (;;) {
    const {
      results: [reservation],
    } = await backend.tasks.reserve(TYPE, 3_600_000, [{ worker: TAKER.id, limit: 10, gen: 0, defaultMaxAttempts: 3 }])
    if (reservation?.kind !== 'leased')
      throw new Error(`the reserve of a registered worker was rejected: ${reservation?.reason}`)
    const { leases } = reservation
    say({ op: 'reserve', ids: leases.map(({ id }) => id), tokens: leases.map(({ token }) => token) })
    const done = leases.slice(0, 6)
    if (done.length === 0) continue
    await backend.tasks.ack(TYPE, done)
    say({ op: 'ack', ids: done.map(({ id }) => id), tokens: done.map(({ token }) => token) })
    await backend.tasks.release(TYPE, leases.slice(6))
  }
}

async function streams(backend: SqliteBackend, from: number): Promise<void> {
  for (let next = from, seq = 1; ; next += 4, seq += 1) {
    const numbers = [0, 1, 2, 3].map((i) => next + i)
    await backend.streams.push(TYPE, run, seq, numbers.map(String))
    say({ op: 'push', numbers, ids: [] })
    const popped = await backend.streams.pop(TYPE, 3)
    say({ op: 'pop', numbers: popped.map(({ entry }) => Number(entry)), ids: popped.map(({ id }) => id) })
  }
}

async function values(backend: SqliteBackend): Promise<void> {
  const [held] = await backend.kv.get('n', ['k'])
  for (let value = Number(held ?? 0) + 1; ; value += 1) {
    await backend.kv.set('n', [{ key: 'k', value: String(value), ttlMs: null }])
    say({ op: 'kv', value })
    const [count] = await backend.counters.add('n', [{ name: 'c', delta: 1 }])
    say({ op: 'counter', value: Number(count) })
    const [config] = await backend.configs.get([WORKER])
    const put = await backend.configs.put({
      ...WORKER,
      expectGen: config?.gen ?? 0,
      config: `{"n":${value}}`,
      changed: ['n'],
      actor: 'admin',
    })
    if (put.kind === 'stored') say({ op: 'gen', value: put.gen })
  }
}

async function main(): Promise<void> {
  const threadUrl = pathToFileURL(join(import.meta.dirname, '../../../src/storage/sqlite/thread.ts'))
  const backend = new SqliteBackend({
    path: file,
    clock: systemTime,
    timers: systemTime,
    random: systemRandom,
    threadUrl,
    lateCommit: late === 'late',
  })
  try {
    await backend.open(AbortSignal.timeout(30_000))
  } catch (error) {
    say({
      op: 'refused',
      code: String(Reflect.get(Object(error), 'code')),
      message: String(Reflect.get(Object(error), 'message')),
    })
    return
  }
  await backend.workers.register(
    [WORKER, TAKER].map((worker) => ({ ...worker, conn: `${run}/1`, instance: '', hardware: '{}', defaults: '{}' })),
  )
  const [last] = (await backend.streams.tail(TYPE, null, 1)).entries
  say({ op: 'open' })
  await Promise.all([
    submits(backend),
    settles(backend),
    streams(backend, last === undefined ? 1 : Number(last.entry) + 1),
    values(backend),
  ])
}

await main()
