/**
 * The recorded processes of the disk faults of Redis. There is a round for each fault: the disk of the server fails
 * while it is under load, then works again. A server that ended is started again, and the store serves every call,
 * without a restart of the master.
 * Usage: node redis-fault-load.ts ROOT always|everysec FAULT…    FAULT is a text of crashlog.c
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom, systemTime, VirtualTime } from '../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import { StoreClients } from './clients.ts'
import { isServed, requireService, steps, tolerant } from './load-steps.ts'
import { Marks } from './marks.ts'
import { prepareDataFolder, RedisProcess, type Fsync } from './redis-process.ts'

/** Within this time after a fault the store serves all calls (G18). */
const SERVICE_MS = 10_000
/** The server checks once a second whether it can write again. */
const BETWEEN_CALLS_MS = 50
const BATCHES = 3
const SEED = 5
const [root = '', appendfsync = '', ...faults] = process.argv.slice(2)
const { history, phase } = new Marks(root)
const faultFile = process.env['CRASHLOG_FAULT_FILE'] ?? ''
const folder = join(root, 'data')

async function round(
  number: number,
  fault: string,
  backend: RedisBackend,
  server: RedisProcess,
): Promise<RedisProcess> {
  const clients = new StoreClients(backend, history, `round-${number}`)
  await clients.register()
  phase(`during ${fault}`)
  writeFileSync(faultFile, fault)
  for (let i = 0; i < BATCHES && !server.hasEnded; i += 1) await Promise.all(steps(clients).map(tolerant))
  rmSync(faultFile)
  phase(`after ${fault}: the server ${server.hasEnded ? 'ended' : 'lives'}`)
  const next = server.hasEnded ? await RedisProcess.start(folder, appendfsync as Fsync, [], server.port) : server
  const started = performance.now()
  while (!(await isServed(clients, () => clients.set()))) {
    if (performance.now() - started > SERVICE_MS) throw new Error(`the store does not work 10 s after ${fault}`)
    await sleep(BETWEEN_CALLS_MS)
  }
  await requireService(clients)
  phase(`next after ${fault}`)
  return next
}

async function main(): Promise<void> {
  let server = await RedisProcess.start(prepareDataFolder(root), appendfsync as Fsync)
  const url = parseStoreUrl(server.url)
  const backend = new RedisBackend({ url, clock: new VirtualTime(), time: systemTime, random: seededRandom(SEED) })
  await backend.open(AbortSignal.timeout(60_000))
  for (const [number, fault] of faults.entries()) server = await round(number, fault, backend, server)
  await backend.close()
  await server.end('SIGKILL')
  process.exit()
}

await main()
