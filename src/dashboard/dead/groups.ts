/**
 * @module dashboard/dead/groups
 * Groups dead tasks by error. Two errors belong to the same group if they differ only in quoted text, UUIDs,
 * hexadecimal strings or numbers.
 */
import type { DeadBody } from '../../protocol/index.ts'

export type DeadItem = DeadBody['items'][number]

export interface DeadGroup {
  readonly key: string
  /** The error of the task that died last. */
  readonly error: string | null
  readonly items: readonly DeadItem[]
  readonly firstDiedAt: number
  readonly lastDiedAt: number
}

const NO_ERROR = ''

/** Replaced in this order: quotes may contain UUIDs, UUIDs contain hex, hex contains numbers. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/"[^"]*"|`[^`]*`|(?<!\w)'[^']*'(?!\w)/g, '“…”'],
  [/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '#'],
  [/\b(?:0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{6,})\b/gi, '#'],
  [/\d+(?:[.,]\d+)*/g, '#'],
]

export function groupKey(error: string | null): string {
  if (error === null) return NO_ERROR
  return VARYING.reduce((text, [what, by]) => text.replace(what, by), error)
    .replace(/\s+/g, ' ')
    .trim()
}

/** Largest group first; groups of equal size by latest death. */
export function groupsOf(items: readonly DeadItem[]): readonly DeadGroup[] {
  const byKey = new Map<string, DeadItem[]>()
  for (const item of items) {
    const key = groupKey(item.last_error)
    const group = byKey.get(key)
    if (group === undefined) byKey.set(key, [item])
    else group.push(item)
  }
  return [...byKey]
    .map(([key, members]) => groupOf(key, members))
    .toSorted((a, b) => b.items.length - a.items.length || b.lastDiedAt - a.lastDiedAt)
}

function groupOf(key: string, items: readonly DeadItem[]): DeadGroup {
  const newest = items.reduce((a, b) => (b.died_at >= a.died_at ? b : a))
  const oldest = items.reduce((a, b) => (b.died_at < a.died_at ? b : a))
  return { key, items, error: newest.last_error, firstDiedAt: oldest.died_at, lastDiedAt: newest.died_at }
}

/** A short ID for the address (FNV-1a). On a collision, both groups open together, which is harmless. */
export function groupId(key: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193) >>> 0
  return hash.toString(16).padStart(8, '0')
}
