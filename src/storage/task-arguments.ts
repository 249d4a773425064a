/**
 * @module storage/task-arguments
 * Checks the arguments of the methods of `tasks`, with one function per method.
 */
import { MAX_ATTEMPTS, MAX_N, MAX_RETAIN_SECONDS, MAX_RETRY_IN_MS } from '../protocol/index.ts'
import {
  MAX_TASK_ITEMS,
  MAX_PAGE,
  ANY,
  wrong,
  integer,
  text,
  name,
  names,
  batch,
  optional,
  lease,
  visibility,
  ttl,
  leases,
  piece,
  inspect,
  idsWithin,
} from './argument-checks.ts'
import type { Checks } from './argument-checks.ts'
import type { Tasks } from './backend.ts'
import { listCursor } from './list-cursor.ts'

const deadGroup = (group: string): void => {
  if (!/^[\da-f]{16}$/.test(group)) throw wrong('group', '16 hexadecimal digits', group)
}

const replayId = (replay: string | undefined): void => {
  if (replay !== undefined && !/^[\w-]{1,64}$/.test(replay))
    throw wrong('replay', '1 to 64 letters, digits and -', replay)
}

const replays = (type: string, ids: readonly string[]): void => {
  name('type', type)
  batch('replays', ids, replayId)
}

export const TASK_CHECKS: Checks<Tasks> = {
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
      if (task.group !== undefined) name('group', task.group)
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
  replay: (type, count, newestDeath, replay) => {
    name('type', type)
    integer('n', count, 1, MAX_TASK_ITEMS)
    if (newestDeath !== undefined) integer('newestDeath', newestDeath, 0, ANY)
    replayId(replay)
  },
  newestDeath: (type) => name('type', type),
  clearDead: (type) => name('type', type),
  applyToDead: (type, _action, ids, replay) => {
    name('type', type)
    replayId(replay)
    batch('ids', ids, (id) => name('id', id))
  },
  deadGroups: (type) => name('type', type),
  groupDead: (type, count) => {
    name('type', type)
    integer('n', count, 1, MAX_TASK_ITEMS)
  },
  newestDead: (type, group, before, count, bytes) => {
    name('type', type)
    optional(group, deadGroup)
    optional(before, listCursor)
    integer('n', count, 1, MAX_TASK_ITEMS)
    piece(bytes)
  },
  replayCounts: replays,
  forgetReplays: replays,
  applyToDeadGroup: (type, { group, diedBeforeMs, n, pace, replay }) => {
    name('type', type)
    replayId(replay)
    deadGroup(group)
    integer('diedBeforeMs', diedBeforeMs, 0, ANY)
    integer('n', n, 1, MAX_TASK_ITEMS)
    if (pace === undefined) return
    integer('delayMs', pace.delayMs, 0, ANY)
    if (!(pace.intervalMs > 0 && pace.intervalMs <= MAX_RETRY_IN_MS))
      throw wrong('intervalMs', 'above 0, at most a day', pace.intervalMs)
  },
  deadTask: (type, id) => {
    name('type', type)
    name('id', id)
  },
  replayEdited: (type, id, diedAtMs, body) => {
    name('type', type)
    name('id', id)
    integer('diedAtMs', diedAtMs, 0, ANY)
    text('body', body)
  },
  counts: (types) => names('types', types),
  countDue: (type, withinMs) => {
    name('type', type)
    integer('withinMs', withinMs, 0, 3_600_000)
  },
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
  setGroupPolicy: (type, policy) => {
    name('type', type)
    if (policy === null) return
    optional(policy.maxInFlight, (most) => integer('maxInFlight', most, 1, MAX_N))
    optional(policy.rate, ({ intervalMs, burst }) => {
      integer('burst', burst, 1, MAX_N)
      if (!(intervalMs > 0 && intervalMs <= MAX_RETRY_IN_MS))
        throw wrong('intervalMs', 'above 0, at most a day', intervalMs)
    })
  },
  groups: (type, limit) => {
    name('type', type)
    integer('limit', limit, 1, MAX_PAGE)
  },
}
