/** @module dashboard/activity/reading  Reads the audit log page by page (D235). */
import type { AuditBody, AuditEntry } from '../../protocol/index.ts'
import type { Query } from '../api/client.ts'
import type { RouteTo } from '../route.ts'

/** Entries that match the filter, newest first. */
export interface Entries {
  readonly entries: readonly AuditEntry[]
  /** Whether there may be older ones. */
  readonly hasMore: boolean
}

/** What the API lists in one page. */
const PAGE = 500
/** The log has 10,000 entries; a page with a filter may be examined without a match. */
const MAX_PAGES = 20

/** The query of the filter; fields that do not filter are absent. */
export function queryOf({ type, object, actor, action }: RouteTo<'activity'>): Readonly<Record<string, string>> {
  return {
    ...(type !== '' && { type }),
    ...(object.trim() !== '' && { object: object.trim() }),
    ...(actor.trim() !== '' && { actor: actor.trim() }),
    ...(action !== '' && { action }),
  }
}

/**
 * Reads the newest `n` entries that match.
 *
 * @param read Reads one page.
 */
export async function readEntries(n: number, read: (query: Query) => Promise<AuditBody>): Promise<Entries> {
  const entries: AuditEntry[] = []
  let before: number | null = null
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const limit = Math.min(PAGE, n - entries.length)
    const body: AuditBody = await read({ n: limit, ...(before !== null && { before }) })
    entries.push(...body.entries)
    before = body.next
    if (before === null || entries.length >= n) break
  }
  return { entries, hasMore: before !== null }
}
