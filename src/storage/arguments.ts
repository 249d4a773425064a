/**
 * @module storage/arguments
 * Checks the arguments of all storage methods before a call has any effect. The protocol layer has already rejected
 * what a client can get wrong, so a wrong argument here is a programming error: a TypeError that names the argument.
 *
 * `CHECKS` has one function per method, with the parameters of that method. Those of `tasks` are in task-arguments.ts.
 */
import {
  BULK_STEP_WORKERS,
  isTallyName,
  MAX_AUDIT_CHARS,
  MAX_AUDIT_PAGE,
  MAX_N,
  MAX_OPERATION_PART_CHARS,
  MAX_OPERATION_PARTS,
  MAX_REVISIONS,
} from '../protocol/index.ts'
import {
  MAX_PUSH_ENTRIES,
  MAX_PAGE,
  ANY,
  wrong,
  integer,
  text,
  textWithin,
  name,
  names,
  list,
  each,
  optional,
  ref,
  lease,
  hold,
  holder,
  ttl,
  refs,
  piece,
  inspect,
} from './argument-checks.ts'
import type { Checks } from './argument-checks.ts'
import type { Backend, BulkChange, BulkPut, Enrolment, RollupIncrement, TallyIncrement } from './backend.ts'
import { isPeakName, isSumName, resolutionOf } from './rollup-steps.ts'
import { TASK_CHECKS } from './task-arguments.ts'

/** The groups that are called by name. */
export type GroupName =
  | 'meta'
  | 'workers'
  | 'configs'
  | 'revisions'
  | 'enrolments'
  | 'rollouts'
  | 'operations'
  | 'audit'
  | 'rollups'
  | 'stats'
  | 'streams'
  | 'tasks'
  | 'pools'
  | 'kv'
  | 'locks'
  | 'counters'

const operationPart = (part: string): void => textWithin('part', part, MAX_OPERATION_PART_CHARS)

function enrolment({ revision, variant, managedBy }: Enrolment): void {
  name('revision', revision)
  name('variant', variant)
  optional(managedBy, (by) => name('managedBy', by))
}

function bulkPuts(type: string, { revision, managedBy, actor }: BulkChange, puts: readonly BulkPut[]): void {
  name('type', type)
  name('revision', revision)
  optional(managedBy, (by) => name('managedBy', by))
  text('actor', actor)
  list('puts', puts, 1, BULK_STEP_WORKERS)
  for (const { id, expectGen, expectConfig, expectManagedBy, variant, change } of puts) {
    name('id', id)
    integer('expectGen', expectGen, 0, ANY - 1)
    text('expectConfig', expectConfig)
    optional(expectManagedBy, (by) => name('expectManagedBy', by))
    name('variant', variant)
    if (change === null) continue
    text('config', change.config)
    text('patch', change.patch)
    list('changed', change.changed, 0, ANY)
  }
  if (new Set(puts.map(({ id }) => id)).size < puts.length) throw wrong('puts', 'distinct workers', puts.length)
}

const MAX_COUNTERS = 256

function increment({ revision, counters }: TallyIncrement): void {
  name('revision', revision)
  const entries = Object.entries(counters)
  list('counters', entries, 0, MAX_COUNTERS)
  for (const [counter, value] of entries) {
    name('counter', counter)
    if (!isTallyName(counter)) throw wrong('counter', 'the name of a counter of a tally', counter)
    if (!(value >= 0 && value <= ANY)) throw wrong('value', `a number from 0 to ${ANY}`, value)
  }
}

function rollup({ type, peaks, sums }: RollupIncrement): void {
  name('type', type)
  for (const peak of Object.keys(peaks)) if (!isPeakName(peak)) throw wrong('peak', 'one or two letters', peak)
  for (const sum of Object.keys(sums)) if (!isSumName(sum)) throw wrong('sum', 'a letter and a number below 100', sum)
  for (const value of [...Object.values(peaks), ...Object.values(sums)]) integer('value', value, 0, ANY)
}

export const CHECKS: { readonly [G in GroupName]: Checks<Backend[G]> } = {
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
        optional(item.labels ?? null, (labels) => text('labels', labels))
        text('defaults', item.defaults)
        text('rules', item.rules ?? '')
        optional(item.enrolment ?? null, enrolment)
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
        if (item.end === undefined) return
        integer('code', item.end.code, 0, 65_535)
        text('reason', item.end.reason)
      }),
    drain: (items) =>
      each('items', items, (item) => {
        ref(item)
        optional(item.actor ?? null, (actor) => name('actor', actor))
      }),
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
    putMany: bulkPuts,
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
  revisions: {
    put: (type, revision) => {
      name('type', type)
      name('name', revision.name)
      if (revision.name.includes('/')) throw wrong('name', 'text without a slash', revision.name)
      text('config', revision.config)
      optional(revision.managedBy, (by) => name('managedBy', by))
      text('actor', revision.actor)
    },
    get: (type, of) => names('names', [type, ...of]),
    list: (type) => name('type', type),
    addTallies: (type, increments) => {
      name('type', type)
      list('increments', increments, 0, MAX_REVISIONS)
      each('increments', increments, increment)
    },
  },
  enrolments: {
    put: (type, rule) => {
      name('type', type)
      name('name', rule.name)
      enrolment(rule)
      text('body', rule.body)
    },
    remove: (type, of) => names('name', [type, of]),
    list: (type) => name('type', type),
  },
  rollouts: {
    put: (type, report) => {
      names('name', [type, report.name])
      text('head', report.head)
      text('body', report.body)
      integer('reportedAtMs', report.reportedAtMs, 0, ANY)
    },
    remove: (type, of) => names('name', [type, of]),
    list: (type) => name('type', type),
    heads: (types) => names('types', types),
  },
  operations: {
    create: (type, id, head, parts) => {
      names('id', [type, id])
      text('head', head)
      list('parts', parts, 0, MAX_OPERATION_PARTS)
      each('parts', parts, operationPart)
    },
    update: (type, id, version, head, parts) => {
      names('id', [type, id])
      integer('version', version, 1, ANY)
      text('head', head)
      list('parts', parts, 0, MAX_OPERATION_PARTS)
      each('parts', parts, ({ n, text: part }) => {
        integer('n', n, 0, MAX_OPERATION_PARTS)
        operationPart(part)
      })
    },
    remove: (type, id) => names('id', [type, id]),
    heads: (types) => names('types', types),
    part: (type, id, n) => {
      names('id', [type, id])
      integer('n', n, 0, MAX_OPERATION_PARTS)
    },
  },
  audit: {
    append: (entries) => {
      list('entries', entries, 0, MAX_AUDIT_PAGE)
      each('entries', entries, (entry) => textWithin('entry', entry, MAX_AUDIT_CHARS))
    },
    list: (before, limit) => {
      optional(before, (n) => integer('before', n, 1, ANY))
      integer('limit', limit, 1, MAX_AUDIT_PAGE)
    },
  },
  rollups: {
    add: (increments) => {
      list('increments', increments, 0, MAX_N)
      each('increments', increments, rollup)
    },
    read: (type, stepMs, fromMs, toMs) => {
      name('type', type)
      resolutionOf(stepMs)
      integer('fromMs', fromMs, 0, ANY)
      integer('toMs', toMs, 0, ANY)
    },
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
  tasks: TASK_CHECKS,
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
        optional(request.holder ?? null, holder)
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
    claims: (pool, count, id) => {
      name('pool', pool)
      integer('n', count, 1, MAX_PAGE)
      optional(id, (item) => name('id', item))
    },
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
