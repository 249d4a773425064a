/**
 * SQLite, flushed at every commit: groups, compared with one commit per item and with plain statements of the same
 * size.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { perSecond } from '../load.mjs'
import { LIVES, lifeOf, PAYLOAD } from './life.mjs'
import { openMuster } from './muster.mjs'

const BODY = JSON.stringify({ payload: PAYLOAD, priority: 0, submitted_at: 1_700_000_000 })
const open = openMuster('sqlite')
const muster = (part) => async (bench) => (await lifeOf(bench, 'Muster, SQLite', open, LIVES.eightCallers))[part]

/** Plain statements on one table, with `batch` items per commit, in this thread: `{ submit, process }`. */
const plain = (batch, count) => (bench) =>
  bench.once(`plain SQLite, ${batch} a commit`, () => {
    const database = new Database(join(mkdtempSync(join(bench.directory, 'plain-')), 'plain.db'))
    database.pragma('locking_mode = EXCLUSIVE')
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = FULL')
    database.exec(
      'CREATE TABLE task (pk INTEGER PRIMARY KEY, id TEXT UNIQUE, place INTEGER NOT NULL, body BLOB); ' +
        'CREATE INDEX ready ON task (pk) WHERE place = 0',
    )
    const statement = (text) => database.prepare(text)
    const [insert, next] = [
      statement('INSERT INTO task (id, place, body) VALUES (?, 0, ?)'),
      statement('SELECT pk, body FROM task WHERE place = 0 ORDER BY pk LIMIT ?'),
    ]
    const [take, remove] = [
      statement('UPDATE task SET place = 1 WHERE pk = ?'),
      statement('DELETE FROM task WHERE pk = ?'),
    ]
    const submit = database.transaction(() => {
      for (let i = 0; i < batch; i += 1) insert.run(randomUUID(), BODY)
    })
    const reserve = database.transaction(() => {
      const tasks = next.all(batch)
      for (const { pk } of tasks) take.run(pk)
      return tasks
    })
    const ack = database.transaction((tasks) => {
      for (const { pk } of tasks) remove.run(pk)
    })
    try {
      const items = count(bench)
      const began = performance.now()
      for (let i = 0; i < items; i += batch) submit()
      const added = performance.now()
      let done = 0
      for (let tasks = reserve(); tasks.length > 0; tasks = reserve()) {
        ack(tasks)
        done += tasks.length
      }
      const ended = performance.now()
      if (done !== items) throw new Error(`delivery was not exact: ${items} submitted, ${done} done`)
      return { submit: { value: perSecond(items, added - began) }, process: { value: perSecond(items, ended - added) } }
    } finally {
      database.close()
    }
  })
const single = plain(1, (bench) => bench.count(1_000))
const hundred = plain(100, (bench) => bench.count(20_000))

const row = (id, title, part, aim, statements) => ({
  id,
  level: 'storage',
  title,
  unit: 'tasks/s',
  better: 'higher',
  note:
    'synchronous=FULL: every commit is flushed; payloads of 200 bytes. Muster in its own thread, ' +
    `with results after the commit; ${statements} directly from this thread, without fencing, tiers and retries`,
  subjects: {
    'Muster, SQLite': muster(part),
    'one commit per item': async (bench) => (await single(bench))[part],
    'limit: plain statements, 100 a transaction': async (bench) => (await hundred(bench))[part],
  },
  aim,
  gates: [{ subject: 'Muster, SQLite', over: 'one commit per item', atLeast: 10 }],
})

export const sqliteRows = [
  row('sqlite-submit-100', 'SQLite, submit, batches of 100, 8 callers', 'submit', 200_000, 'plain inserts'),
  row(
    'sqlite-reserve-ack-100',
    'SQLite, reserve + ack, batches of 100, 8 callers',
    'process',
    100_000,
    'plain updates and deletes',
  ),
]
