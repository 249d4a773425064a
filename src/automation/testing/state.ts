/** @module automation/testing/state  Fills the store before a run and reads it after the run. */
import { MAX_N, toMs, type FieldError, type JsonValue } from '../../protocol/index.ts'
import type { Backend } from '../../storage/index.ts'
import type { CatalogEntry } from '../index.ts'
import type { Faults } from './errors.ts'
import type { PoolItemState } from './options.ts'
import { only, type UsedNames } from './primitives.ts'

/** Initial content of the store, from the options. Not checked yet. */
export interface Seeds {
  readonly kv?: Readonly<Record<string, unknown>>
  readonly counters?: Readonly<Record<string, number>>
  readonly locks?: Readonly<Record<string, number>>
  readonly pools?: Readonly<Record<string, readonly object[] | undefined>>
}
interface PoolSeed {
  readonly id?: string
  readonly payload?: JsonValue
  readonly tags?: JsonValue
  readonly expiresAt?: number | null
}

const OTHER_WORKER = 'another-worker'
/** Just long enough to see whether a lock is free. */
const PROBE_HOLD_MS = 1_000

/** Fills the store. @throws {RunError} naming every invalid item. */
export async function fillStore(
  backend: Backend,
  entry: CatalogEntry,
  { kv = {}, counters = {}, locks = {}, pools = {} }: Seeds,
  usedNames: UsedNames,
  faults: Faults,
): Promise<void> {
  const problems = Object.entries(pools).flatMap(([pool, items = []]) => poolFaults(entry, pool, items))
  if (problems.length > 0) throw faults.usage(...problems)
  for (const [key, value] of Object.entries(kv)) {
    usedNames.keys.add(key)
    await backend.kv.set(entry.type, [{ key, value: JSON.stringify(value), ttlMs: null }])
  }
  for (const [name, delta] of Object.entries(counters)) {
    usedNames.counters.add(name)
    await backend.counters.add(entry.type, [{ name, delta }])
  }
  for (const [name, seconds] of Object.entries(locks)) {
    usedNames.locks.add(name)
    await backend.locks.acquire(entry.type, [{ name, owner: OTHER_WORKER, holdMs: toMs(seconds) }])
  }
  for (const [pool, items = []] of Object.entries(pools)) {
    const rows = items.map(({ id, payload, tags = {}, expiresAt = null }: PoolSeed, index) => ({
      id: id ?? `${pool}-${index + 1}`,
      tags: JSON.stringify(tags),
      payload: JSON.stringify(payload),
      expiresAtMs: expiresAt === null ? null : toMs(expiresAt),
    }))
    for (const row of rows) await backend.pools.put(pool, [row])
  }
}

function poolFaults({ type, pools }: CatalogEntry, pool: string, items: readonly object[]): readonly string[] {
  const declared = pools.get(pool)
  if (declared === undefined)
    return [`pools/${pool}: ${type} does not declare it; it declares: ${[...pools.keys()].join(', ') || 'none'}`]
  return items.flatMap(({ payload, tags = {} }: PoolSeed, index) => {
    const under =
      (part: string) =>
      ({ path, message }: FieldError): string =>
        `pools/${pool}[${index}]/${part}${path}: ${message}`
    return [
      ...declared.validatePayload(payload).map(under('payload')),
      ...declared.validateTags(tags).map(under('tags')),
    ]
  })
}

export async function readStore(backend: Backend, { type, pools }: CatalogEntry, usedNames: UsedNames, nowMs: number) {
  const kv: Record<string, unknown> = {}
  for (const key of usedNames.keys) {
    const [text = null] = await backend.kv.get(type, [key])
    if (text !== null) kv[key] = JSON.parse(text)
  }
  const counters: Record<string, number> = {}
  for (const name of usedNames.counters) counters[name] = only(await backend.counters.get(type, [name]))
  const locks: Record<string, 'free' | 'held'> = {}
  for (const name of usedNames.locks)
    locks[name] =
      only(await backend.locks.acquire(type, [{ name, owner: OTHER_WORKER, holdMs: PROBE_HOLD_MS }])).kind === 'held'
        ? 'held'
        : 'free'
  const items: Record<string, readonly PoolItemState[]> = {}
  for (const pool of pools.keys()) {
    const rows = await backend.pools.list(pool, MAX_N)
    items[pool] = rows.items.map(({ id, payload, tags, inUseUntilMs: inUseUntil }) => ({
      id,
      payload: JSON.parse(payload),
      tags: JSON.parse(tags),
      inUse: inUseUntil !== null && inUseUntil > nowMs,
    }))
  }
  return { kv, counters, locks, pools: items }
}
