/**
 * The recorded process of a store on a slow disk: the fsync of one call takes 9 s. The engine runs in its thread, as in
 * production. Prints what the call ended with and how long the event loop was blocked, as JSON.
 * Usage: node slow-disk-load.ts ROOT
 */
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { FleetError } from '../../src/protocol/index.ts'
import { systemRandom, systemTime } from '../../src/runtime/index.ts'
import { SqliteBackend } from '../../src/storage/sqlite/index.ts'

const NS_PER_MS = 1e6
const [root = ''] = process.argv.slice(2)

async function main(): Promise<void> {
  const backend = new SqliteBackend({
    path: join(root, 'state', 'master.db'),
    clock: systemTime,
    timers: systemTime,
    random: systemRandom,
    threadUrl: new URL('../../src/storage/sqlite/thread.ts', import.meta.url),
    freeBytes: async () => Number.MAX_SAFE_INTEGER,
  })
  await backend.open(AbortSignal.timeout(60_000))
  const set = (value: number): Promise<unknown> => backend.kv.set('n', [{ key: 'k', value: `${value}`, ttlMs: null }])
  await set(1)
  process.env['CRASHLOG_FAULT'] = 'fsync:9000ms:0:1'
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  const outcome = await set(2).then(
    () => 'returned',
    (error: unknown) => (error instanceof FleetError ? `${error.code}, ${error.outcome}` : String(error)),
  )
  delay.disable()
  await set(3)
  process.stdout.write(JSON.stringify({ outcome, p99Ms: Math.round(delay.percentile(99) / NS_PER_MS) }))
  await backend.close()
}

await main()
