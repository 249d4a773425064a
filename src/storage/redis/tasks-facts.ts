/**
 * @module storage/redis/tasks-facts
 * Reads the facts that the scripts keep of tasks (scripts/include/facts.lua).
 */
import { attemptsOf, type StoredAttempt, type TaskHistory } from '../index.ts'
import type { Reply } from './caller.ts'

/** @param facts As a script returns them; null if there are none. */
export function readFacts(facts: Reply): TaskHistory {
  if (typeof facts !== 'string' || facts === '') return {}
  const lines = facts.split('\n').slice(0, -1)
  const [, at, text] = /^(\d+) (.*)$/.exec(lines[0] ?? '') ?? []
  const attempts = (text === undefined ? lines : lines.slice(1)).map((line) => JSON.parse(line) as StoredAttempt)
  return { ...attemptsOf(attempts), ...(text !== undefined && { progress: { text, atMs: Number(at) } }) }
}
