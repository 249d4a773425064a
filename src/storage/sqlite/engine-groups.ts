/**
 * @module storage/sqlite/engine-groups
 * TaskGrouping sets the group policies of types, and lists groups (D119). A policy is not stored. The engine keeps it
 * while it is open, also when it opens the file again after a fault.
 */
import type { GroupPolicy, GroupRow, Sync, Tasks } from '../index.ts'
import { DeclaredNeed } from './declared-need.ts'
import type { Statement } from './driver.ts'
import { KIND, type Names } from './names.ts'
import { groupStatements, QueueGroups, type GroupStatements } from './queue-groups.ts'
import type { Queues } from './queues.ts'
import type { TaskDeps } from './task-rows.ts'
import type { Transaction } from './transaction.ts'

/** By type. */
export type GroupPolicies = Map<string, GroupPolicy>

export class TaskGrouping implements Pick<Sync<Tasks>, 'setGroupPolicy' | 'groups'> {
  readonly #txn: Transaction
  readonly #names: Names
  readonly #queues: Queues
  readonly #policies: GroupPolicies
  readonly #need: DeclaredNeed
  readonly #sql: GroupStatements
  readonly #nameNull: Statement<[number]>

  constructor({ db, txn, names, queues, policies }: TaskDeps) {
    this.#txn = txn
    this.#names = names
    this.#queues = queues
    this.#policies = policies
    this.#need = new DeclaredNeed(db, txn, 'groups')
    this.#sql = groupStatements(db)
    this.#nameNull = db.prepare(`UPDATE task SET grp = '' WHERE type = ? AND grp IS NULL`)
    for (const [typeName, policy] of policies) {
      const type = names.find(KIND.type, typeName)
      if (type !== undefined) queues.change(type).groups = this.#make(type, policy)
    }
  }

  setGroupPolicy(typeName: string, policy: GroupPolicy | null): void {
    if (policy === null) {
      this.#removePolicy(typeName)
      return
    }
    this.#need.declare()
    const type = this.#names.number(KIND.type, typeName)
    const queue = this.#queues.change(type)
    this.#keepPolicy(typeName)
    this.#policies.set(typeName, policy)
    if (queue.groups !== null) {
      queue.groups.setPolicy(policy)
      return
    }
    this.#nameNull.run(type)
    queue.groups = this.#make(type, policy)
  }

  groups(typeName: string, limit: number): readonly GroupRow[] {
    const type = this.#names.find(KIND.type, typeName)
    return (type === undefined ? null : this.#queues.find(type)?.groups)?.rows(limit) ?? []
  }

  #removePolicy(typeName: string): void {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined || !this.#policies.has(typeName)) return
    const queue = this.#queues.change(type)
    this.#keepPolicy(typeName)
    this.#policies.delete(typeName)
    queue.groups?.save()
    queue.groups = null
  }

  /** A rollback brings the policy back. */
  #keepPolicy(typeName: string): void {
    const before = this.#policies.get(typeName)
    this.#txn.onRollback(() => {
      if (before === undefined) this.#policies.delete(typeName)
      else this.#policies.set(typeName, before)
    })
  }

  #make(type: number, policy: GroupPolicy): QueueGroups {
    return new QueueGroups(this.#txn, this.#sql, type, policy)
  }
}
