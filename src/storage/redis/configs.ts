/**
 * @module storage/redis/configs
 * The `configs` of the contract: compare-and-set of a worker's config, and its history. They lie beside the registry of
 * the type (workers-layout.ts), so that a change and the connection to notify come out of one step.
 */
import type {
  BulkChange,
  BulkPut,
  BulkPutResult,
  ConfigPut,
  ConfigPutResult,
  ConfigRaiseResult,
  Configs,
  ManagedConfigRow,
} from '../index.ts'
import type { Caller } from './caller.ts'
import { keysOfType } from './keys.ts'
import { script } from './script.ts'
import { inBatches } from './workers-batches.ts'
import {
  bulkHistoryText,
  configRow,
  escaped,
  historyKey,
  historyRow,
  historyText,
  labelText,
} from './workers-layout.ts'

/** The most that one call may raise a generation. It keeps a forged generation from using up the numbers. */
const MAX_LEAP = 1_000_000

const PUT = script('configs.put')
const PUT_MANY = script('configs.put-many')
const GET = script('configs.get')
const HISTORY = script('configs.history')
const RAISE = script('configs.raise')

type PutReply = readonly ['put', string | null] | readonly ['conflict', string, string] | readonly ['unknown']
type Column = readonly (string | null)[]
type BulkReply = readonly [gen: string, conn: string | null] | 'conflict' | 'not_found'
type RaiseReply = readonly [gen: string, conn: string | null] | 'not_found' | 'too_far'

export function createConfigs(caller: Caller): Configs {
  return {
    put: (put) => putOne(caller, put),
    get: (refs) =>
      inBatches(
        refs,
        ({ id }) => id.length,
        async (type, part) => {
          const reply = await caller.run(
            GET,
            keysOfType(GET, type),
            part.map(({ id }) => id),
            { repeatable: true },
          )
          const [gens, cfgs, labels, managers] = reply as readonly [Column, Column, Column, Column]
          return gens.map((gen, i): ManagedConfigRow | null => {
            if (gen === null) return null
            const configRevision = labelText(labels[i] ?? null, gen)
            return { ...configRow(gen, cfgs[i] ?? ''), configRevision, managedBy: managers[i] ?? null }
          })
        },
      ),
    putMany: (type, bulk, puts) =>
      inBatches(
        puts.map((put) => ({ ...put, type })),
        bulkChars(),
        (_type, part) => putPart(caller, type, bulk, part),
      ),
    history: async ({ type, id }, limit, skip = 0) => {
      const rows = await caller.run(HISTORY, [historyKey(type, id)], [limit, skip], { repeatable: true })
      return (rows as readonly string[]).map(historyRow)
    },
    raise: async (items) => {
      const raised = await inBatches(
        items,
        ({ id }) => id.length,
        async (type, part) => {
          const args = part.flatMap(({ id, above }) => [id, above])
          return (await caller.run(RAISE, keysOfType(RAISE, type), [MAX_LEAP, ...args], {
            repeatable: true,
          })) as readonly RaiseReply[]
        },
      )
      return raised.map(raiseResult)
    },
  }
}

async function putOne(caller: Caller, put: ConfigPut): Promise<ConfigPutResult> {
  const { type, id, expectGen, expectConfig = '', config, actor } = put
  const args = [id, String(expectGen), String(expectGen + 1), escaped(actor), config, historyText(put), expectConfig]
  const [was, ...rest] = (await caller.run(PUT, [...keysOfType(PUT, type), historyKey(type, id)], args)) as PutReply
  if (was === 'unknown') return { kind: 'not_found' }
  if (was === 'put') return { kind: 'stored', gen: expectGen + 1, conn: rest[0] ?? null }
  const [gen = '', cfg = ''] = rest
  return { kind: 'conflict', current: configRow(gen ?? '', cfg) }
}

/** Counts what a put writes, and the texts that no earlier put of the call has. */
function bulkChars(): (put: BulkPut) => number {
  const seen = new Set<string>()
  const newChars = (text: string): number => {
    const isNew = !seen.has(text)
    seen.add(text)
    return isNew ? text.length : 0
  }
  return ({ expectConfig, change }) =>
    newChars(expectConfig) + (change === null ? 0 : newChars(change.config) + change.config.length)
}

/** Runs one script. */
async function putPart(
  caller: Caller,
  type: string,
  bulk: BulkChange,
  part: readonly BulkPut[],
): Promise<readonly BulkPutResult[]> {
  const { revision, actor, managedBy } = bulk
  const numbers = new Map<string, number>()
  const numberOf = (text: string): number => {
    const known = numbers.get(text)
    if (known !== undefined) return known
    numbers.set(text, numbers.size + 1)
    return numbers.size
  }
  const items = part.flatMap(({ id, expectGen, expectConfig, expectManagedBy, variant, change }) => [
    id,
    expectGen,
    numberOf(expectConfig),
    expectManagedBy ?? '',
    variant,
    change === null ? 0 : numberOf(change.config),
    change === null ? 0 : numberOf(bulkHistoryText(revision, change)),
  ])
  const keys = [...keysOfType(PUT_MANY, type), ...part.map(({ id }) => historyKey(type, id))]
  const args = [revision, escaped(actor), managedBy ?? '', numbers.size, ...numbers.keys(), ...items]
  const reply = (await caller.run(PUT_MANY, keys, args)) as readonly BulkReply[] | 'unknown_revision'
  return reply === 'unknown_revision' ? part.map(() => ({ kind: reply })) : reply.map(bulkResult)
}

function bulkResult(reply: BulkReply): BulkPutResult {
  if (typeof reply === 'string') return { kind: reply }
  const [gen, conn] = reply
  return { kind: 'stored', gen: Number(gen), conn }
}

function raiseResult(reply: RaiseReply): ConfigRaiseResult {
  if (typeof reply === 'string') return { kind: reply }
  const [gen, conn] = reply
  return { kind: 'raised', gen: Number(gen), conn }
}
