/** @module master/pools/pools  The routes of pools, for admins only: names of pools are global to all types. */
import { API_PREFIX, DEFAULT_N, FleetError, nQuery, PoolBody, toSeconds } from '../../protocol/index.ts'
import type { PoolRow } from '../../storage/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { route } from '../http/index.ts'
import { claimRoutes } from './claims.ts'
import type { PoolWaiters } from './waiters.ts'

export function createPools(
  { backend, catalog, inspections }: Pick<MasterDeps, 'backend' | 'catalog' | 'inspections'>,
  waiters: PoolWaiters,
): Part {
  const declared = declaredPools(catalog)
  const poolOf = (params: Readonly<Record<string, string>>): string => {
    const pool = params['pool_name'] ?? ''
    if (declared.has(pool)) return pool
    throw new FleetError('NOT_FOUND', `no installed automation declares a pool "${pool}"`)
  }
  return {
    routes: [
      route({
        method: 'GET',
        path: `${API_PREFIX}/pools/{pool_name}`,
        access: 'admin',
        needs: 'fleet',
        hasCredentials: true,
        query: nQuery(DEFAULT_N.pool),
        response: PoolBody,
        summary: 'The number of items in a pool, and the first of them.',
        handle: (request) =>
          inspections.respond(request, async (out) => {
            const pool = poolOf(request.params)
            const { size, items } = await out.read(() => backend.pools.list(pool, request.query.n ?? DEFAULT_N.pool))
            out.text(`{"size":${size},"items":[`)
            out.items(items.map(itemText))
            out.text(']}')
          }),
      }),
      ...claimRoutes({ pools: backend.pools, waiters, inspections, declared, poolOf }),
    ],
  }
}

/** The types that declare each pool. */
function declaredPools(catalog: MasterDeps['catalog']): ReadonlyMap<string, readonly string[]> {
  const declared = new Map<string, string[]>()
  for (const [type, { pools }] of catalog)
    for (const pool of pools.keys()) declared.set(pool, [...(declared.get(pool) ?? []), type])
  return declared
}

/** Tags and payload are inserted as the stored text. */
function itemText({ id, tags, payload, expiresAtMs: expires, inUseUntilMs: inUseUntil }: PoolRow): string {
  const times = `"expires_at":${seconds(expires)},"in_use_until":${seconds(inUseUntil)}`
  return `{"id":${JSON.stringify(id)},"tags":${tags},"payload":${payload},${times}}`
}

const seconds = (ms: number | null): number | null => (ms === null ? null : toSeconds(ms))
