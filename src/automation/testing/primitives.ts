/**
 * @module automation/testing/primitives
 * Executes the calls of plugins on the memory backend, as the master does: params are checked with the same validators,
 * and all values pass through JSON. Only the bus is implemented here, because the memory backend has none.
 * @see D23, D60
 */
import {
  MAX_BUS_MESSAGE_BYTES,
  MAX_KV_VALUE_BYTES,
  RPC_VALIDATORS,
  RpcError,
  toMs,
  toSeconds,
  type FieldError,
  type JsonObject,
  type RpcMethod,
  type RpcParams,
  type RpcResult,
} from '../../protocol/index.ts'
import type { Backend, ExtendHoldResult } from '../../storage/index.ts'
import type { CatalogEntry, Primitives } from '../index.ts'
import type { Link } from './link.ts'
import type { LocalTopics } from './topics.ts'

type PluginMethod = Exclude<RpcMethod, `tasks.${string}`>
type Methods = { readonly [M in PluginMethod]: (params: RpcParams<M>) => Promise<RpcResult<M>> }

interface PrimitivesDeps {
  readonly entry: CatalogEntry
  readonly backend: Backend
  readonly workerId: string
  readonly link: Link
  readonly topics: LocalTopics
}

/** The used names, whose values are part of the result. */
export class UsedNames {
  readonly keys = new Set<string>()
  readonly counters = new Set<string>()
  readonly locks = new Set<string>()
}

export class LocalPrimitives implements Primitives {
  readonly usedNames = new UsedNames()
  readonly #link: Link
  readonly #topics: LocalTopics
  readonly #methods: Methods

  constructor(deps: PrimitivesDeps) {
    this.#link = deps.link
    this.#topics = deps.topics
    const { kv, counters, bus } = namedMethods(deps, this.usedNames)
    this.#methods = { ...kv, ...counters, ...bus, ...lockMethods(deps, this.usedNames), ...poolMethods(deps) }
  }

  async call<M extends RpcMethod>(method: M, params: RpcParams<M>): Promise<RpcResult<M>> {
    this.#link.assertUp()
    const asked = JSON.parse(JSON.stringify(params)) as RpcParams<M>
    const faults = RPC_VALIDATORS.get(method)?.(asked) ?? []
    if (faults.length > 0) throw invalidParams(faults)
    const response = (this.#methods as Partial<Record<RpcMethod, (params: RpcParams<M>) => Promise<unknown>>>)[method]
    if (response === undefined) throw new RpcError('method_not_found', `${method} is no call of a plugin`)
    return (await response(asked)) as RpcResult<M>
  }

  subscribe(topic: string, signal: AbortSignal): AsyncIterable<unknown> {
    return this.#topics.subscribe(topic, signal)
  }
}

function namedMethods({ entry: { type }, backend, topics }: PrimitivesDeps, usedNames: UsedNames) {
  const kv: Pick<Methods, 'kv.get' | 'kv.set' | 'kv.delete'> = {
    'kv.get': async ({ key, namespace }) => {
      const [text = null] = await backend.kv.get(namespace ?? type, [key])
      return { value: text === null ? null : (JSON.parse(text) as unknown) }
    },
    'kv.set': async ({ key, value, ttl_ms: ttlMs = null, namespace }) => {
      if (namespace === undefined) usedNames.keys.add(key)
      await backend.kv.set(namespace ?? type, [{ key, value: textWithin('/value', value, MAX_KV_VALUE_BYTES), ttlMs }])
      return {}
    },
    'kv.delete': async ({ key, namespace }) => ({ deleted: only(await backend.kv.delete(namespace ?? type, [key])) }),
  }
  const counters: Pick<Methods, 'counter.add' | 'counter.get'> = {
    'counter.add': async ({ name, delta, namespace }) => {
      if (namespace === undefined) usedNames.counters.add(name)
      const value = only(await backend.counters.add(namespace ?? type, [{ name, delta }]))
      if (value === 'out_of_range')
        throw new RpcError('out_of_range', `counter "${name}" would exceed ±(2^53−1); its value is unchanged`)
      return { value }
    },
    'counter.get': async ({ name, namespace }) => ({
      value: only(await backend.counters.get(namespace ?? type, [name])),
    }),
  }
  const bus: Pick<Methods, 'bus.publish'> = {
    'bus.publish': async ({ topic, message }) => {
      if (topic.endsWith('.emit'))
        throw new RpcError(
          'invalid_params',
          'params/topic: ends in ".emit", which is reserved for outputs; choose another name',
        )
      topics.publish(topic, JSON.parse(textWithin('/message', message, MAX_BUS_MESSAGE_BYTES)))
      return {}
    },
  }
  return { kv, counters, bus }
}

function lockMethods(
  { entry: { type }, backend: { locks }, workerId }: PrimitivesDeps,
  usedNames: UsedNames,
): Pick<Methods, `lock.${'acquire' | 'extend' | 'release'}`> {
  return {
    'lock.acquire': async ({ name, hold_ms: holdMs, namespace }) => {
      if (namespace === undefined) usedNames.locks.add(name)
      const lock = only(await locks.acquire(namespace ?? type, [{ name, owner: workerId, holdMs }]))
      if (lock.kind === 'held') return { acquired: false, held_until: toSeconds(lock.untilMs) }
      return { acquired: true, token: lock.token, expires_at: toSeconds(lock.expiresAtMs) }
    },
    'lock.extend': async ({ name, token, hold_ms: holdMs, namespace }) => {
      const expiresAtMs = extended(
        only(await locks.extend(namespace ?? type, [{ name, token, holdMs }])),
        `lock "${name}"`,
      )
      return { expires_at: toSeconds(expiresAtMs) }
    },
    'lock.release': async ({ name, token, namespace }) => {
      held(only(await locks.release(namespace ?? type, [{ name, token }])), `lock "${name}"`)
      return {}
    },
  }
}

/** The context has already checked that the pool is declared, and the items against its schemas. */
function poolMethods({
  backend: { pools },
  workerId,
}: PrimitivesDeps): Pick<Methods, Extract<PluginMethod, `pool.${string}`>> {
  return {
    'pool.put': async ({ pool, items }) => {
      const rows = items.map(({ id, tags, payload, expires_at: expires = null }) => ({
        id,
        tags: JSON.stringify(tags),
        payload: JSON.stringify(payload),
        expiresAtMs: expires === null ? null : toMs(expires),
      }))
      return { results: [...(await pools.put(pool, rows))] }
    },
    'pool.claim': async ({ pool, hold_ms: holdMs, n, match }) => {
      const claims = only(await pools.claim(pool, [{ owner: workerId, n: n ?? 1, holdMs, match: match ?? {} }]))
      return {
        claims: claims.map(({ id, token, tags, payload, expiresAtMs }) => ({
          id,
          token,
          tags: JSON.parse(tags) as JsonObject,
          payload: JSON.parse(payload) as JsonObject,
          in_use_until: toSeconds(expiresAtMs),
        })),
      }
    },
    'pool.extend': async ({ pool, id, token, hold_ms: holdMs }) => {
      const expiresAtMs = extended(only(await pools.extend(pool, [{ id, token, holdMs }])), itemOf(pool, id))
      return { in_use_until: toSeconds(expiresAtMs) }
    },
    'pool.release': async ({ pool, id, token }) => {
      held(only(await pools.release(pool, [{ id, token }])), itemOf(pool, id))
      return {}
    },
    'pool.remove': async ({ pool, id, token = null }) => ({
      removed: held(only(await pools.remove(pool, [{ id, token }])), itemOf(pool, id)),
    }),
  }
}

const itemOf = (pool: string, id: string): string => `item "${id}" of pool "${pool}"`

function textWithin(path: string, value: unknown, maxBytes: number): string {
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > maxBytes)
    throw new RpcError('invalid_params', `params${path}: is larger than ${maxBytes} bytes of JSON`)
  return text
}

function invalidParams([first, ...more]: readonly FieldError[]): RpcError {
  return new RpcError(
    'invalid_params',
    `params${first?.path ?? ''}: ${first?.message ?? 'are wrong'}${more.length > 0 ? `, and ${more.length} more` : ''}`,
  )
}

/** @returns the result of a call with one item. */
export function only<T>([result]: readonly T[]): T {
  if (result === undefined) throw new TypeError('the store returned no result for a call with one item')
  return result
}

function extended(result: ExtendHoldResult, what: string): number {
  return held(result.kind === 'lease_lost' ? result.kind : result.expiresAtMs, what)
}

function held<T>(response: T | 'lease_lost', what: string): T {
  if (response === 'lease_lost') throw new RpcError('lease_lost', `${what} is no longer held with this token`)
  return response
}
