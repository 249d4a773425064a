/** Creates values that match the schema: random ones, or one per leaf. */
import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import type { Json } from './chart.ts'

export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean'
  readonly enum?: readonly unknown[]
  readonly deprecated?: boolean
  readonly default?: unknown
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: Readonly<Record<string, Schema>>
}

export const SCHEMA = JSON.parse(readFileSync('charts/muster/values.schema.json', 'utf8')) as Schema
/** Words that match the patterns of the schema. A leaf uses the first one that matches its pattern. */
const WORDS = [
  'a-name',
  'muster.example',
  'https://muster.example:8443/base',
  'kvstores://redis.example:6379',
  '1Gi',
  '/data',
  '30s',
  `sha256:${'0'.repeat(64)}`,
]
const MAPS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  workers: fc.dictionary(
    fc.constantFrom('a', 'probe-2', 'x'.repeat(21)),
    fc.record({ type: fc.constantFrom('http-probe', 'hello'), replicas: fc.nat(3) }),
    { maxKeys: 2 },
  ),
  watchNamespaces: fc.constantFrom([], ['*'], ['a', 'b']),
  tenants: fc.constantFrom(
    {},
    { '*': { types: ['*'], workers: ['*'] } },
    { a: { types: ['http-probe'], workers: ['a-*'] } },
  ),
  secretNames: fc.constantFrom([], ['probe'], ['muster-tokens']),
  parentRefs: fc.constantFrom([], [{ name: 'web' }]),
  inline: fc.constantFrom({}, { 'a.mjs': 'export default []' }),
}

function leaf(key: string, schema: Schema): fc.Arbitrary<unknown> {
  const map = MAPS[key]
  if (map !== undefined) return map
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'integer') return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 0 })
  if (schema.type === 'string') return fc.constantFrom(schema.default, ...wordsOf(schema))
  return fc.constant(schema.default)
}

const at = (key: string, schema: Schema): fc.Arbitrary<unknown> =>
  schema.properties === undefined || schema.default !== undefined ? leaf(key, schema) : objectOf(schema)

function objectOf({ properties = {} }: Schema): fc.Arbitrary<Json> {
  const known = Object.entries(properties).filter(([, schema]) => schema.deprecated !== true)
  return fc.record(Object.fromEntries(known.map(([key, schema]) => [key, at(key, schema)])), { requiredKeys: [] })
}

export const randomValues = (): fc.Arbitrary<Json> => objectOf(SCHEMA)

export interface Leaf {
  readonly path: readonly string[]
  readonly schema: Schema
}
export function leavesOf({ properties = {} }: Schema, path: readonly string[] = []): readonly Leaf[] {
  return Object.entries(properties)
    .filter(([, schema]) => schema.deprecated !== true)
    .flatMap(([key, schema]) => {
      const here = [...path, key]
      return schema.properties === undefined || schema.default !== undefined
        ? [{ path: here, schema }]
        : leavesOf(schema, here)
    })
}

/** @returns `{a: {b: value}}` for the path a.b. */
export const nested = (path: readonly string[], value: unknown): Json =>
  path.reduceRight<unknown>((below, key) => ({ [key]: below }), value) as Json

/** @returns strings that match the pattern of a leaf. */
export const wordsOf = ({ pattern = '' }: Schema): readonly string[] =>
  WORDS.filter((word) => new RegExp(pattern).test(word))
