/** Tests the bounds of the worker records of one type. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { RegisterResult } from '../../../src/storage/index.ts'
import { SqliteEnrolments } from '../../../src/storage/sqlite/engine-enrolments.ts'
import { WorkerRegistrations } from '../../../src/storage/sqlite/engine-register.ts'
import { SqliteRevisions } from '../../../src/storage/sqlite/engine-revisions.ts'
import { TokenSequences } from '../../../src/storage/sqlite/token-sequences.ts'
import { Names } from '../../../src/storage/sqlite/names.ts'
import { openStore, type Store } from '../../../src/storage/sqlite/store.ts'
import { Transaction } from '../../../src/storage/sqlite/transaction.ts'
import { WorkerRows } from '../../../src/storage/sqlite/worker-rows.ts'
import { ref, registration } from '../contract/fixture.ts'
import { folders } from './fixture.ts'

const MAX_FORGOTTEN = 2

const folder = folders()
let store: Store | undefined

afterEach(() => void store?.db.close())

/** Opens a store. `register` and `forget` each run in their own transaction. */
function opened() {
  const { file } = folder()
  mkdirSync(dirname(file), { recursive: true })
  store = openStore(file, 'epoch', false, () => undefined)
  const { db } = store
  const txn = new Transaction()
  const deps = { db, txn, names: new Names(db, txn), sequences: new TokenSequences(db, txn), policies: new Map() }
  const enrolments = new SqliteEnrolments(deps, new SqliteRevisions(deps))
  const registrations = new WorkerRegistrations(deps, new WorkerRows(deps), enrolments, MAX_FORGOTTEN)
  const committed = <T>(change: () => T): T => {
    db.exec('BEGIN IMMEDIATE')
    txn.begin(1_700_000_000_000)
    const result = change()
    txn.flush()
    db.exec('COMMIT')
    return result
  }
  return {
    register: (id: string): RegisterResult => committed(() => registrations.register(registration(id, 'm1/1'))),
    forget: (id: string): boolean => committed(() => registrations.forget(ref(id))),
  }
}

describe('forgotten workers', () => {
  it('keep at most as many generations as the bound, also of workers created after the first forget (D46)', () => {
    const { register, forget } = opened()
    const ids = ['a', 'b', 'c', 'd', 'e']
    for (const id of ids) {
      register(id)
      expect(forget(id)).toBe(true)
    }
    const again = ids.map((id) => register(id))
    expect(again.filter((result) => result.kind === 'registered' && result.gen > 0)).toHaveLength(MAX_FORGOTTEN)
  })

  it('do not count twice when they register again (D46)', () => {
    const { register, forget } = opened()
    for (let round = 0; round < 5; round += 1) {
      for (const id of ['a', 'b']) expect(register(id)).toMatchObject({ kind: 'registered', gen: round })
      for (const id of ['a', 'b']) forget(id)
    }
  })
})
