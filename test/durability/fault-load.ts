/**
 * The recorded process of `disk-faults.test.ts`. It has a round for each fault: the disk fails while the store is under
 * load, then works again, and the store has to serve every call.
 * Usage: node fault-load.ts ROOT FAULT…    FAULT is a value of CRASHLOG_FAULT.
 */
import { join } from 'node:path'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { SqliteBackend } from '../../src/storage/sqlite/index.ts'
import { StoreClients } from './clients.ts'
import { isServed, requireService, steps, tolerant } from './load-steps.ts'
import { Marks } from './marks.ts'

const SEED = 4
/** Long enough for the background work of an idle store, which makes a checkpoint. */
const IDLE_MS = 4_000
/** Within this time after a fault the store serves all calls (G18). */
const SERVICE_SECONDS = 10
const [root = '', ...faults] = process.argv.slice(2)

const { history, phase } = new Marks(root)

/** Ends with the store that works again. Every second round opens it anew, as a restart of the master does. */
async function round(number: number, fault: string, time: VirtualTime): Promise<void> {
  const backend = backendOn(time, number)
  await backend.open(AbortSignal.timeout(60_000))
  const clients = new StoreClients(backend, history, `round-${number}`)
  await clients.register()
  phase(`during ${fault}`)
  process.env['CRASHLOG_FAULT'] = fault
  for (let i = 0; i < 2; i += 1) await Promise.all(steps(clients).map(tolerant))
  for (const step of steps(clients)) await tolerant(step)
  await time.advance(IDLE_MS)
  for (const step of steps(clients)) await tolerant(step)
  if (number % 2 === 1) await tolerant(() => backend.close())
  delete process.env['CRASHLOG_FAULT']
  phase(`after ${fault}`)
  if (number % 2 === 1) await backend.open(AbortSignal.timeout(60_000))
  for (let second = 0; !(await isServed(clients, () => clients.set())); second += 1) {
    if (second === SERVICE_SECONDS) throw new Error(`the store does not work ${second} s after ${fault}`)
    await time.advance(1_000)
  }
  await requireService(clients)
  phase(`next after ${fault}`)
  await backend.close()
}

function backendOn(time: VirtualTime, number: number): SqliteBackend {
  return new SqliteBackend({
    path: join(root, 'state', 'master.db'),
    clock: time,
    timers: time,
    random: seededRandom(SEED + number),
    freeBytes: async () => Number.MAX_SAFE_INTEGER,
  })
}

async function main(): Promise<void> {
  const time = new VirtualTime()
  for (const [number, fault] of faults.entries()) await round(number, fault, time)
}

await main()
