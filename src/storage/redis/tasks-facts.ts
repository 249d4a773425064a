/**
 * @module storage/redis/tasks-facts
 * Reads the facts that the scripts keep of tasks (scripts/include/facts.lua).
 */
import { attemptsOf, type FailedAttempt, type RunHistory } from '../index.ts'
import type { Reply } from './caller.ts'

/** @param facts As a script returns them; null if there are none. */
export function readFacts(facts: Reply): RunHistory {
  if (typeof facts !== 'string' || facts === '') return {}
  const lines = facts.split('\n').slice(0, -1)
  return attemptsOf(lines.map((line) => JSON.parse(line) as FailedAttempt))
}
