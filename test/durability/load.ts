/**
 * The process whose disk operations are recorded. It puts a SQLite store under load and appends its history to the file
 * `marks`, so that acknowledgements and disk operations have one order. Time, random numbers and the order of calls are
 * the same in each run, so that the operations of two runs have the same numbers.
 * Usage: node load.ts ROOT first|second [late]    with MARKS=FOLDER, `marks` is in that folder instead of ROOT
 *
 * `first` starts on an empty folder and ends by SIGKILL, `second` continues on what it left and closes the store.
 * `late` confirms calls before their commit.
 */
import { join } from 'node:path'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { SqliteBackend } from '../../src/storage/sqlite/index.ts'
import { StoreClients } from './clients.ts'
import { load, repeat } from './load-steps.ts'
import { Marks } from './marks.ts'

const SEEDS: Readonly<Record<string, number>> = { first: 1, second: 2 }
/** The background work of an idle store begins after two of its ticks. */
const IDLE_MS = 4_000
/** More than 16 MiB in total, after which the store copies its log into the file. */
const [LARGE_VALUES, LARGE_VALUE_CHARACTERS] = [68, 255_000]
const [root = '', life = '', late] = process.argv.slice(2)

async function main(): Promise<void> {
  const { history, phase } = new Marks(process.env['MARKS'] ?? root)
  const time = new VirtualTime()
  const backend = new SqliteBackend({
    path: join(root, 'state', 'master.db'),
    clock: time,
    timers: time,
    random: seededRandom(SEEDS[life] ?? 0),
    freeBytes: async () => Number.MAX_SAFE_INTEGER,
    lateCommit: late === 'late',
  })
  phase(`${life} start`)
  await backend.open(AbortSignal.timeout(60_000))
  const clients = new StoreClients(backend, history, life)
  await clients.register()
  phase(`${life} load`)
  await load(clients, 12)
  await repeat(3, () => clients.beat()) // The log ends with changes that are not synced.
  phase(`${life} checkpoint`)
  await time.advance(IDLE_MS)
  phase(`${life} load after a checkpoint`)
  await load(clients, 4)
  if (life === 'first') {
    phase('long log')
    for (let i = 0; i < LARGE_VALUES; i += 1) {
      await clients.fill(LARGE_VALUE_CHARACTERS, i % 2 === 0 ? 'a' : 'b')
      await clients.set()
    }
    phase('load after a long log')
    await load(clients, 8)
    process.kill(process.pid, 'SIGKILL')
  }
  phase('close')
  await backend.close()
}

await main()
