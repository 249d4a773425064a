/**
 * @module storage/redis/keys
 * Names of keys. Every key is the prefix, one hash tag in braces, a colon and a name, so that a script
 * touches one slot of a Cluster. A foreign name inside a tag has its braces and percent signs escaped, so it can end no
 * tag. Channels are the connection's: `caller.channel`.
 */
import type { Script } from './script.ts'

export const PREFIX = 'muster:'

const escaped = (name: string): string => name.replaceAll(/[%{}]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)

/**
 * `key('a', 'mailer', 'p0')` → `muster:{a:mailer}:p0`. Kinds: a tasks and registry of an automation type, o stream,
 * p pool, k kv, l locks, c counters, e messages of a topic.
 */
export const key = (kind: string, name: string, part: string): string => `${PREFIX}{${kind}:${escaped(name)}}:${part}`

/** The keys of an automation type that the script names with `@keys` (script-text.ts), in its order. */
export function keysOfType({ keys }: Script, type: string): string[] {
  const stem = key('a', type, '')
  return keys.map((part) => stem + part)
}

/** `metaKey('info')` → `muster:{m}:info`. */
export const metaKey = (part: string): string => `${PREFIX}{m}:${part}`
/** `namespacesKey('k')` → `muster:{ns}:k`: the namespaces of one kind. */
export const namespacesKey = (part: string): string => `${PREFIX}{ns}:${part}`
export const auditKey = (part: string): string => `${PREFIX}{au}:${part}`
export const eventsKey = (part: string): string => `${PREFIX}{ev}:${part}`

/** `scopedKey('muster:{m}:info', 'staging')` → `staging:{m}:info`. */
export const scopedKey = (name: string, prefix: string): string => `${prefix}:${name.slice(PREFIX.length)}`

const EMIT = '.emit'

/**
 * The hash tag that the messages of a topic share: that of the stream for `mailer.emit`, so that the script that stores
 * outputs can publish them, else one for the topic. `tagOfTopic('news')` → `{e:news}`.
 */
const tagOfTopic = (topic: string): string =>
  topic.endsWith(EMIT) ? `{o:${escaped(topic.slice(0, -EMIT.length))}}` : `{e:${escaped(topic)}}`
/** A key that decides which node publishes the messages of a topic. It is never written. */
export const topicKey = (topic: string): string => `${PREFIX}${tagOfTopic(topic)}:bus`
/** The beginning of the sharded channels that wake single masters for a type, for `caller.channel`. */
export const shardedWakes = (type: string): string => `{a:${escaped(type)}}:sw:`
/** The sharded channel of a topic, for `caller.channel`. */
export const shardedTopic = (topic: string): string => `${tagOfTopic(topic)}:event`
