/**
 * @module storage/redis/tasks
 * The `tasks` of the contract over Redis: one script a call. What is wrong in an argument was refused before.
 */
import { cutError } from '../index.ts'
import { clearDead, dead, replay, select } from './tasks-dead.ts'
import { counts, locate, queue } from './tasks-inspect.ts'
import { reserve } from './tasks-reserve.ts'
import { ack, extend, nack, release } from './tasks-settle.ts'
import { submit } from './tasks-submit.ts'
import { sweep } from './tasks-sweep.ts'
import type { Tasks } from '../index.ts'
import type { Caller } from './caller.ts'

export function createTasks(caller: Caller): Tasks {
  return {
    submit: (type, windowMs, items, maxLength) => submit(caller, type, windowMs, items, maxLength),
    reserve: (type, visibilityMs, requests) => reserve(caller, type, visibilityMs, requests),
    ack: (type, leases) => ack(caller, type, leases),
    release: (type, leases) => release(caller, type, leases),
    nack: (type, retry, items) =>
      nack(
        caller,
        type,
        retry,
        items.map((item) => ({ ...item, error: cutError(item.error) })),
      ),
    extend: (type, items) => extend(caller, type, items),
    sweep: (type, maxLost, limit) => sweep(caller, type, maxLost, limit),
    locate: (type, ids) => locate(caller, type, ids),
    queue: (type, n) => queue(caller, type, n),
    dead: (type, n) => dead(caller, type, n),
    replay: (type, n) => replay(caller, type, n),
    clearDead: (type) => clearDead(caller, type),
    select: (type, action, ids) => select(caller, type, action, ids),
    counts: (types) => counts(caller, types),
  }
}
