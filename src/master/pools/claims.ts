/**
 * @module master/pools/claims
 * The routes that show who holds the items of pools, and end a claim. A claim is ended by its token: a claim that began
 * after the list was read is not touched, and the earlier holder gets `lease_lost` from then on (D186).
 */
import {
  API_PREFIX,
  PoolClaimsBody,
  PoolClaimsQuery,
  PoolsBody,
  ReleaseClaimBody,
  ReleasedClaimBody,
  toSeconds,
  type PoolClaimRow,
  type PoolWaiter,
} from '../../protocol/index.ts'
import type { ClaimRow, Pools } from '../../storage/index.ts'
import { route, type Route } from '../http/index.ts'
import type { Inspections } from '../inspections/index.ts'
import type { Claimant, PoolWaiters, Waiter } from './waiters.ts'

const CLAIMS_SHOWN = 100

export interface ClaimRoutesDeps {
  readonly pools: Pools
  readonly waiters: PoolWaiters
  readonly inspections: Inspections
  /** The types that declare each pool. */
  readonly declared: ReadonlyMap<string, readonly string[]>
  /** @returns the name of a declared pool. @throws {FleetError} NOT_FOUND */
  readonly poolOf: (params: Readonly<Record<string, string>>) => string
}

export function claimRoutes(deps: ClaimRoutesDeps): readonly Route[] {
  return [listRoute(deps), claimsRoute(deps), releaseRoute(deps)]
}

function listRoute(deps: ClaimRoutesDeps): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/pools`,
    access: 'admin',
    needs: 'fleet',
    response: PoolsBody,
    summary: 'The declared pools, each with its items, its claims, and the runs that wait for an item.',
    handle: async () => {
      const names = [...deps.declared.keys()].toSorted()
      const pools = names.map(async (name) => ({
        name,
        automation_types: deps.declared.get(name) ?? [],
        ...(await countsOf(deps, name)).counts,
      }))
      return { body: { pools: await Promise.all(pools) } }
    },
  })
}

function claimsRoute(deps: ClaimRoutesDeps): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/pools/{pool_name}/claims`,
    access: 'admin',
    needs: 'fleet',
    query: PoolClaimsQuery,
    response: PoolClaimsBody,
    summary: 'Who holds the items of a pool, the first claim to end first, and who waits for one.',
    handle: (request) =>
      deps.inspections.respond(request, async (out) => {
        const pool = deps.poolOf(request.params)
        const { n = CLAIMS_SHOWN, item = null } = request.query
        const { counts, claims } = await out.read(() => countsOf(deps, pool, n, item))
        const waiters = deps.waiters.of(pool).longest.map(waiterOf)
        out.text(`${JSON.stringify({ ...counts, waiters }).slice(0, -1)},"claims":[`)
        out.items(claims.map((claim) => JSON.stringify(claimOf(claim))))
        out.text(']}')
      }),
  })
}

function releaseRoute(deps: ClaimRoutesDeps): Route {
  return route({
    method: 'POST',
    path: `${API_PREFIX}/pools/{pool_name}/claims/release`,
    access: 'admin',
    needs: 'fleet',
    audit: 'pool.release',
    body: ReleaseClaimBody,
    example: { id: 'account-7', token: 1767225600000001 },
    response: ReleasedClaimBody,
    summary: 'Ends a claim of another holder, whose later calls for it are refused with `lease_lost`.',
    handle: async ({ params, body: { id, token } }) => {
      const pool = deps.poolOf(params)
      const { claims } = await deps.pools.claims(pool, 1, id)
      const [result] = await deps.pools.release(pool, [{ id, token }])
      const released = result === 'ok'
      const holder = claims.find((claim) => claim.token === token)
      return {
        audit: { object: `${pool}/${id}`, count: released ? 1 : 0 },
        body: { id, released, worker_id: holder?.owner ?? null },
      }
    },
  })
}

async function countsOf({ pools, waiters }: ClaimRoutesDeps, pool: string, n = 1, item: string | null = null) {
  const [[size = 0], { inUse, claims }] = await Promise.all([pools.sizes([pool]), pools.claims(pool, n, item)])
  return { counts: { size, in_use: inUse, waiting: waiters.of(pool).count }, claims }
}

function claimOf({ id, token, expiresAtMs, owner, holder }: ClaimRow): PoolClaimRow {
  return {
    id,
    token,
    in_use_until: toSeconds(expiresAtMs),
    ...(holder === null
      ? { worker_id: owner }
      : {
          ...runnerOf({ ...holder, workerId: owner }),
          claimed_at: toSeconds(holder.claimedAtMs),
          renewals: holder.renewals,
        }),
  }
}

const waiterOf = (waiter: Waiter): PoolWaiter => ({ ...runnerOf(waiter), since: toSeconds(waiter.sinceMs) })

function runnerOf({ type, workerId, slotId, taskId }: Claimant) {
  return {
    automation_type: type,
    worker_id: workerId,
    ...(slotId !== null && { slot_id: slotId }),
    ...(taskId !== null && { task_id: taskId }),
  }
}
