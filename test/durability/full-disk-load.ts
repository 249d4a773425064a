/**
 * The recorded process of a store that is restarted on a full disk after a failed fsync. The log cannot be copied into
 * the file, and acknowledgements continue behind the pages of the failed fsync.
 * Usage: node full-disk-load.ts ROOT
 */
import { join } from 'node:path'
import { FleetError } from '../../src/protocol/index.ts'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { SqliteBackend } from '../../src/storage/sqlite/index.ts'
import { StoreClients } from './clients.ts'
import { load, repeat } from './load-steps.ts'
import { Marks } from './marks.ts'

const [EIO, ENOSPC] = [5, 28]
const [root = ''] = process.argv.slice(2)
const { history, phase } = new Marks(root)
const time = new VirtualTime()

async function opened(seed: number): Promise<SqliteBackend> {
  const backend = new SqliteBackend({
    path: join(root, 'state', 'master.db'),
    clock: time,
    timers: time,
    random: seededRandom(seed),
    freeBytes: async () => Number.MAX_SAFE_INTEGER,
  })
  await backend.open(AbortSignal.timeout(60_000))
  return backend
}

async function main(): Promise<void> {
  const failing = await opened(1)
  const clients = new StoreClients(failing, history, 'before')
  await clients.register()
  await load(clients, 6)
  phase('failed fsync')
  process.env['CRASHLOG_FAULT'] = `fsync:${EIO}`
  await clients.submit().catch((error: unknown) => {
    if (!(error instanceof FleetError)) throw error
  })
  await failing.close()
  phase('restart on a full disk')
  process.env['CRASHLOG_FAULT'] = `write@state/master.db:${ENOSPC}`
  const store = new StoreClients(await opened(2), history, 'after')
  await store.setGroupPolicies()
  await repeat(4, () => store.work())
  phase('power cut')
  process.kill(process.pid, 'SIGKILL')
}

await main()
