/**
 * @module storage/redis/keys
 * Names of keys. Every key is the prefix, one hash tag in braces, a colon and a name, so that a script
 * touches one slot of a Cluster. A foreign name inside a tag has its braces and percent signs escaped, so it can end no tag.
 * Channels are the connection's: `caller.channel`.
 */
export const PREFIX = 'muster:'

const escaped = (name: string): string => name.replaceAll(/[%{}]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)

/** `key('a', 'mailer', 'p0')` → `muster:{a:mailer}:p0`. Kinds: a tasks and registry of an automation type, o stream, p pool, k kv, l locks, c counters. */
export const key = (kind: string, name: string, part: string): string => `${PREFIX}{${kind}:${escaped(name)}}:${part}`

/** `metaKey('info')` → `muster:{m}:info`. */
export const metaKey = (part: string): string => `${PREFIX}{m}:${part}`
export const eventsKey = (part: string): string => `${PREFIX}{ev}:${part}`
