/**
 * The process whose disk operations are recorded. It runs one scenario with a store in this thread and prints the ids
 * of successfully submitted tasks as one line of JSON. It ends without a clean stop, like a crash.
 * Usage: SHIM_LOG=FILE node writer.ts FILE SCENARIO
 */
import { writeSync } from 'node:fs'
import { systemRandom, systemTime } from '../../../../src/runtime/index.ts'
import { SqliteBackend } from '../../../../src/storage/sqlite/index.ts'

const TYPE = 'render'
const WORKER = { type: TYPE, id: 'w1', conn: 'm/1' }
const [file = '', scenario = ''] = process.argv.slice(2)
const acked: string[] = []

function failSyncs(files: string): void {
  process.env['SHIM_EIO'] = files // Read by the shim at each fsync.
}

async function opened(): Promise<SqliteBackend> {
  const backend = new SqliteBackend({ path: file, clock: systemTime, timers: systemTime, random: systemRandom })
  await backend.open(AbortSignal.timeout(30_000))
  return backend
}

async function submit(backend: SqliteBackend, id: string): Promise<void> {
  const given = { key: null, tier: 1, ttlMs: null, maxAttempts: null, submittedAtMs: 1, body: '{}' } as const
  const task = { id, ownId: true, ...given }
  await backend.tasks.submit(TYPE, 60_000, [task]).then(
    () => acked.push(id),
    () => undefined,
  )
}

/** Writes changes that are not synced on their own, `pages` pages of 4 KiB or more. */
async function beat(backend: SqliteBackend, pages: number): Promise<void> {
  const stats = Array.from({ length: 5 }, (_, n) => JSON.stringify({ ts: n, text: 'x'.repeat(60_000) }))
  for (let written = 0; written < pages; written += 80) {
    await backend.workers.beat([{ ...WORKER, stats }]).catch(() => []) // The store dropped the handle of this group.
  }
}

const SCENARIOS: Readonly<Record<string, () => Promise<void>>> = {
  first: async () => submit(await opened(), 'a'),
  'behind-unsynced': async () => {
    const backend = await opened()
    await backend.workers.register([{ ...WORKER, instance: '', hardware: '{}', defaults: '{}' }])
    await beat(backend, 1)
    await submit(backend, 'b')
  },
  'unsynced-end': async () => {
    const backend = await opened()
    await backend.workers.register([{ ...WORKER, instance: '', hardware: '{}', defaults: '{}' }])
    await submit(backend, 'a')
    await beat(backend, 1)
  },
  'failed-commit': async () => {
    const backend = await opened()
    await submit(backend, 'a')
    failSyncs('wal db')
    await submit(backend, 'unknown')
    failSyncs('db')
    await submit(backend, 'refused') // The log cannot be emptied yet.
    failSyncs('')
    await submit(backend, 'c')
    await submit(backend, 'd')
  },
  'failed-checkpoint': async () => {
    const backend = await opened()
    await backend.workers.register([{ ...WORKER, instance: '', hardware: '{}', defaults: '{}' }])
    failSyncs('wal')
    await beat(backend, 4_500) // Long enough for a checkpoint, which syncs the log.
    failSyncs('db')
    await submit(backend, 'e')
    failSyncs('')
    await submit(backend, 'f')
  },
  'restart-after-failure': async () => {
    const backend = await opened()
    await submit(backend, 'a')
    failSyncs('wal db')
    await submit(backend, 'unknown')
    await backend.close().catch(() => undefined)
    failSyncs('')
    await submit(await opened(), 'g')
  },
}

await SCENARIOS[scenario]?.()
writeSync(1, JSON.stringify(acked))
process.kill(process.pid, 'SIGKILL')
