/** @module master/pools/pools  Lists the items of a pool, for admins only: names of pools are global to all types. */
import { API_PREFIX, DEFAULT_N, FleetError, nQuery, PoolBody, toSeconds } from '../../protocol/index.ts'
import type { PoolRow } from '../../storage/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { route } from '../http/index.ts'

export function createPools({
  backend,
  catalog,
  inspections,
}: Pick<MasterDeps, 'backend' | 'catalog' | 'inspections'>): Part {
  const declared = new Set([...catalog.values()].flatMap((entry) => [...entry.pools.keys()]))
  return {
    routes: [
      route({
        method: 'GET',
        path: `${API_PREFIX}/pools/{pool_name}`,
        access: 'admin',
        needs: 'fleet',
        query: nQuery(DEFAULT_N.pool),
        response: PoolBody,
        summary: 'The number of items in a pool, and the first of them.',
        handle: (request) =>
          inspections.respond(request, async (out) => {
            const pool = request.params['pool_name'] ?? ''
            if (!declared.has(pool))
              throw new FleetError('NOT_FOUND', `no installed automation declares a pool "${pool}"`)
            const { size, items } = await out.read(() => backend.pools.list(pool, request.query.n ?? DEFAULT_N.pool))
            out.text(`{"size":${size},"items":[`)
            out.items(items.map(itemText))
            out.text(']}')
          }),
      }),
    ],
  }
}

/** Tags and payload are inserted as the stored text. */
function itemText({ id, tags, payload, expiresAtMs: expires, inUseUntilMs: inUseUntil }: PoolRow): string {
  const times = `"expires_at":${seconds(expires)},"in_use_until":${seconds(inUseUntil)}`
  return `{"id":${JSON.stringify(id)},"tags":${tags},"payload":${payload},${times}}`
}

const seconds = (ms: number | null): number | null => (ms === null ? null : toSeconds(ms))
