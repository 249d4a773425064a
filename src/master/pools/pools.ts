/** @module master/pools/pools  Looking into a pool (read-only; names are global, hence admin alone). */
import { API_PREFIX, DEFAULT_N, FleetError, nQuery, PoolBody, toSeconds } from '../../protocol/index.ts'
import type { PoolRow } from '../../storage/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { RawJson, route } from '../http/route.ts'

export function createPools({ backend, catalog }: Pick<MasterDeps, 'backend' | 'catalog'>): Part {
  const declared = new Set([...catalog.values()].flatMap((entry) => [...entry.pools.keys()]))
  return {
    routes: [
      route({
        method: 'GET',
        path: `${API_PREFIX}/pools/{pool_name}`,
        access: 'admin',
        query: nQuery(DEFAULT_N.pool),
        response: PoolBody,
        summary: 'How many items a pool holds, and the first of them.',
        handle: async ({ params, query }) => {
          const pool = params['pool_name'] ?? ''
          if (!declared.has(pool))
            throw new FleetError('NOT_FOUND', `no installed automation declares a pool "${pool}"`)
          const { size, items } = await backend.pools.list(pool, query.n ?? DEFAULT_N.pool)
          return { body: new RawJson(`{"size":${size},"items":[${items.map(itemText).join(',')}]}`) }
        },
      }),
    ],
  }
}

/** Tags and payload are spliced in as the text they are stored as. */
function itemText({ id, tags, payload, expires, inUseUntil }: PoolRow): string {
  return `{"id":${JSON.stringify(id)},"tags":${tags},"payload":${payload},"expires_at":${seconds(expires)},"in_use_until":${seconds(inUseUntil)}}`
}

const seconds = (ms: number | null): number | null => (ms === null ? null : toSeconds(ms))
