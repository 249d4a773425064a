/**
 * @module storage/redis/operations
 * The `operations` of the contract. Heads and parts lie apart (workers-layout.ts), so that a list of the heads reads no
 * parts.
 */
import {
  byId,
  type OperationCreateResult,
  type OperationHead,
  type Operations,
  type OperationUpdateResult,
} from '../index.ts'
import type { Caller } from './caller.ts'
import { keysOfType } from './keys.ts'
import { script } from './script.ts'

const CREATE = script('operations.create')
const UPDATE = script('operations.update')
const REMOVE = script('operations.remove')
const HEADS = script('operations.heads')
const PART = script('operations.part')

export function createOperations(caller: Caller): Operations {
  return {
    create: async (type, id, head, parts) =>
      (await caller.run(CREATE, keysOfType(CREATE, type), [id, head, ...parts])) as OperationCreateResult,
    update: async (type, id, version, head, parts) => {
      const args = parts.flatMap(({ n, text }) => [n, text])
      return (await caller.run(UPDATE, keysOfType(UPDATE, type), [id, version, head, ...args])) as OperationUpdateResult
    },
    remove: async (type, id) => (await caller.run(REMOVE, keysOfType(REMOVE, type), [id])) === 1,
    heads: (types) => Promise.all(types.map((type) => headsOf(caller, type))),
    part: async (type, id, n) =>
      (await caller.run(PART, keysOfType(PART, type), [id, n], { repeatable: true })) as string | null,
  }
}

async function headsOf(caller: Caller, type: string): Promise<readonly OperationHead[]> {
  const reply = await caller.run(HEADS, keysOfType(HEADS, type), [], { repeatable: true })
  const pairs = reply as readonly string[]
  const heads: OperationHead[] = []
  for (let at = 0; at < pairs.length; at += 2) {
    const [id = '', text = ''] = pairs.slice(at, at + 2)
    const [version = '', parts = ''] = text.split(':', 2)
    heads.push({ id, version: Number(version), head: text.slice(version.length + parts.length + 2) })
  }
  return heads.toSorted(byId)
}
