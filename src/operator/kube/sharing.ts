/** @module operator/kube/sharing  Shares equal parts of two values, to save memory. */
import { isDeepStrictEqual } from 'node:util'

/** @returns an equal value that uses the parts of `known` which are equal; `known` itself if everything is equal. */
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
