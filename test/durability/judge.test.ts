/**
 * Runs the load of the crash points without a crash: a store on SQLite is closed, opened again, and judged. So a defect
 * in what tasks may have (groups, unique keys, labels, outcomes, cancels) is found within a second. Controls use this.
 */
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { seededRandom, VirtualTime } from '../../src/runtime/index.ts'
import { SqliteBackend } from '../../src/storage/sqlite/index.ts'
import { queueOf } from '../kit/history-checkers.ts'
import { History, type Call } from '../kit/history.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'
import { StoreClients } from './clients.ts'
import { judgeBackend } from './judge.ts'
import { load } from './load-steps.ts'

const TIMES = 24

function storeIn(folder: string): SqliteBackend {
  const time = new VirtualTime()
  return new SqliteBackend({
    path: join(folder, 'master.db'),
    clock: time,
    timers: time,
    random: seededRandom(1),
    freeBytes: async () => Number.MAX_SAFE_INTEGER,
  })
}

/** How often something happened, such as `grouped cancel cancelled`. */
function countResults(calls: readonly Call[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  const count = (what: string): unknown => counts.set(what, (counts.get(what) ?? 0) + 1)
  for (const call of calls) {
    const queue = queueOf(call.client)
    if (call.operation === 'submit') {
      const { args, result } = call as Call<'submit'>
      for (const [i, { id, unique }] of args.tasks.entries())
        if (unique !== undefined && result?.[i] !== id) count(`${queue} duplicate by unique key`)
    }
    if (['cancel', 'release', 'describe'].includes(call.operation))
      for (const each of call.result as readonly string[]) count(`${queue} ${call.operation} ${each}`)
  }
  return counts
}

it('finds nothing wrong with a store that was closed and opened again, after everything happened', async () => {
  const folder = temporaryFolder()
  const history = new History()
  const first = storeIn(folder)
  await first.open(AbortSignal.timeout(60_000))
  const clients = new StoreClients(first, history, 'first')
  await clients.register()
  await load(clients, TIMES)
  await first.close()
  expect(await judgeBackend(storeIn(folder), history)).toEqual([])
  const counts = countResults(history.calls)
  for (const queue of ['plain', 'grouped'])
    for (const what of [
      'duplicate by unique key',
      'cancel cancelled',
      'release lease_lost',
      'describe done',
      'describe cancelled',
    ])
      expect([queue, what, (counts.get(`${queue} ${what}`) ?? 0) > 0]).toEqual([queue, what, true])
})
