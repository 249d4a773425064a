/** @module storage/sqlite/engine-operations  SqliteOperations stores the operations of each type with their parts. */
import { MAX_OPERATIONS, type JsonText } from '../../protocol/index.ts'
import {
  byId,
  type OperationCreateResult,
  type OperationHead,
  type OperationPart,
  type Operations,
  type OperationUpdateResult,
} from '../index.ts'
import type { Sync } from '../index.ts'
import type { Database } from './driver.ts'
import type { EngineDeps } from './engine-deps.ts'
import { KIND, type Names } from './names.ts'

function statementsOf(db: Database) {
  return {
    version: db.prepare<[number, string], number>('SELECT version FROM operation WHERE type = ? AND id = ?').pluck(),
    count: db.prepare<[number], number>('SELECT count(*) FROM operation WHERE type = ?').pluck(),
    create: db.prepare<[number, string, string]>('INSERT INTO operation(type, id, version, head) VALUES(?, ?, 1, ?)'),
    createPart: db.prepare<[number, string, number, string]>(
      'INSERT INTO operation_part(type, id, n, body) VALUES(?, ?, ?, ?)',
    ),
    update: db.prepare<[string, number, string]>(
      'UPDATE operation SET version = version + 1, head = ? WHERE type = ? AND id = ?',
    ),
    updatePart: db.prepare<[string, number, string, number]>(
      'UPDATE operation_part SET body = ? WHERE type = ? AND id = ? AND n = ?',
    ),
    remove: db.prepare<[number, string]>('DELETE FROM operation WHERE type = ? AND id = ?'),
    removeParts: db.prepare<[number, string]>('DELETE FROM operation_part WHERE type = ? AND id = ?'),
    heads: db.prepare<[number], OperationHead>('SELECT id, version, head FROM operation WHERE type = ?'),
    part: db
      .prepare<[number, string, number], string>('SELECT body FROM operation_part WHERE type = ? AND id = ? AND n = ?')
      .pluck(),
  }
}

export class SqliteOperations implements Sync<Operations> {
  readonly #names: Names
  readonly #sql: ReturnType<typeof statementsOf>

  constructor({ db, names }: EngineDeps) {
    this.#names = names
    this.#sql = statementsOf(db)
  }

  create(typeName: string, id: string, head: JsonText, parts: readonly JsonText[]): OperationCreateResult {
    const type = this.#names.number(KIND.type, typeName)
    if (this.#sql.version.get(type, id) !== undefined) return 'exists'
    if ((this.#sql.count.get(type) ?? 0) >= MAX_OPERATIONS) return 'full'
    this.#sql.create.run(type, id, head)
    for (const [n, text] of parts.entries()) this.#sql.createPart.run(type, id, n, text)
    return 'created'
  }

  update(
    typeName: string,
    id: string,
    version: number,
    head: JsonText,
    parts: readonly OperationPart[],
  ): OperationUpdateResult {
    const type = this.#names.find(KIND.type, typeName)
    const stored = type === undefined ? undefined : this.#sql.version.get(type, id)
    if (type === undefined || stored === undefined) return 'not_found'
    if (stored !== version) return 'conflict'
    this.#sql.update.run(head, type, id)
    for (const { n, text } of parts) this.#sql.updatePart.run(text, type, id, n)
    return 'updated'
  }

  remove(typeName: string, id: string): boolean {
    const type = this.#names.find(KIND.type, typeName)
    if (type === undefined || this.#sql.version.get(type, id) === undefined) return false
    this.#sql.remove.run(type, id)
    this.#sql.removeParts.run(type, id)
    return true
  }

  heads(typeNames: readonly string[]): readonly (readonly OperationHead[])[] {
    return typeNames.map((typeName) => {
      const type = this.#names.find(KIND.type, typeName)
      return type === undefined ? [] : this.#sql.heads.all(type).toSorted(byId)
    })
  }

  part(typeName: string, id: string, n: number): JsonText | null {
    const type = this.#names.find(KIND.type, typeName)
    return type === undefined ? null : (this.#sql.part.get(type, id, n) ?? null)
  }
}
