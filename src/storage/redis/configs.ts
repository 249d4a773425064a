/**
 * @module storage/redis/configs
 * The `configs` of the contract: compare-and-set of a worker's config, and its history. They lie beside the registry of
 * the type (workers-layout.ts), so that a change and the connection to notify come out of one step.
 */
import type { ConfigRaiseResult, ConfigRow, Configs } from '../index.ts'
import type { Caller } from './caller.ts'
import { keysOfType } from './keys.ts'
import { script } from './script.ts'
import { inBatches } from './workers-batches.ts'
import { configRow, escaped, historyKey, historyRow, historyText } from './workers-layout.ts'

/** The most that one call may raise a generation. It keeps a forged generation from using up the numbers. */
const MAX_LEAP = 1_000_000

const PUT = script('configs.put')
const GET = script('configs.get')
const HISTORY = script('configs.history')
const RAISE = script('configs.raise')

type PutReply = readonly ['put', string | null] | readonly ['conflict', string, string] | readonly ['unknown']
type RaiseReply = readonly [gen: string, conn: string | null] | 'not_found' | 'too_far'

export function createConfigs(caller: Caller): Configs {
  return {
    put: async (put) => {
      const { type, id, expectGen, expectConfig = '', config, actor } = put
      const args = [
        id,
        String(expectGen),
        String(expectGen + 1),
        escaped(actor),
        config,
        historyText(put),
        expectConfig,
      ]
      const [was, ...rest] = (await caller.run(PUT, [...keysOfType(PUT, type), historyKey(type, id)], args)) as PutReply
      if (was === 'unknown') return { kind: 'not_found' }
      if (was === 'put') return { kind: 'stored', gen: expectGen + 1, conn: rest[0] ?? null }
      const [gen = '', cfg = ''] = rest
      return { kind: 'conflict', current: configRow(gen ?? '', cfg) }
    },
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
          const [gens, cfgs] = reply as readonly [readonly (string | null)[], readonly (string | null)[]]
          return gens.map((gen, i): ConfigRow | null => (gen === null ? null : configRow(gen, cfgs[i] ?? '')))
        },
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

function raiseResult(reply: RaiseReply): ConfigRaiseResult {
  if (typeof reply === 'string') return { kind: reply }
  const [gen, conn] = reply
  return { kind: 'raised', gen: Number(gen), conn }
}
