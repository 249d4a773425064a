/**
 * @module storage/redis/tasks-outcomes
 * Reads what is known of tasks: their place, or the outcome that was retained (D110). The scripts of ack, cancel and
 * reserve write outcomes (scripts/include/outcomes.lua); an older release does not know them, and keeps none.
 */
import { MAX_RESPONSE_BYTES } from '../../protocol/index.ts'
import { script } from './script.ts'
import { READS, listOf, run, type TaskCaller } from './tasks-layout.ts'
import { deathOf } from './tasks-dead.ts'
import { readFacts } from './tasks-facts.ts'
import type { Outcome, RunResult, TaskState } from '../index.ts'
import type { Reply } from './caller.ts'

const DESCRIBE = script('tasks.describe')

const PLACES = [null, 'pending', 'in_flight', 'scheduled'] as const
const KINDS: Readonly<Record<string, Outcome['kind']>> = { d: 'done', e: 'expired', c: 'cancelled' }

export async function describe(
  caller: TaskCaller,
  type: string,
  ids: readonly string[],
  bytes = MAX_RESPONSE_BYTES,
): Promise<readonly (TaskState | null)[]> {
  const found = listOf(await run(caller, DESCRIBE, type, [bytes, ...ids], READS))
  return Array.from({ length: found.length / 2 }, (_, i) => stateOf(found[2 * i] ?? null, found[2 * i + 1] ?? null))
}

function stateOf(reply: Reply, facts: Reply): TaskState | null {
  if (typeof reply !== 'string') {
    const place = PLACES[Number(reply)] ?? null
    return place === null ? null : { kind: 'stored', place, ...readFacts(facts) }
  }
  return readOutcome(reply) ?? { kind: 'dead', ...deathOf(reply, facts) }
}

/** The length in an outcome counts bytes. @returns null for a dead record. */
function readOutcome(text: string): Outcome | null {
  const [head = '', letter = '', finished, until, attempt, length, factsLength = 0] =
    /^([a-z])\|(\d+)\|(\d+)\|(\d+)\|(\d+)(?:\|(\d+))?:/.exec(text) ?? []
  const kind = KINDS[letter]
  if (kind === undefined) return null
  const bytes = Buffer.from(text)
  const end = head.length + Number(length)
  const worker = bytes.toString('utf8', head.length, end)
  const facts = bytes.toString('utf8', end, end + Number(factsLength))
  return {
    kind,
    finishedAtMs: Number(finished),
    retainedUntilMs: Number(until),
    attempt: Number(attempt),
    worker: kind === 'done' ? worker : null,
    ...(kind === 'cancelled' && { actor: worker }),
    result: readResult(bytes.toString('utf8', end + Number(factsLength))),
    ...readFacts(facts),
  }
}

/** The result of a run as an outcome stores it. */
export function resultText(result: RunResult): string {
  return result.kind === 'json' ? `j${result.text}` : 'x'
}

function readResult(text: string): RunResult | null {
  if (text === '') return null
  return text === 'x' ? { kind: 'too_large' } : { kind: 'json', text: text.slice(1) }
}
