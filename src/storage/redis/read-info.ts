/**
 * @module storage/redis/read-info
 * Reads what a store says about itself, without the checks of a master: it writes no key, and also reads a store of a
 * newer release.
 */
import { needsIn, type StoreInfo } from '../index.ts'
import type { Reply } from './caller.ts'
import { explain } from './connection-errors.ts'
import { redisOptionsOf, type ConnectionOptions } from './connection-options.ts'
import { unavailable } from './errors.ts'
import { metaKey, scopedKey } from './keys.ts'
import type { StoreNode } from './node.ts'
import { slotOf } from './slots.ts'
import { Topology } from './topology.ts'

const WITHIN_MS = 10_000

/** @throws {FleetError} STORAGE_UNAVAILABLE if no server responds within 10 s, or it refuses this user. */
export async function readRedisInfo(options: ConnectionOptions): Promise<StoreInfo> {
  const { random, time, url } = options
  let onChange = (): void => undefined
  const base = (): ReturnType<typeof redisOptionsOf> => redisOptionsOf(options)
  const topology = new Topology({ url, base, random, time, onChange: () => onChange() })
  try {
    const node = await new Promise<StoreNode>((resolve, reject) => {
      const fail = (): void => reject(unavailable(`the store is unavailable: ${troubleOf(topology)}`, 'not_sent'))
      const cancel = time.after(WITHIN_MS, fail)
      onChange = () => {
        const found = topology.nodeOf(slotOf(metaKey('info')))
        const isDenied = topology.isDenied || topology.nodes.some((each) => each.isDenied)
        if (found?.status !== 'prepared' && !isDenied) return
        cancel()
        if (found?.status === 'prepared') resolve(found)
        else fail()
      }
      void topology.refresh()
    })
    return await readFrom(node, url.prefix)
  } finally {
    topology.close()
  }
}

const troubleOf = ({ nodes, trouble }: Topology): string =>
  nodes.find((each) => each.trouble !== null)?.trouble ?? trouble ?? 'no connection'

async function readFrom(node: StoreNode, prefix: string): Promise<StoreInfo> {
  const keyOf = (part: string): string => scopedKey(metaKey(part), prefix)
  try {
    const [info, live, releases, time] = await Promise.all([
      node.command('HGETALL', keyOf('info')),
      node.command('ZRANGE', keyOf('live'), 0, -1, 'WITHSCORES'),
      node.command('HGETALL', keyOf('masters')),
      node.command('TIME'),
    ])
    const fields = pairsOf(info)
    const releaseOf = pairsOf(releases)
    const nowMs = 1_000 * Number((time as readonly string[])[0])
    const schema = fields.get('schema')
    return {
      schema: schema === undefined ? null : Number(schema),
      epoch: fields.get('epoch') ?? null,
      needs: needsIn(fields.get('needs')),
      masters: [...pairsOf(live)].map(([id, beatMs]) => ({
        id,
        beatAgeSeconds: Math.max(0, Math.round((nowMs - Number(beatMs)) / 1_000)),
        release: releaseOf.get(id) ?? null,
      })),
    }
  } catch (error) {
    throw unavailable(`the store cannot be read: ${explain(error).sentence}`, 'not_sent', { cause: error })
  }
}

/** `['a', '1', 'b', '2']` → `a: 1`, `b: 2`. */
function pairsOf(reply: Reply): ReadonlyMap<string, string> {
  const texts = (Array.isArray(reply) ? (reply as readonly Reply[]) : []).map(String)
  return new Map(texts.flatMap((name, at) => (at % 2 === 0 ? [[name, texts[at + 1] ?? ''] as const] : [])))
}
