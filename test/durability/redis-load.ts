/**
 * Puts a redis-server under load through the real backend. The disk operations of both processes are recorded, and the
 * file `marks` has the history, so that acknowledgements and disk operations have one order.
 * Usage: node redis-load.ts ROOT always|everysec first|second    with MARKS=FOLDER, `marks` is in that folder
 *
 * `first` starts on an empty folder and kills the server, `second` continues on what it left and stops the server. Each
 * rewrites the append-only file under load.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom, systemTime, VirtualTime } from '../../src/runtime/index.ts'
import { parseStoreUrl, RedisBackend } from '../../src/storage/redis/index.ts'
import { StoreClients } from './clients.ts'
import { load } from './load-steps.ts'
import { Marks } from './marks.ts'
import { prepareDataFolder, RedisProcess, type Fsync } from './redis-process.ts'

const SEEDS: Readonly<Record<string, number>> = { first: 1, second: 2 }
/** An `everysec` run lasts for several of its fsyncs. Its clients pause, so that the history stays short. */
const [EVERYSEC_MS, EVERYSEC_PAUSE_MS] = [4_000, 40]
/** Prolongs a rewrite, so that calls arrive during it. */
const REWRITE_KEY_US = 3_000
const [root = '', appendfsync = '', life = ''] = process.argv.slice(2)
const isEverysec = appendfsync === 'everysec'

async function loadFor(clients: StoreClients, times: number): Promise<void> {
  if (!isEverysec) return load(clients, times)
  const end = Date.now() + EVERYSEC_MS
  while (Date.now() < end) {
    await load(clients, 1)
    await sleep(EVERYSEC_PAUSE_MS)
  }
}

/** Loads the store until its append-only file is rewritten. */
async function rewrite(server: RedisProcess, clients: StoreClients): Promise<void> {
  await server.command('BGREWRITEAOF')
  do await load(clients, 1)
  while (!(await isRewritten(server)))
}

async function isRewritten(server: RedisProcess): Promise<boolean> {
  const info = String(await server.command('INFO', 'persistence'))
  return /aof_rewrite_in_progress:0[^]*aof_rewrite_scheduled:0/.test(info)
}

async function main(): Promise<void> {
  const marks = new Marks(process.env['MARKS'] ?? root, isEverysec)
  marks.phase(`${life} start`)
  const settings = ['--rdb-key-save-delay', `${REWRITE_KEY_US}`, '--auto-aof-rewrite-percentage', '0']
  const server = await RedisProcess.start(prepareDataFolder(root), appendfsync as Fsync, settings)
  const random = seededRandom(SEEDS[life] ?? 0)
  // Virtual time stands still. A store that loses changes needs a real clock, from which its tokens begin anew.
  const clock = isEverysec ? systemTime : new VirtualTime()
  const backend = new RedisBackend({ url: parseStoreUrl(server.url), clock, time: systemTime, random })
  await backend.open(AbortSignal.timeout(60_000))
  marks.note({ epoch: (await backend.meta.info()).epoch })
  const clients = new StoreClients(backend, marks.history, life)
  await clients.register()
  marks.phase(`${life} load`)
  await loadFor(clients, 20)
  marks.phase(`${life} rewrite`)
  await rewrite(server, clients)
  marks.phase(`${life} load after a rewrite`)
  await load(clients, 12)
  if (life === 'second') {
    marks.phase('close')
    await backend.close()
    await server.end('SIGTERM')
  } else await server.end('SIGKILL')
  process.exit()
}

await main()
