/**
 * @module storage/sqlite/engine-deps
 * Defines what the groups of the engine share: the database, the running transaction, and the names and fencing tokens
 * that are kept in memory beside it, and the group policies of types, which outlive a handle that failed.
 */
import type { Database } from './driver.ts'
import type { GroupPolicies } from './engine-groups.ts'
import type { TokenSequences } from './token-sequences.ts'
import type { Names } from './names.ts'
import type { Transaction } from './transaction.ts'

export interface EngineDeps {
  readonly db: Database
  readonly txn: Transaction
  readonly names: Names
  readonly sequences: TokenSequences
  readonly policies: GroupPolicies
}
