/** Deliberate defects of a store, each of which a test has to find. */
import { Redis } from 'ioredis'
import type { Backend } from '../../src/storage/index.ts'
import { key } from '../../src/storage/redis/keys.ts'

/**
 * `lock_as_two_calls`: whether a lock is free is read in one call, and it is acquired in the next. `replica_reads`:
 * values are read from a replica. `repeated_add`: an addition without a reply is sent again. `cancel_keeps_lease`: a
 * cancel has no effect on a task in flight. `unique_key_as_two_calls`: whether a unique key is free is read in one
 * call, and the task is queued in the next.
 */
export type Defect =
  | { readonly kind: 'lock_as_two_calls' | 'repeated_add' | 'cancel_keeps_lease' | 'unique_key_as_two_calls' }
  | { readonly kind: 'replica_reads'; readonly host: string; readonly port: number }

/** Replaces methods of an object, and keeps the others. */
const withMethods = <T extends object>(target: T, methods: Partial<T>): T =>
  new Proxy(target, {
    get: (of, name) => (methods as Record<PropertyKey, unknown>)[name] ?? (of as Record<PropertyKey, unknown>)[name],
  })

export function withDefect(backend: Backend, defect: Defect | null): Backend {
  switch (defect?.kind) {
    case undefined:
      return backend
    case 'lock_as_two_calls':
      return withMethods(backend, { locks: withMethods(backend.locks, lockAsTwoCalls(backend)) })
    case 'repeated_add':
      return withMethods(backend, {
        counters: withMethods(backend.counters, {
          add: (...args) => backend.counters.add(...args).catch(() => backend.counters.add(...args)),
        }),
      })
    case 'cancel_keeps_lease':
      return withMethods(backend, { tasks: withMethods(backend.tasks, { cancel: cancelOfPending(backend) }) })
    case 'unique_key_as_two_calls':
      return withMethods(backend, { tasks: withMethods(backend.tasks, { submit: uniqueAsTwoCalls(backend) }) })
    case 'replica_reads':
      return withMethods(backend, { kv: withMethods(backend.kv, { get: readsFrom(new Redis(defect)) }) })
  }
}

/** Locks as values of `kv`: a value `token` is a held lock. */
function lockAsTwoCalls({ kv }: Backend): Partial<Backend['locks']> {
  let tokens = Date.now()
  return {
    acquire: async (namespace, items) => {
      const held = await kv.get(
        namespace,
        items.map(({ name }) => `lock-${name}`),
      )
      const free = items.filter((_, i) => (held[i] ?? null) === null)
      const taken = free.map(({ name, holdMs }) => ({ key: `lock-${name}`, value: `${(tokens += 1)}`, ttlMs: holdMs }))
      if (taken.length > 0) await kv.set(namespace, taken)
      return items.map(({ name }) => {
        const own = taken.find((each) => each.key === `lock-${name}`)
        if (own === undefined) return { kind: 'held', untilMs: 0 }
        return { kind: 'acquired', token: Number(own.value), expiresAtMs: 0 }
      })
    },
    extend: async (_, items) => items.map(() => ({ kind: 'lease_lost' })),
    release: async (namespace, items) => {
      const stored = await kv.get(
        namespace,
        items.map(({ name }) => `lock-${name}`),
      )
      const own = items.filter(({ token }, i) => stored[i] === `${token}`)
      await kv.delete(
        namespace,
        own.map(({ name }) => `lock-${name}`),
      )
      return items.map((item) => (own.includes(item) ? 'ok' : 'lease_lost'))
    },
  }
}

/** Says that a task in flight was cancelled, and lets it be. */
function cancelOfPending({ tasks }: Backend): Backend['tasks']['cancel'] {
  return async (type, ids, ...args) => {
    const places = await tasks.locate(type, ids)
    if (!places.includes('in_flight')) return tasks.cancel(type, ids, ...args)
    return ids.map(() => ({ kind: 'cancelled', was: 'in_flight', worker: '', token: 0 }))
  }
}

/** Unique keys as values of `kv`: a value is the id of the task that has the key. */
function uniqueAsTwoCalls({ kv, tasks }: Backend): Backend['tasks']['submit'] {
  return async (type, windowMs, submitted, ...args) => {
    const [task] = submitted
    if (task?.unique === undefined) return tasks.submit(type, windowMs, submitted, ...args)
    const name = `unique-${task.unique.key}`
    const [stored] = await kv.get(type, [name])
    const holder = typeof stored === 'string' ? (JSON.parse(stored) as string) : 'none'
    const [place] = await tasks.locate(type, [holder])
    const isHeld = typeof place === 'string'
    if (isHeld && task.unique.onConflict === 'keep') return [{ kind: 'duplicate', duplicateOf: holder }]
    if (isHeld) await tasks.cancel(type, [holder], 'admin')
    const own = { ...task, unique: { ...task.unique, key: task.id } }
    await tasks.submit(type, windowMs, [own], ...args)
    await kv.set(type, [{ key: name, value: JSON.stringify(task.id), ttlMs: null }])
    return [isHeld ? { kind: 'queued', replaced: holder } : { kind: 'queued' }]
  }
}

const readsFrom =
  (replica: Redis): Backend['kv']['get'] =>
  (namespace, names) =>
    replica.hmget(key('k', namespace, 'v'), ...names)
