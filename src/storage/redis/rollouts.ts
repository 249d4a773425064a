/**
 * @module storage/redis/rollouts
 * The `rollouts` of the contract. Head and body of a report lie apart (workers-layout.ts), so that a list of the heads
 * reads no bodies.
 */
import { byName, type RolloutHead, type RolloutPutResult, type RolloutReport, type Rollouts } from '../index.ts'
import type { Caller } from './caller.ts'
import { keysOfType } from './keys.ts'
import { script } from './script.ts'

const PUT = script('rollouts.put')
const REMOVE = script('rollouts.remove')
const LIST = script('rollouts.list')
const HEADS = script('rollouts.heads')

export function createRollouts(caller: Caller): Rollouts {
  return {
    put: async (type, { name, head, body, reportedAtMs }) => {
      const keys = keysOfType(PUT, type)
      return (await caller.run(PUT, keys, [name, reportedAtMs, head, body], { repeatable: true })) as RolloutPutResult
    },
    remove: async (type, name) => (await caller.run(REMOVE, keysOfType(REMOVE, type), [name])) as string | null,
    list: async (type) => {
      const reply = await caller.run(LIST, keysOfType(LIST, type), [], { repeatable: true })
      const [pairs, bodies] = reply as readonly [readonly string[], readonly (string | null)[]]
      return reportsOf(pairs, bodies)
    },
    heads: (types) => Promise.all(types.map((type) => headsOf(caller, type))),
  }
}

async function headsOf(caller: Caller, type: string): Promise<readonly RolloutHead[]> {
  const pairs = await caller.run(HEADS, keysOfType(HEADS, type), [], { repeatable: true })
  return reportsOf(pairs as readonly string[], []).map(({ name, head }) => ({ name, head }))
}

/** @param pairs Names and `reported, ms:head` in turn. */
function reportsOf(pairs: readonly string[], bodies: readonly (string | null)[]): readonly RolloutReport[] {
  const reports: RolloutReport[] = []
  for (let at = 0; 2 * at < pairs.length; at += 1) {
    const [name = '', text = ''] = pairs.slice(2 * at, 2 * at + 2)
    const colon = text.indexOf(':')
    const reportedAtMs = Number(text.slice(0, colon))
    reports.push({ name, head: text.slice(colon + 1), body: bodies[at] ?? '', reportedAtMs })
  }
  return reports.toSorted(byName)
}
