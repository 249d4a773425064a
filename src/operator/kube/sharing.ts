/** @module operator/kube/sharing  What is equal is kept once. */
import { isDeepStrictEqual } from 'node:util'

/** The same value, out of the parts of `known` that are equal to its own; all of `known` where that is equal. */
export function sharing<T>(value: T, known: unknown): T {
  if (!isRecord(value) || !isRecord(known)) return value
  const parts = Object.entries(value).map(
    ([name, part]) => [name, isDeepStrictEqual(part, known[name]) ? known[name] : part] as const,
  )
  const isSame =
    parts.length === Object.keys(known).length &&
    parts.every(([name, part]) => Object.hasOwn(known, name) && part === known[name])
  return (isSame ? known : Object.fromEntries(parts)) as T
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
