/** @module master/rpc/pools  RPC methods of pools. A worker may only use the pools that its automation declares. */
import {
  FleetError,
  MAX_RESPONSE_BYTES,
  MAX_BODY_BYTES,
  MAX_FIELD_ERRORS,
  RpcError,
  toMs,
  toSeconds,
  type FieldError,
  type RpcMethod,
  type RpcParams,
} from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { Claim, PoolItem, Pools } from '../../storage/index.ts'
import type { PoolWaiters } from '../pools/index.ts'
import { RawJson } from '../http/index.ts'
import type { Methods } from './caller.ts'
import { extended, held, only } from './primitives.ts'

type DeclaredPool = CatalogEntry['pools'] extends ReadonlyMap<string, infer P> ? P : never
type WireItem = RpcParams<'pool.put'>['items'][number]

export function poolMethods(pools: Pools, waiters: PoolWaiters): Methods<Extract<RpcMethod, `pool.${string}`>> {
  return {
    'pool.put': async ({ pool, items }, { entry }, { items: exactItems }) => {
      const declared = declaredPool(entry, pool)
      const faults = items.flatMap((item, at) => itemFaults(item, at, declared))
      if (faults.length > 0) throw new FleetError('INVALID', faults.slice(0, MAX_FIELD_ERRORS))
      return {
        results: [
          ...(await pools.put(
            pool,
            items.map((item, at) => storedItem(item, exactItems[at]?.payload)),
          )),
        ],
      }
    },
    'pool.claim': async (params, { entry, workerId, budget }) => {
      const { pool, hold_ms: holdMs, n: asked, match, slot_id: slotId = null, task_id: taskId = null } = params
      declaredPool(entry, pool)
      const holder = { type: entry.type, slotId, taskId }
      const n = asked ?? 1
      const most = Math.min(n * MAX_BODY_BYTES, MAX_RESPONSE_BYTES)
      const claims = await budget.read(
        most,
        async () => only(await pools.claim(pool, [{ owner: workerId, holder, n, holdMs, match: match ?? {} }])),
        charsOf,
      )
      waiters.claimed(pool, { ...holder, workerId }, claims.length > 0)
      return new RawJson(`{"claims":[${claims.map(claimText).join(',')}]}`)
    },
    'pool.extend': async ({ pool, id, token, hold_ms: holdMs }, { entry }) => {
      declaredPool(entry, pool)
      const expiresAtMs = extended(
        only(await pools.extend(pool, [{ id, token, holdMs }])),
        `item "${id}" of pool "${pool}"`,
      )
      return { in_use_until: toSeconds(expiresAtMs) }
    },
    'pool.release': async ({ pool, id, token }, { entry }) => {
      declaredPool(entry, pool)
      held(only(await pools.release(pool, [{ id, token }])), `item "${id}" of pool "${pool}"`)
      return {}
    },
    'pool.remove': async ({ pool, id, token = null }, { entry }) => {
      declaredPool(entry, pool)
      return { removed: held(only(await pools.remove(pool, [{ id, token }])), `item "${id}" of pool "${pool}"`) }
    },
  }
}

function declaredPool(entry: CatalogEntry, pool: string): DeclaredPool {
  const declared = entry.pools.get(pool)
  if (declared === undefined)
    throw new RpcError('unknown_pool', `automation "${entry.type}" declares no pool "${pool}"`)
  return declared
}

function itemFaults({ tags, payload }: WireItem, at: number, declared: DeclaredPool): readonly FieldError[] {
  const under =
    (field: string) =>
    (fault: FieldError): FieldError => ({ ...fault, path: `/items/${at}/${field}${fault.path}` })
  return [...declared.validateTags(tags).map(under('tags')), ...declared.validatePayload(payload).map(under('payload'))]
}

function storedItem({ id, tags, expires_at: expiresAt = null }: WireItem, exactPayload: unknown): PoolItem {
  return {
    id,
    tags: JSON.stringify(tags),
    payload: JSON.stringify(exactPayload),
    expiresAtMs: expiresAt === null ? null : toMs(expiresAt),
  }
}

const charsOf = (claims: readonly Claim[]): number =>
  claims.reduce((sum, { id, tags, payload }) => sum + id.length + tags.length + payload.length, 0)

function claimText({ id, token, tags, payload, expiresAtMs }: Claim): string {
  const until = `"in_use_until":${toSeconds(expiresAtMs)}`
  return `{"id":${JSON.stringify(id)},"token":${token},"tags":${tags},"payload":${payload},${until}}`
}
