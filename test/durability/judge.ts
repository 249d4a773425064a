/** Opens a store on what a crash left, calls it, and compares it with the history of its clients. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import type { Backend } from '../../src/storage/index.ts'
import { SqliteBackend } from '../../src/storage/sqlite/index.ts'
import { checkHistory } from '../kit/history-checkers.ts'
import { History } from '../kit/history.ts'
import { StoreClients } from './clients.ts'
import type { CrashStore } from './crash-points.ts'
import { historyOf } from './marks.ts'

/** The calls of one turn are 12 or more, so that the store has to serve at least 50 calls. */
const TURNS = 4
const RECOVERY_SEED = 3

/** A master on SQLite. Its first life ends by SIGKILL, its second one in order. */
export const SQLITE: CrashStore = {
  program: 'load.ts',
  lives: [['first'], ['second']],
  needsOrderedNames: false,
  judge: (root, marks) => judgeSqlite(join(root, 'state', 'master.db'), History.of(historyOf(marks))),
}

/** The clock is back at the start of the recorded run: only what is stored can keep tokens and leases in order. */
async function judgeSqlite(file: string, history: History): Promise<readonly string[]> {
  const time = new VirtualTime()
  const backend = new SqliteBackend({
    path: file,
    clock: time,
    timers: time,
    random: seededRandom(RECOVERY_SEED),
    freeBytes: async () => Number.MAX_SAFE_INTEGER,
  })
  const violations = await judgeBackend(backend, history)
  return [...violations, ...structureOf(file)]
}

/** Opens and closes the store, which gets its calls into `history`, and returns what it lost or doubled. */
export async function judgeBackend(backend: Backend, history: History): Promise<readonly string[]> {
  const clients = new StoreClients(backend, history, 'recovered')
  try {
    await backend.open(AbortSignal.timeout(60_000))
    await readAll(clients)
    await clients.register()
    for (let turn = 0; turn < TURNS; turn += 1) await callEach(clients)
    await readAll(clients)
    for (let popped = 1; popped > 0;) popped = await clients.pop(500)
    await backend.close()
  } catch (error) {
    await backend.close().catch(() => undefined)
    return [...checkHistory(history.calls), `the store failed: ${String(error)}`]
  }
  return checkHistory(history.calls)
}

/** Reads everything that the history describes. */
async function readAll(clients: StoreClients): Promise<void> {
  await clients.locate()
  await clients.repeatAcks()
  await clients.repeatSubmits()
  await clients.get()
  await clients.count()
  await clients.getConfig()
  await clients.listItems()
}

async function callEach(clients: StoreClients): Promise<void> {
  await clients.submit()
  await clients.work()
  await clients.push()
  await clients.pop(3)
  await clients.set()
  await clients.add()
  await clients.putConfig()
  await clients.usePool()
}

function structureOf(file: string): readonly string[] {
  if (!existsSync(file)) return ['the store left no file']
  const db = new Sqlite(file, { readonly: true })
  try {
    const finding = String(db.pragma('quick_check(1)', { simple: true }))
    return finding === 'ok' ? [] : [`the file is damaged: ${finding}`]
  } finally {
    db.close()
  }
}
