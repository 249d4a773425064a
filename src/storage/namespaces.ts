/**
 * @module storage/namespaces
 * The bound on the number of namespaces of kv, of locks and of counters, which all backends share (D100).
 */

/** Namespaces of one kind that are not named after an automation type. */
export const MAX_NAMESPACES = 1_000

/** After a search for empty namespaces that found none, new ones are refused for so long without another search. */
export const RECLAIM_EVERY_MS = 10_000

/** What a namespace holds, and how it becomes empty. */
const HOLDS = {
  keys: 'A namespace makes room for a new one when its last key is deleted or expires',
  locks:
    'A namespace makes room for a new one when its last lock has ended, a minute after it was acquired at the earliest',
  counters: 'A namespace makes room for a new one when all of its counters are 0',
} as const
export type NamespaceKind = keyof typeof HOLDS

/** The detail of STORAGE_FULL for a new namespace beyond the bound. */
export function namespacesFull(what: NamespaceKind, namespace: string, bound: number = MAX_NAMESPACES): string {
  const wayOut = 'leave "namespace" out to use that of the automation, or use one that exists'
  return (
    `the namespace ${JSON.stringify(namespace)} does not exist, ` +
    `and there are ${bound} namespaces with ${what}, the maximum; ${wayOut}. ${HOLDS[what]}`
  )
}
