/**
 * @module automation/make-pool
 * Creates the pool API of a run: checks items against the schemas of the pool before it puts them, and renews claims.
 */
import type { FieldError, JsonObject, RpcMethod, RpcParams, RpcResult } from '../protocol/index.ts'
import type { CatalogEntry } from './catalog.ts'
import type { Pool, PoolItem, PoolSchemas } from './context.ts'
import { holdMsOf, type AutoRenewedLease, type AutoRenewedLeaseCalls } from './auto-renewed-lease.ts'

/** The parts of the run that a pool uses. */
export interface PoolDeps {
  readonly entry: CatalogEntry
  readonly slotId: number
  /** The task of the run; null for a continuous one. */
  readonly taskId: string | null
  monotonicMs(): number
  readonly call: <M extends RpcMethod>(method: M, params: RpcParams<M>) => Promise<RpcResult<M>>
  send<M extends RpcMethod>(method: M, params: RpcParams<M>): Promise<RpcResult<M>>
  hold(calls: AutoRenewedLeaseCalls, holdMs: number, sentAtMs: number): AutoRenewedLease
}

/** Items of one rpc call. */
const MAX_ITEMS_PER_CALL = 1_000

export function makePool(pool: string, run: PoolDeps): Pool<PoolSchemas> {
  const declared = run.entry.pools.get(pool)
  if (declared === undefined)
    throw new TypeError(
      `${run.entry.type} does not declare the pool "${pool}"; ` +
        `it declares: ${[...run.entry.pools.keys()].join(', ') || 'none'}`,
    )
  return {
    put: async (items) => {
      const rows = items.map((item) => checkedItem(pool, declared, item))
      for (let start = 0; start < rows.length; start += MAX_ITEMS_PER_CALL)
        await run.call('pool.put', { pool, items: rows.slice(start, start + MAX_ITEMS_PER_CALL) })
    },
    claim: (options) => claim(pool, run, options),
  }
}

async function claim(
  pool: string,
  run: PoolDeps,
  { match, ...options }: Parameters<Pool<PoolSchemas>['claim']>[0],
): ReturnType<Pool<PoolSchemas>['claim']> {
  const holdMs = holdMsOf(options)
  const sentAtMs = run.monotonicMs()
  const {
    claims: [claimed],
  } = await run.call('pool.claim', {
    pool,
    hold_ms: holdMs,
    ...(match === undefined ? {} : { match }),
    slot_id: run.slotId,
    ...(run.taskId === null ? {} : { task_id: run.taskId }),
  })
  if (claimed === undefined) return null
  const { id, token, payload, tags } = claimed
  const held = run.hold(
    {
      what: `item "${id}" of pool "${pool}"`,
      extend: (ms) => run.send('pool.extend', { pool, id, token, hold_ms: ms }),
      release: () => run.send('pool.release', { pool, id, token }),
    },
    holdMs,
    sentAtMs,
  )
  return {
    id,
    payload,
    tags,
    extend: (next) => held.extend(next),
    release: () => held.release(),
    remove: () => held.release(() => run.send('pool.remove', { pool, id, token })),
    [Symbol.asyncDispose]: () => held.dispose(),
  }
}

type Declared = NonNullable<ReturnType<CatalogEntry['pools']['get']>>

function checkedItem(
  pool: string,
  declared: Declared,
  { id, payload, tags = {}, expiresAt }: PoolItem<object, object>,
) {
  const faults = [...named('payload', declared.validatePayload(payload)), ...named('tags', declared.validateTags(tags))]
  if (faults.length > 0) throw new TypeError(`item "${id}" does not fit the pool "${pool}": ${faults.join('; ')}`)
  return {
    id,
    payload: payload as JsonObject,
    tags: tags as JsonObject,
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
  }
}

const named = (part: string, faults: readonly FieldError[]): readonly string[] =>
  faults.map(({ path, message }) => `/${part}${path} ${message}`)
