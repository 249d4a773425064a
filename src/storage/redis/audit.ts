/**
 * @module storage/redis/audit
 * The `audit` of the contract, under `{au}`:
 *
 *   log  LIST  the newest entries, oldest first
 *   h    HASH  last: the number of the newest entry; that of the oldest is `last` − LLEN + 1
 */
import type { AuditLog, AuditRow } from '../index.ts'
import type { Caller } from './caller.ts'
import { auditKey } from './keys.ts'
import { script } from './script.ts'

const APPEND = script('audit.append')
const LIST = script('audit.list')
const KEYS = [auditKey('log'), auditKey('h')]

export function createAudit(caller: Caller): AuditLog {
  return {
    append: async (entries) => {
      if (entries.length > 0) await caller.run(APPEND, KEYS, entries)
    },
    list: async (before, limit) => {
      const reply = await caller.run(LIST, KEYS, [before ?? '', limit], { repeatable: true })
      const [newest, entries] = reply as readonly [number, readonly string[]]
      return entries.map((entry, at): AuditRow => ({ n: newest - at, entry }))
    },
  }
}
