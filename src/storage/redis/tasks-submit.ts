/**
 * @module storage/redis/tasks-submit
 * Tasks into their tiers. Nothing is written before the whole batch is decided: keys first, then ids, then the bound,
 * and a later item sees an earlier one. What is already there costs only the reading of it: a new id gives nil.
 *
 * A call whose reply was lost is sent again. By then another master may have delivered and acked the tasks, so their
 * ids would look new; the call is recognised by its slot and number instead, and its first result is returned (D79).
 */
import { taskScript } from './script.ts'
import { READS, listOf, run, ticketOf, wakeOthersOf, type TaskCaller } from './tasks-layout.ts'
import { QUEUED, QUEUE_FULL, type NewTask, type SubmitItemResult, type UniqueKey } from '../index.ts'
import type { CallSlots } from './call-slots.ts'
import type { Reply } from './caller.ts'
import type { DeclareNeed } from './declare-need.ts'

const SUBMIT = taskScript('tasks.submit')

export async function submit(
  caller: TaskCaller,
  calls: CallSlots,
  declareNeed: DeclareNeed,
  type: string,
  windowMs: number,
  tasks: readonly NewTask[],
  maxLength: number | undefined,
): Promise<readonly SubmitItemResult[]> {
  const args: (string | number)[] = [
    ...wakeOthersOf(caller, type),
    windowsOf(tasks, windowMs),
    maxLength ?? '',
    '',
    '',
    0,
  ]
  const keys: string[] = []
  const uniqueKeys: string[] = []
  let shapes = ''
  for (const task of tasks) {
    args.push(task.id, ticketOf(task), task.body)
    if (task.key !== null) keys.push(task.key)
    if (task.unique !== undefined) uniqueKeys.push(...uniqueArguments(task.unique))
    shapes += shapeOf(task)
  }
  args[4] = shapes
  if (uniqueKeys.length > 0) {
    await declareNeed('unique')
    keys.push(...uniqueKeys)
  }
  const results = listOf(
    await calls.take(type, ({ slot, number }) => {
      args[5] = slot
      args[6] = number
      return run(caller, SUBMIT, type, args.concat(keys), READS)
    }),
  )
  return tasks.map((task, i) => resultOf(task, results[i] ?? 0))
}

/** One window for all keys, or one for each key if any task has its own (D105). */
function windowsOf(tasks: readonly NewTask[], windowMs: number): string | number {
  if (tasks.every(({ keyTtlMs }) => keyTtlMs === undefined)) return windowMs
  return tasks.flatMap(({ key, keyTtlMs = windowMs }) => (key === null ? [] : [keyTtlMs])).join()
}

/** One character for what the script has to know, as described there. */
function shapeOf({ tier, ttlMs, key, notBeforeMs, unique }: NewTask): string {
  const delay = notBeforeMs === undefined ? 0 : 16
  const uniqueness = unique === undefined ? 0 : 32
  return String.fromCharCode(48 + tier + (ttlMs === null ? 0 : 4) + (key === null ? 0 : 8) + delay + uniqueness)
}

/** The key is its JSON text, which the script compares with the body. */
function uniqueArguments({ key, until, onConflict }: UniqueKey): readonly string[] {
  return [(until === 'finished' ? 'f' : 's') + (onConflict === 'replace' ? 'r' : 'k'), JSON.stringify(key)]
}

/** An id that was drawn for this call and is known already stands for this very task. */
function resultOf({ id, ownId }: NewTask, response: Reply): SubmitItemResult {
  if (typeof response === 'string') return { kind: 'duplicate', duplicateOf: response }
  if (Array.isArray(response)) return { kind: 'queued', replaced: String(response[0]) }
  if (response === 2) return QUEUE_FULL
  return response === 1 && ownId ? { kind: 'duplicate', duplicateOf: id } : QUEUED
}
