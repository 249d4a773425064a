/** @module master/rpc/primitives  Key-value store, locks, counters and messages of plugins (D60). */
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
import type { Backend } from '../../storage/index.ts'
import { RawJson } from '../http/route.ts'
import { bareTopic } from './bus.ts'
import type { Methods } from './caller.ts'

type PrimitiveMethod = Extract<RpcMethod, `${'kv' | 'lock' | 'counter' | 'bus'}.${string}`>

/** Topics on which the master alone speaks: what workers emitted. */
const EMIT_TOPIC = new RegExp(`${TYPE_PATTERN.slice(0, -1)}\\.emit$`)

export function primitiveMethods({ kv, locks, counters, bus }: Backend): Methods<PrimitiveMethod> {
  return {
    'kv.get': async ({ key, namespace }, { entry, room }) => {
      const [value = null] = await room.read(
        MAX_KV_VALUE_BYTES,
        () => kv.get(namespace ?? entry.type, [key]),
        ([found]) => found?.length ?? 0,
      )
      return new RawJson(`{"value":${value ?? 'null'}}`)
    },
    'kv.set': async ({ key, value, ttl_ms: ttlMs = null, namespace }, { entry }) => {
      await kv.set(namespace ?? entry.type, [{ key, value: textWithin('/value', value, MAX_KV_VALUE_BYTES), ttlMs }])
      return {}
    },
    'kv.delete': async ({ key, namespace }, { entry }) => {
      const [deleted = false] = await kv.delete(namespace ?? entry.type, [key])
      return { deleted }
    },
    'lock.acquire': async ({ name, hold_ms: holdMs, namespace }, { entry, workerId }) => {
      const lock = only(await locks.acquire(namespace ?? entry.type, [{ name, owner: workerId, holdMs }]))
      if ('heldUntil' in lock) return { acquired: false, held_until: toSeconds(lock.heldUntil) }
      return { acquired: true, token: lock.token, expires_at: toSeconds(lock.until) }
    },
    'lock.extend': async ({ name, token, hold_ms: holdMs, namespace }, { entry }) => {
      const { until } = held(
        only(await locks.extend(namespace ?? entry.type, [{ name, token, holdMs }])),
        `lock "${name}"`,
      )
      return { expires_at: toSeconds(until) }
    },
    'lock.release': async ({ name, token, namespace }, { entry }) => {
      held(only(await locks.release(namespace ?? entry.type, [{ name, token }])), `lock "${name}"`)
      return {}
    },
    'counter.add': async ({ name, delta, namespace }, { entry }) => {
      const value = only(await counters.add(namespace ?? entry.type, [{ name, delta }]))
      if (value === 'out_of_range')
        throw new RpcError('out_of_range', `counter "${name}" would leave ±(2^53−1); it is unchanged`)
      return { value }
    },
    'counter.get': async ({ name, namespace }, { entry }) => ({
      value: only(await counters.get(namespace ?? entry.type, [name])),
    }),
    'bus.publish': async ({ topic: asked, message }) => {
      const topic = bareTopic(asked)
      if (EMIT_TOPIC.test(topic))
        throw invalid(
          '/topic',
          'ends in ".emit", which is where the master tells of outputs; choose another name',
          'reserved',
        )
      await bus.publish([{ topic, data: textWithin('/message', message, MAX_BUS_MESSAGE_BYTES) }])
      return {}
    },
  }
}

/** @throws FleetError INVALID when the text would be larger. */
function textWithin(path: string, value: unknown, maxBytes: number): JsonText {
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > maxBytes)
    throw invalid(path, `is larger than ${maxBytes} bytes of JSON`, 'maxBytes', { limit: maxBytes })
  return text
}

/** The answer to a call of one item. */
export function only<T>([answer]: readonly T[]): T {
  if (answer === undefined) throw new TypeError('the store answered no item to a call of one')
  return answer
}

/** @throws RpcError `lease_lost` */
export function held<T>(answer: T | 'lease_lost', what: string): T {
  if (answer === 'lease_lost') throw new RpcError('lease_lost', `${what} is no longer held with this token`)
  return answer
}
