/**
 * @module storage/arguments
 * Checks the arguments of all storage methods before a call has any effect. The protocol layer has already rejected
 * what a client can get wrong, so a wrong argument here is a programming error: a TypeError that names the argument.
 *
 * `CHECKS` has one function per method, with the parameters of that method.
 */
import {
  MAX_RESPONSE_BYTES,
  MAX_ATTEMPTS,
  MAX_HOLD_MS,
  MAX_N,
  MAX_NAME_CHARS,
  MAX_RETAIN_SECONDS,
  MAX_RETRY_IN_MS,
  MAX_TTL_SECONDS,
  MAX_VISIBILITY_MS,
  MIN_HOLD_MS,
  MIN_VISIBILITY_MS,
} from '../protocol/index.ts'
import { listCursor } from './list-cursor.ts'
import type { Backend, LeaseRef, Ref } from './backend.ts'

/** Items in one call of `tasks`; the master splits larger ones. */
const MAX_TASK_ITEMS = 500
/** Entries in one push. */
const MAX_PUSH_ENTRIES = 1_000
const MAX_TTL_MS = MAX_TTL_SECONDS * 1000
const MAX_PAGE = 1_000
const ANY = Number.MAX_SAFE_INTEGER

function wrong(what: string, expected: string, got: unknown): TypeError {
  const shown = typeof got === 'string' ? JSON.stringify(got.slice(0, 40)) : String(got)
  return new TypeError(`${what} must be ${expected}, got ${shown}`)
}

function integer(what: string, value: number, min: number, max: number): void {
  if (!Number.isSafeInteger(value) || value < min || value > max)
    throw wrong(what, `an integer from ${min} to ${max}`, value)
}

function text(what: string, value: string): void {
  if (typeof value !== 'string') throw wrong(what, 'text', value)
}

/** Any text of 1 to 256 characters that has a UTF-8 form. */
function name(what: string, value: string): void {
  text(what, value)
  const length = value.length <= MAX_NAME_CHARS ? value.length : [...value].length
  if (length < 1 || length > MAX_NAME_CHARS || !value.isWellFormed())
    throw wrong(what, `well-formed text of 1 to ${MAX_NAME_CHARS} characters`, value)
}

function names(what: string, values: readonly string[]): void {
  list(what, values, 0, ANY)
  for (const value of values) name(what, value)
}

function list(what: string, items: readonly unknown[], min: number, max: number): void {
  if (!Array.isArray(items)) throw wrong(what, 'a list', items)
  if (items.length < min || items.length > max) throw wrong(what, `a list of ${min} to ${max} items`, items.length)
}

function each<T>(what: string, items: readonly T[], check: (item: T) => void): void {
  list(what, items, 0, ANY)
  for (const item of items) check(item)
}

function batch<T>(what: string, items: readonly T[], check: (item: T) => void): void {
  list(what, items, 1, MAX_TASK_ITEMS)
  for (const item of items) check(item)
}

const optional = <T>(value: T | null, check: (value: T) => void): void => {
  if (value !== null) check(value)
}
const ref = (r: Ref): void => {
  name('type', r.type)
  name('id', r.id)
}
const lease = (l: LeaseRef): void => {
  name('id', l.id)
  integer('token', l.token, 0, ANY)
}
const hold = (ms: number): void => integer('holdMs', ms, MIN_HOLD_MS, MAX_HOLD_MS)
const visibility = (ms: number): void => integer('visibilityMs', ms, MIN_VISIBILITY_MS, MAX_VISIBILITY_MS)
const ttl = (what: string, ms: number): void => integer(what, ms, 1_000, MAX_TTL_MS)
const n = (value: number): void => integer('n', value, 1, MAX_N)
const refs = (items: readonly Ref[]): void => each('refs', items, ref)
const leases = (type: string, items: readonly LeaseRef[]): void => {
  name('type', type)
  batch('leases', items, lease)
}
const piece = (bytes: number | undefined): void => {
  if (bytes !== undefined) integer('bytes', bytes, 1, MAX_RESPONSE_BYTES)
}
const inspect = (type: string, value: number, bytes?: number): void => {
  name('type', type)
  n(value)
  piece(bytes)
}

const idsWithin = (type: string, ids: readonly string[], bytes?: number): void => {
  name('type', type)
  batch('ids', ids, (id) => name('id', id))
  piece(bytes)
}

type Group = 'meta' | 'workers' | 'configs' | 'stats' | 'streams' | 'tasks' | 'pools' | 'kv' | 'locks' | 'counters'
/** One check per method, or none where nothing can be wrong. */
export type Checks<G> = {
  readonly [M in keyof G]: G[M] extends (...args: infer A) => unknown ? (...args: A) => void : never
}

export const CHECKS: { readonly [G in Group]: Checks<Backend[G]> } = {
  meta: {
    info: () => undefined,
    beat: (masterId) => name('masterId', masterId),
    declare: (masterId, release) => {
      name('masterId', masterId)
      if (typeof release !== 'string' || release.length > 4_096)
        throw new TypeError('release must be a string of at most 4096 characters')
    },
  },
  workers: {
    register: (items) =>
      each('items', items, (item) => {
        ref(item)
        name('conn', item.conn)
        text('instance', item.instance)
        text('hardware', item.hardware)
        text('defaults', item.defaults)
      }),
    beat: (items) =>
      each('items', items, (item) => {
        ref(item)
        name('conn', item.conn)
        if (item.state !== undefined) integer('gen', item.state.gen, 0, ANY)
        for (const frame of item.stats ?? []) text('stats', frame)
      }),
    disconnect: (items) =>
      each('items', items, (item) => {
        ref(item)
        name('conn', item.conn)
      }),
    drain: refs,
    manage: (items) =>
      each('items', items, (item) => {
        ref(item)
        optional(item.managedBy, (by) => name('managedBy', by))
      }),
    forget: refs,
    get: refs,
    page: (type, after, limit, bytes) => {
      name('type', type)
      piece(bytes)
      optional(after, (id) => text('after', id))
      integer('limit', limit, 1, MAX_PAGE)
    },
  },
  configs: {
    put: (put) => {
      ref(put)
      integer('expectGen', put.expectGen, 0, ANY - 1)
      optional(put.expectConfig ?? null, (config) => text('expectConfig', config))
      text('config', put.config)
      text('actor', put.actor)
      list('changed', put.changed, 0, ANY)
    },
    get: refs,
    history: (of, limit, skip) => {
      ref(of)
      if (skip !== undefined) integer('skip', skip, 0, MAX_N)
      integer('limit', limit, 1, MAX_N)
    },
    raise: (items) =>
      each('items', items, (item) => {
        ref(item)
        integer('above', item.above, 0, ANY - 1)
      }),
  },
  stats: {
    read: (of, sinceSeconds, limit) => {
      ref(of)
      if (!Number.isFinite(sinceSeconds)) throw wrong('sinceSeconds', 'a finite number', sinceSeconds)
      integer('limit', limit, 1, MAX_N)
    },
  },
  streams: {
    push: (type, producer, seq, entries) => {
      name('type', type)
      name('producer', producer)
      integer('seq', seq, 0, ANY)
      list('entries', entries, 1, MAX_PUSH_ENTRIES)
      for (const entry of entries) text('entry', entry)
    },
    tail: (type, after, count, bytes) => {
      inspect(type, count, bytes)
      optional(after, (id) => text('after', id))
    },
    peek: inspect,
    pop: inspect,
    length: (types) => names('types', types),
    bytes: (types) => names('types', types),
    trim: (type, maxBytes) => {
      name('type', type)
      integer('maxBytes', maxBytes, 0, ANY)
    },
  },
  tasks: {
    submit: (type, idempotencyTtlMs, tasks, maxLength) => {
      name('type', type)
      ttl('idempotencyTtlMs', idempotencyTtlMs)
      if (maxLength !== undefined) integer('maxLength', maxLength, 0, ANY)
      batch('tasks', tasks, (task) => {
        name('id', task.id)
        if (task.key !== null) name('key', task.key)
        if (task.keyTtlMs !== undefined) ttl('keyTtlMs', task.keyTtlMs)
        integer('tier', task.tier, 0, 2)
        if (task.notBeforeMs !== undefined) integer('notBeforeMs', task.notBeforeMs, 0, ANY)
        if (task.ttlMs !== null) ttl('ttlMs', task.ttlMs)
        if (task.retainMs !== undefined) integer('retainMs', task.retainMs, 1, MAX_RETAIN_SECONDS * 1_000)
        if (task.unique !== undefined) name('unique.key', task.unique.key)
        if (task.maxAttempts !== null) integer('maxAttempts', task.maxAttempts, 1, MAX_ATTEMPTS)
        integer('submittedAtMs', task.submittedAtMs, 0, ANY)
        text('body', task.body)
      })
    },
    reserve: (type, visibilityMs, requests, maxOutcomes) => {
      name('type', type)
      if (maxOutcomes !== undefined) integer('maxOutcomes', maxOutcomes, 0, ANY)
      visibility(visibilityMs)
      batch('requests', requests, (request) => {
        name('worker', request.worker)
        integer('limit', request.limit, 1, MAX_N)
        integer('gen', request.gen, 0, ANY)
        integer('defaultMaxAttempts', request.defaultMaxAttempts, 1, MAX_ATTEMPTS)
      })
    },
    ack: (type, items, maxOutcomes) => {
      leases(type, items)
      if (maxOutcomes !== undefined) integer('maxOutcomes', maxOutcomes, 0, ANY)
      for (const { result } of items) if (result?.kind === 'json') text('result', result.text)
    },
    release: leases,
    nack: (type, retry, items) => {
      name('type', type)
      integer('baseMs', retry.baseMs, 0, MAX_RETRY_IN_MS)
      integer('capMs', retry.capMs, 0, MAX_RETRY_IN_MS)
      if (!(retry.factor >= 1)) throw wrong('factor', 'a number of 1 or more', retry.factor)
      batch('items', items, (item) => {
        lease(item)
        text('error', item.error)
        if (item.retryInMs !== null) integer('retryInMs', item.retryInMs, 0, MAX_RETRY_IN_MS)
        if (!(item.jitter >= 0 && item.jitter < 1)) throw wrong('jitter', 'a number in [0, 1)', item.jitter)
      })
    },
    extend: (type, items) => {
      name('type', type)
      batch('items', items, (item) => {
        lease(item)
        visibility(item.visibilityMs)
        if (item.progress !== undefined) text('progress', item.progress)
      })
    },
    sweep: (type, maxLost, limit) => {
      inspect(type, limit)
      integer('maxLost', maxLost, 0, ANY)
    },
    locate: (type, ids) => {
      name('type', type)
      batch('ids', ids, (id) => name('id', id))
    },
    queue: inspect,
    bodies: idsWithin,
    describe: idsWithin,
    list: (type, _place, after, limit, bytes) => {
      name('type', type)
      optional(after, listCursor)
      integer('limit', limit, 1, MAX_TASK_ITEMS)
      piece(bytes)
    },
    dead: (type, count, bytes, after) => {
      inspect(type, count, bytes)
      if (after !== undefined) integer('after', after, 0, ANY)
    },
    replay: (type, count, newestDeath) => {
      name('type', type)
      integer('n', count, 1, MAX_TASK_ITEMS)
      if (newestDeath !== undefined) integer('newestDeath', newestDeath, 0, ANY)
    },
    newestDeath: (type) => name('type', type),
    clearDead: (type) => name('type', type),
    applyToDead: (type, _action, ids) => {
      name('type', type)
      batch('ids', ids, (id) => name('id', id))
    },
    counts: (types) => names('types', types),
    cancel: (type, ids, actor, maxOutcomes) => {
      name('type', type)
      name('actor', actor)
      if (maxOutcomes !== undefined) integer('maxOutcomes', maxOutcomes, 0, ANY)
      batch('ids', ids, (id) => name('id', id))
    },
    pause: (type, pause) => {
      name('type', type)
      name('actor', pause.actor)
      optional(pause.note, (note) => name('note', note))
      optional(pause.untilMs, (ms) => integer('untilMs', ms, 0, ANY))
    },
    resume: (type) => name('type', type),
  },
  pools: {
    put: (pool, items) => {
      name('pool', pool)
      each('items', items, (item) => {
        name('id', item.id)
        text('tags', item.tags)
        text('payload', item.payload)
        optional(item.expiresAtMs, (at) => integer('expiresAtMs', at, 0, ANY))
      })
    },
    remove: (pool, items) => {
      name('pool', pool)
      each('items', items, (item) => {
        name('id', item.id)
        optional(item.token, (token) => integer('token', token, 0, ANY))
      })
    },
    claim: (pool, requests) => {
      name('pool', pool)
      each('requests', requests, (request) => {
        name('owner', request.owner)
        integer('n', request.n, 1, MAX_PAGE)
        hold(request.holdMs)
      })
    },
    extend: (pool, items) => {
      name('pool', pool)
      each('items', items, (item) => {
        lease(item)
        hold(item.holdMs)
      })
    },
    release: (pool, items) => {
      name('pool', pool)
      each('leases', items, lease)
    },
    list: (pool, count) => inspect(pool, count),
    sizes: (pools) => names('pools', pools),
  },
  kv: {
    get: (namespace, keys) => names('keys', [namespace, ...keys]),
    set: (namespace, items) => {
      name('namespace', namespace)
      each('items', items, (item) => {
        name('key', item.key)
        text('value', item.value)
        optional(item.ttlMs, (ms) => ttl('ttlMs', ms))
      })
    },
    delete: (namespace, keys) => names('keys', [namespace, ...keys]),
  },
  locks: {
    acquire: (namespace, items) => {
      name('namespace', namespace)
      each('items', items, (item) => {
        name('name', item.name)
        name('owner', item.owner)
        hold(item.holdMs)
      })
    },
    extend: (namespace, items) => {
      name('namespace', namespace)
      each('items', items, (item) => {
        name('name', item.name)
        integer('token', item.token, 0, ANY)
        hold(item.holdMs)
      })
    },
    release: (namespace, items) => {
      name('namespace', namespace)
      each('items', items, (item) => {
        name('name', item.name)
        integer('token', item.token, 0, ANY)
      })
    },
  },
  counters: {
    add: (namespace, items) => {
      name('namespace', namespace)
      each('items', items, (item) => {
        name('name', item.name)
        integer('delta', item.delta, -ANY, ANY)
      })
    },
    get: (namespace, counters) => names('names', [namespace, ...counters]),
  },
}
