/**
 * @module storage/redis/tasks-layout
 * Defines how the tasks of one automation type T are stored in Redis. All keys have the hash tag `{a:T}`, as those of
 * the registry of the type (workers-layout.ts):
 *
 *   p0 p1 p2  LIST    tickets of the pending tasks of a tier, next in line first
 *   t         HASH    id → body, of every task that is not dead
 *   v  l      ZSET id by deadline, HASH id → lease: in flight
 *   d  s      ZSET ticket by due time, SET of ids: scheduled
 *   dz        ZSET    id by the number of its death (`died` at that time), which orders deaths of the same moment
 *   dt dm     HASH id → body, HASH id → dead record: dead. Apart from `t`, so that clearing them is one UNLINK
 *   dq di dg  the groups of the errors of dead tasks (scripts/include/dead-groups.lua)
 *   e  de     HASH id → facts, of tasks with progress or failed attempts: those that are not dead, and dead ones
 *   o  oz     HASH id → outcome, ZSET id by expiry: retained outcomes
 *   c         HASH    slot of a process → `number of its last submit:ms:results`, results empty if all were queued
 *   r         HASH    slot of a process → `number of its last reserve:ms:token before the first:ids` as JSON
 *   x         HASH    id → `places:generation:moved`: ids of cancelled tasks whose tickets are stale, and of replayed
 *                     tasks in another tier than their own (scripts/include/stale.lua)
 *   u         HASH JSON text of a unique key → `s` or `f` (conflicts until the task has started, finished) and the id
 *             of the last task with it. It counts only if the body has the key; the sweep removes other entries
 *   i  iz     HASH key → `<end>:<first id>`, ZSET key by end: idempotency windows
 *   m         HASH    f (last token), run (the run of the store in which it was issued), u b (the tokens after u up to
 *                     b were skipped when f last rose), n (segments begun), s0..s3 (the segments of the bitmaps),
 *                     t0..t3 (those of the fingerprints), submitted, acked, nacked, died, cancelled (running
 *                     totals), ps (the pause, also one that has ended by time), st (the stale tickets by place), sg
 *                     (the newest generation), sc (where the repair of st continues), ob (bytes of the retained
 *                     outcomes), fs (where and when the repair of e and de continues; missing while both
 *                     are empty), uc (where the sweep of u continues; missing while u is empty), dl (the last death
 *                     in a group), gv gf gb (numbers of the groups), yd:ID yx:ID (tasks of a replay that are done,
 *                     and that died)
 *   gt gq gn gr gw gl ga  tasks in groups (scripts/include/groups.lua)
 *   wm        ZSET process of a master by ms: masters that found the queue empty (scripts/include/wake.lua)
 *   k0..k3    STRING  bitmaps of acknowledged tokens, one segment of 2^20 tokens each; the oldest is recycled
 *   h0..h3    STRING  for each bitmap the fingerprints of the tasks (fingerprint.ts), 32 bits per token; 0:
 *                     acknowledged by an older version
 *
 *   ticket       `submitted|bytes|expires|tier|ttl|own max|attempt|lost|look:id`   numbers up to the colon, some empty
 *                `submitted` has 16 digits behind the generation of a ticket whose id had stale tickets
 *   lease        `token:max:<length of worker>:<worker><ticket>`   max: of the worker; an own max in the ticket wins
 *                `max` begins with a 0 if the outcome of the task will be retained, with 00 if it has facts, and with
 *                000 if both
 *   outcome      `kind|finished|expires|attempt|<length of worker>[|<length of facts>]:<worker><facts><result>`   kind:
 *                d done, e expired, c cancelled, whose worker is who did it; result: empty for none, x for one that was
 *                too large, j and the JSON otherwise
 *   facts        a line `ms JSON` of the progress if there is one, then one line of JSON for each failed attempt, the
 *                oldest first; those of an outcome are the attempts alone. The newest attempt has the field `replay` if
 *                the task is part of a replay (scripts/include/replays.lua)
 *   dead record  `died:max:<length of ticket>:<ticket><error>`
 *   pause        `until|since|{"actor":…,"note":…}`   until: empty if only a resume ends it
 *
 * A ticket is all of a task but its body, and moves with it from place to place; so no script decodes a body, none has
 * to read one to know its size, and a task in flight costs one field and one score. `look` is 0 where a reserve need
 * not look at bytes and expires: the body is short and lives as long as it takes. It is the sum of 1 if it must, 2 if
 * the task has facts, and 4 if the outcome of the task will be retained; the body begins with the time. A release that
 * does not know facts and outcomes copies the digit, takes each that is not 0 for 1, and reads `max` as a number. It
 * leaves facts behind, which a sweep removes (scripts/include/facts-repair.lua).
 *
 * Scripts write the place a task comes to before they leave the one it was in. None of these writes can fail; if one
 * did, a task would be found twice (at least once is the promise), and a ticket without its body is dropped.
 */
import { keysOfType } from './keys.ts'
import type { NewTask } from '../index.ts'
import type { Caller, CallOptions, Reply } from './caller.ts'
import type { Script, TaskScript } from './script.ts'

interface FinishedTasks {
  readonly type: string
  readonly ids: readonly string[]
}

/** Runs scripts of tasks. It knows which types have a group policy (D119). */
export interface TaskCaller extends Caller {
  /** By type the last arguments of the grouped variant of a script (scripts/include/groups.lua). */
  readonly groupArgs: ReadonlyMap<string, readonly (string | number)[]>
  readonly masters: Masters
}

/** What is known of the other masters that use the store. */
export interface Masters {
  /** Whether there is none (meta.ts). */
  readonly isAlone: () => boolean
  /** The beginning of the channels of single masters; null unless every master registers for wake-ups. */
  readonly wakePrefix: (type: string) => string | null
}

/** Runs a script on the keys of one type: its grouped variant if it has one and the type has a group policy. */
export function run(
  caller: TaskCaller,
  script: Script | TaskScript,
  type: string,
  args: readonly (string | number)[],
  options?: CallOptions,
): Promise<Reply> {
  if ('source' in script) return caller.run(script, keysOfType(script, type), args, options)
  const groupArgs = caller.groupArgs.get(type)
  if (groupArgs === undefined) return caller.run(script.plain, keysOfType(script.plain, type), args, options)
  return caller.run(script.grouped, keysOfType(script.grouped, type), [...args, ...groupArgs], options)
}

/**
 * The channel and the message by which a script wakes all masters. A process ignores its own message, because the
 * result shows how many tasks became pending.
 */
export const wakeAllOf = (caller: Caller, type: string): readonly [string, string] => [
  caller.channel('wake'),
  `${type} ${caller.publisher}`, // Types contain no spaces.
]

/** As `wakeAllOf`, for a script that wakes only some of the masters where all of them register (include/wake.lua). */
export const wakeOf = (caller: TaskCaller, type: string): readonly [string, string] => {
  const [channel, message] = wakeAllOf(caller, type)
  return [caller.masters.wakePrefix(type) ?? channel, message]
}

/** As `wakeOf`, but without a channel while there is no other master: at low rates the message is a large cost. */
export const wakeOthersOf = (caller: TaskCaller, type: string): readonly [string, string] =>
  caller.masters.isAlone() ? ['', ''] : wakeOf(caller, type)

/** The channel and the beginning of the message by which a script publishes which retained tasks have finished. */
export const finishedOf = (caller: Caller, type: string): readonly [string, string] => [
  caller.channel('fin'),
  `${type} ${caller.publisher} `, // The ids follow, as JSON.
]

/** @returns what finished; null for a message of this process, which notifies its own waits. */
export function finishedTasks(message: string, caller: Caller): FinishedTasks | null {
  const [, type, publisher, ids] = /^(\S+) (\S*) (\[.*\])$/s.exec(message) ?? []
  if (type === undefined || ids === undefined || publisher === caller.publisher) return null
  return { type, ids: idsOf(ids) }
}

/** Parses the ids of a message. Any client of the store can publish to this channel. @returns none if it is no list. */
function idsOf(text: string): readonly string[] {
  try {
    return (JSON.parse(text) as unknown[]).filter((id) => typeof id === 'string')
  } catch {
    return []
  }
}

/** @returns the type to wake; null for a message of this process. A message without a publisher wakes every process. */
export function wokenType(message: string, caller: Caller): string | null {
  const [type = '', publisher] = message.split(' ')
  return publisher === caller.publisher ? null : type
}

/** Digits of the time of the submit in a ticket with a generation, as tasks.submit.lua writes it. */
const SUBMITTED_DIGITS = 16

/** Bytes of a body below which it does not count towards the size of a response: 500 of them are 2 MiB. */
const SHORT_BODY = 4_096

export const READS: CallOptions = { repeatable: true }
export const listOf = (reply: Reply): readonly Reply[] => (Array.isArray(reply) ? (reply as readonly Reply[]) : [])

/** Whether a reserve may ignore the size of the body. */
export const isShortBody = (body: string): boolean => Buffer.byteLength(body) < SHORT_BODY

/** `expires` is left to the script, because the time is the store's. In a submit, it is `notBeforeMs`. */
export function ticketOf(task: NewTask): string {
  const { id, tier, ttlMs, maxAttempts, submittedAtMs: submitted, notBeforeMs = '', retainMs, body } = task
  const bytes = Buffer.byteLength(body)
  const look = (ttlMs === null && bytes < SHORT_BODY ? 0 : 1) + (retainMs === undefined ? 0 : 4)
  return `${submitted}|${bytes}|${notBeforeMs}|${tier}|${ttlMs ?? ''}|${maxAttempts ?? ''}|0|0|${look}:${id}`
}

export interface Ticket {
  readonly id: string
  readonly submitted: number
  readonly ownMax: number | null
  readonly attempt: number
  readonly isRetained: boolean
  readonly hasFacts: boolean
}

export function readTicket(ticket: string): Ticket {
  const colon = ticket.indexOf(':')
  const [submitted, , , , , ownMax, attempt, , look] = ticket.slice(0, colon).split('|')
  return {
    id: ticket.slice(colon + 1),
    submitted: Number(submitted?.slice(-SUBMITTED_DIGITS)),
    ownMax: ownMax === '' ? null : Number(ownMax),
    attempt: Number(attempt),
    isRetained: Number(look) >= 4,
    hasFacts: Number(look) % 4 >= 2,
  }
}
