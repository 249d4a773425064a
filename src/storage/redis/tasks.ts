/**
 * @module storage/redis/tasks
 * The `tasks` of the contract over Redis: one script a call. What is wrong in an argument was refused before.
 */
import { cutError } from '../index.ts'
import { cancel } from './tasks-cancel.ts'
import { applyToDead, clearDead, dead, forgetReplays, newestDeath, replay, replayCounts } from './tasks-dead.ts'
import { createDeadGroups } from './tasks-dead-groups.ts'
import { bodies, countDue, counts, locate, queue } from './tasks-inspect.ts'
import { describe } from './tasks-outcomes.ts'
import { list } from './tasks-list.ts'
import { reserve } from './tasks-reserve.ts'
import { groups, TaskGrouping } from './tasks-groups.ts'
import { pause, resume } from './tasks-pause.ts'
import { ack, extend, nack, release } from './tasks-settle.ts'
import { CallSlots } from './call-slots.ts'
import { submit } from './tasks-submit.ts'
import { sweep } from './tasks-sweep.ts'
import type { Clock } from '../../runtime/index.ts'
import type { Tasks } from '../index.ts'
import type { Caller } from './caller.ts'
import { createDeclareNeed } from './declare-need.ts'
import type { Masters, TaskCaller } from './tasks-layout.ts'

/**
 * @param process an id that no other process uses, ever.
 * @param masters What is known of the other masters; without it, all are woken.
 */
export function createTasks(
  connection: Caller,
  process: string,
  clock: Pick<Clock, 'monotonicMs'>,
  masters: Masters = { isAlone: () => false, wakePrefix: () => null },
): Tasks {
  const declareNeed = createDeclareNeed(connection, clock)
  const grouping = new TaskGrouping(connection, declareNeed, clock)
  const caller: TaskCaller = {
    run: (script, keys, args, options) => connection.run(script, keys, args, options),
    runId: () => connection.runId(),
    channel: (name) => connection.channel(name),
    publisher: connection.publisher,
    groupArgs: grouping.groupArgs,
    masters,
  }
  const [submits, reserves] = [new CallSlots(process), new CallSlots(process)]
  return {
    submit: (type, windowMs, items, maxLength) =>
      submit(caller, submits, declareNeed, type, windowMs, items, maxLength),
    reserve: (type, visibilityMs, requests, maxOutcomes) =>
      reserve(caller, reserves, type, visibilityMs, requests, maxOutcomes),
    ack: (type, leases, maxOutcomes) => ack(caller, type, leases, maxOutcomes),
    release: (type, leases) => release(caller, type, leases),
    nack: (type, retry, items) =>
      nack(
        caller,
        type,
        retry,
        items.map((item) => ({ ...item, error: cutError(item.error) })),
      ),
    extend: (type, items) => extend(caller, type, items),
    sweep: async (type, maxLost, limit) => {
      await grouping.repairIfDue(caller, type)
      return sweep(caller, type, maxLost, limit)
    },
    locate: (type, ids) => locate(caller, type, ids),
    queue: (type, n, bytes) => queue(caller, type, n, bytes),
    bodies: (type, ids, bytes) => bodies(caller, type, ids, bytes),
    describe: (type, ids, bytes) => describe(caller, type, ids, bytes),
    list: (type, place, after, limit, bytes) => list(caller, type, place, after, limit, bytes),
    dead: (type, n, bytes, after) => dead(caller, type, n, bytes, after),
    replay: (type, n, until, replayId) => replay(caller, type, n, until, replayId),
    newestDeath: (type) => newestDeath(caller, type),
    clearDead: (type) => clearDead(caller, type),
    applyToDead: (type, action, ids, replayId) => applyToDead(caller, type, action, ids, replayId),
    replayCounts: (type, replays) => replayCounts(caller, type, replays),
    forgetReplays: (type, replays) => forgetReplays(caller, type, replays),
    ...createDeadGroups(caller),
    counts: (types) => counts(caller, types),
    countDue: (type, withinMs) => countDue(caller, type, withinMs),
    cancel: (type, ids, actor, maxOutcomes) => cancel(caller, type, ids, actor, maxOutcomes),
    pause: (type, wanted) => pause(caller, type, wanted),
    resume: (type) => resume(caller, type),
    setGroupPolicy: (type, policy) => grouping.setPolicy(caller, type, policy),
    groups: (type, limit) => groups(caller, type, limit),
  }
}
