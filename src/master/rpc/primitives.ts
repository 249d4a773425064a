/** @module master/rpc/primitives  RPC methods of the key-value store, locks, counters and bus messages (D60). */
import {
  invalid,
  MAX_BUS_MESSAGE_BYTES,
  MAX_KV_VALUE_BYTES,
  RpcError,
  toSeconds,
  TYPE_PATTERN,
  type JsonText,
  type RpcMethod,
} from '../../protocol/index.ts'
import type { Catalog } from '../../automation/index.ts'
import type { Backend, ExtendHoldResult } from '../../storage/index.ts'
import { RawJson } from '../http/index.ts'
import { bareTopic } from './bus.ts'
import type { Methods } from './caller.ts'

type MethodOf<Group extends string> = Extract<RpcMethod, `${Group}.${string}`>
type PrimitiveMethod = MethodOf<'kv' | 'lock' | 'counter' | 'bus'>

/** Topics on which only the master publishes: the outputs of workers. */
const EMIT_TOPIC = new RegExp(`${TYPE_PATTERN.slice(0, -1)}\\.emit$`)

export function primitiveMethods(backend: Backend, catalog: Catalog): Methods<PrimitiveMethod> {
  const writable: WritableNamespace = (namespace, type) => writableNamespace(catalog, namespace, type)
  return {
    ...kvMethods(backend.kv, writable),
    ...lockMethods(backend.locks, writable),
    ...counterMethods(backend.counters, writable),
    ...busMethods(backend.bus),
  }
}

/** @returns the namespace of a write: the one that was sent, or that of the worker's type. */
type WritableNamespace = (namespace: string | null | undefined, type: string) => string

/** @throws {FleetError} INVALID for the namespace of another type. Not used for reads and calls with a token (D85). */
function writableNamespace(catalog: Catalog, namespace: string | null | undefined, type: string): string {
  if (namespace === null || namespace === undefined || namespace === type) return type
  if (!catalog.has(namespace)) return namespace
  throw invalid(
    '/namespace',
    `belongs to the automation type "${namespace}", and only its workers may write to it; ` +
      'leave the namespace out, or use one that is not named after a type',
    'reserved',
  )
}

function kvMethods(kv: Backend['kv'], writable: WritableNamespace): Methods<MethodOf<'kv'>> {
  return {
    'kv.get': async ({ key, namespace }, { entry, budget }) => {
      const [value = null] = await budget.read(
        MAX_KV_VALUE_BYTES,
        () => kv.get(namespace ?? entry.type, [key]),
        ([found]) => found?.length ?? 0,
      )
      return new RawJson(`{"value":${value ?? 'null'}}`)
    },
    'kv.set': async ({ key, ttl_ms: ttlMs = null, namespace }, { entry }, { value }) => {
      const to = writable(namespace, entry.type)
      await kv.set(to, [{ key, value: textWithin('/value', value, MAX_KV_VALUE_BYTES), ttlMs }], to === entry.type)
      return {}
    },
    'kv.delete': async ({ key, namespace }, { entry }) => {
      const [deleted = false] = await kv.delete(writable(namespace, entry.type), [key])
      return { deleted }
    },
  }
}

function lockMethods(locks: Backend['locks'], writable: WritableNamespace): Methods<MethodOf<'lock'>> {
  return {
    'lock.acquire': async ({ name, hold_ms: holdMs, namespace }, { entry, workerId }) => {
      const to = writable(namespace, entry.type)
      const lock = only(await locks.acquire(to, [{ name, owner: workerId, holdMs }], to === entry.type))
      if (lock.kind === 'held') return { acquired: false, held_until: toSeconds(lock.untilMs) }
      return { acquired: true, token: lock.token, expires_at: toSeconds(lock.expiresAtMs) }
    },
    'lock.extend': async ({ name, token, hold_ms: holdMs, namespace }, { entry }) => {
      const expiresAtMs = extended(
        only(await locks.extend(namespace ?? entry.type, [{ name, token, holdMs }])),
        `lock "${name}"`,
      )
      return { expires_at: toSeconds(expiresAtMs) }
    },
    'lock.release': async ({ name, token, namespace }, { entry }) => {
      held(only(await locks.release(namespace ?? entry.type, [{ name, token }])), `lock "${name}"`)
      return {}
    },
  }
}

function counterMethods(counters: Backend['counters'], writable: WritableNamespace): Methods<MethodOf<'counter'>> {
  return {
    'counter.add': async ({ name, delta, namespace }, { entry }) => {
      const to = writable(namespace, entry.type)
      const value = only(await counters.add(to, [{ name, delta }], to === entry.type))
      if (value === 'out_of_range')
        throw new RpcError('out_of_range', `counter "${name}" would exceed ±(2^53−1); its value is unchanged`)
      return { value }
    },
    'counter.get': async ({ name, namespace }, { entry }) => ({
      value: only(await counters.get(namespace ?? entry.type, [name])),
    }),
  }
}

function busMethods(bus: Backend['bus']): Methods<MethodOf<'bus'>> {
  return {
    'bus.publish': async ({ topic: requested }, _caller, { message }) => {
      const topic = bareTopic(requested)
      if (EMIT_TOPIC.test(topic))
        throw invalid('/topic', 'ends in ".emit", which is reserved for outputs; choose another name', 'reserved')
      await bus.publish([{ topic, data: textWithin('/message', message, MAX_BUS_MESSAGE_BYTES) }])
      return {}
    },
  }
}

/** @throws {FleetError} INVALID if the text would be larger. */
function textWithin(path: string, value: unknown, maxBytes: number): JsonText {
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > maxBytes)
    throw invalid(path, `is larger than ${maxBytes} bytes of JSON`, 'maxBytes', { limit: maxBytes })
  return text
}

/** The result of a call with one item. */
export function only<T>([result]: readonly T[]): T {
  if (result === undefined) throw new TypeError('the store returned no result for a call with one item')
  return result
}

/** @returns the end of the hold that now applies. @throws {RpcError} `lease_lost` */
export function extended(result: ExtendHoldResult, what: string): number {
  return held(result.kind === 'lease_lost' ? result.kind : result.expiresAtMs, what)
}

/** @throws {RpcError} `lease_lost` */
export function held<T>(result: T | 'lease_lost', what: string): T {
  if (result === 'lease_lost') throw new RpcError('lease_lost', `${what} is no longer held with this token`)
  return result
}
