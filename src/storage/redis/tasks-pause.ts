/**
 * @module storage/redis/tasks-pause
 * Pauses and resumes queues. The pause is one field of the hash `m`, which the scripts of reserve, queue and counts
 * read (scripts/include/pause.lua); an older release does not know it and ignores the pause.
 */
import { script } from './script.ts'
import { READS, run, wakeAllOf, type TaskCaller } from './tasks-layout.ts'
import { pausedOf, type NewPause, type Pause } from '../index.ts'
import type { Reply } from './caller.ts'

const PAUSE = script('tasks.pause')
const RESUME = script('tasks.resume')

export async function pause(caller: TaskCaller, type: string, wanted: NewPause): Promise<Pause> {
  const { note, actor, untilMs } = wanted
  const since = await run(caller, PAUSE, type, [untilMs ?? '', JSON.stringify({ actor, note })], READS)
  return { note, actor, sinceMs: Number(since), untilMs }
}

export const resume = async (caller: TaskCaller, type: string): Promise<boolean> =>
  (await run(caller, RESUME, type, wakeAllOf(caller, type))) === 1

/** @param stored The pause that lasts, as a script returns it; null if there is none. */
export function readPause(stored: Reply): { readonly paused?: Pause } {
  const [, until = '', since, rest = ''] = /^(\d*)\|(\d+)\|(.*)$/s.exec(String(stored)) ?? []
  if (since === undefined) return pausedOf(null)
  const { actor, note } = JSON.parse(rest) as Pick<Pause, 'actor' | 'note'>
  return pausedOf({ note, actor, sinceMs: Number(since), untilMs: until === '' ? null : Number(until) })
}
