import fc from 'fast-check'
import { describe, expect, it } from '@jest/globals'
import {
  acceptsNull,
  compileValidator,
  differingPointers,
  sameJson,
  withoutDefaults,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
} from '../../src/protocol/index.ts'
import { MAX_JSON_DEPTH } from '../../src/protocol/limits.ts'

const schema: JsonSchema = {
  type: 'object',
  properties: {
    port: { type: 'integer', default: 25 },
    smtp: {
      type: 'object',
      default: {},
      properties: { port: { $ref: '#/$defs/port', default: 25 }, tags: { type: 'array', default: ['a'] } },
    },
    list: { type: 'array', items: { $ref: '#/$defs/item' } },
    tree: { $ref: '#/$defs/node' },
  },
  $defs: {
    port: { type: 'integer', default: 7 },
    item: { type: 'object', properties: { weight: { type: 'integer', default: 1 } } },
    node: {
      type: 'object',
      properties: { child: { $ref: '#/$defs/node', default: { child: {} } }, name: { type: 'string', default: 'n' } },
    },
  },
}

describe('withoutDefaults', () => {
  it('removes values equal to their default, at any depth of objects and arrays, and behind references', () => {
    expect(
      withoutDefaults(schema, { port: 25, smtp: { port: 25, tags: ['a'] }, list: [{ weight: 1 }, { weight: 2 }] }),
    ).toEqual({ list: [{}, { weight: 2 }] })
  })

  it('distinguishes an object of defaults from a missing one, if missing is the default', () => {
    expect(withoutDefaults(schema, { tree: { name: 'n' } })).toEqual({ tree: {} })
  })

  it('uses the default of a field, not that of the schema it refers to, as the master does', () => {
    expect(withoutDefaults(schema, { smtp: { port: 7 } })).toEqual({ smtp: { port: 7 } })
  })

  it('stops at a default that contains itself', () => {
    expect(withoutDefaults(schema, { tree: { child: { child: {} } } })).toEqual({ tree: {} })
  })

  it('reads a config as deep as a config may be, through objects and arrays', () => {
    const tree: JsonSchema = {
      properties: { n: { default: 1 }, next: { $ref: '#' }, list: { type: 'array', items: { $ref: '#' } } },
    }
    const nested = (levels: number, wrap: (inner: JsonObject) => JsonObject, inner: JsonObject): JsonObject =>
      levels === 0 ? inner : wrap(nested(levels - 1, wrap, inner))
    for (const [wrap, levels] of [
      [(inner: JsonObject) => ({ next: inner }), MAX_JSON_DEPTH],
      [(inner: JsonObject) => ({ list: [inner] }), MAX_JSON_DEPTH / 2],
    ] as const) {
      expect(withoutDefaults(tree, nested(levels, wrap, { n: 1 }))).toEqual(nested(levels, wrap, {}))
      const tooDeep = nested(levels + 1, wrap, { n: 1 })
      expect(withoutDefaults(tree, tooDeep)).toEqual(tooDeep)
    }
  })

  it('follows 15 references in a row, and ends at a circle of them', () => {
    const behind = (references: number): JsonSchema => ({
      $ref: '#/$defs/r1',
      $defs: {
        ...Object.fromEntries(
          Array.from({ length: references - 1 }, (_, i) => [`r${i + 1}`, { $ref: `#/$defs/r${i + 2}` }]),
        ),
        [`r${references}`]: { properties: { n: { default: 1 } } },
      },
    })
    expect(withoutDefaults(behind(15), { n: 1 })).toEqual({})
    expect(withoutDefaults(behind(16), { n: 1 })).toEqual({ n: 1 })
    expect(withoutDefaults({ $ref: '#' }, { n: 1 })).toEqual({ n: 1 })
  })

  it('takes time proportional to the value, not to the schema', () => {
    const level = (next: number): JsonSchema => ({
      type: 'object',
      properties: { a: { $ref: `#/$defs/l${next}`, default: {} }, b: { $ref: `#/$defs/l${next}`, default: {} } },
    })
    const deep: JsonSchema = {
      properties: { x: { $ref: '#/$defs/l0' } },
      $defs: {
        ...Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`l${index}`, level(index + 1)])),
        l60: { type: 'object' },
      },
    }
    expect(withoutDefaults(deep, { x: { a: { a: { b: {} } }, b: {} } })).toEqual({ x: {} })
  })
})

describe('sameJson', () => {
  it('compares only values', () => {
    expect(sameJson({ a: [1, { b: null }], c: 0 }, { c: -0, a: [1, { b: null }] })).toBe(true)
    expect([
      sameJson([1, 2], [2, 1]),
      sameJson({ a: 1 }, { b: 1 }),
      sameJson({}, []),
      sameJson({ a: undefined as unknown as JsonValue }, {}),
      sameJson(null, {}),
      sameJson(1, '1'),
    ]).toEqual(Array.from({ length: 6 }, () => false))
  })
})

describe('differingPointers', () => {
  it('returns the innermost member of objects, and arrays as a whole', () => {
    expect(differingPointers({ a: { 'b/c': 1, d: 2 }, e: [1] }, { a: { d: 3 }, e: [2], f: null })).toEqual([
      '/a/b~1c',
      '/a/d',
      '/e',
      '/f',
    ])
  })

  it('returns nothing for equal values, and the whole value if only one of two is an object', () => {
    expect(differingPointers({ a: [1], b: 2 }, { b: 2, a: [1] })).toEqual([])
    expect(differingPointers({ a: [1], b: 2 }, { a: [1], b: 3 })).toEqual(['/b'])
    expect(differingPointers({ a: { b: 1 } }, { a: 1 })).toEqual(['/a'])
    expect(differingPointers(undefined, { a: 1 })).toEqual([''])
  })
})

describe('acceptsNull', () => {
  const leaf = fc.constantFrom<JsonSchema>(
    { type: 'string' },
    { type: ['string', 'null'] },
    { type: 'null' },
    {},
    { type: 'string', nullable: true },
    { enum: [1, null] },
    { enum: [1] },
    { const: null },
    { const: 1 },
    { minLength: 2 },
    { $ref: '#/$defs/nil' },
    { $ref: '#/$defs/text' },
  )
  const anySchema: fc.Arbitrary<JsonSchema> = fc.letrec<{ schema: JsonSchema }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ not: tie('schema') }),
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      fc.record({ if: tie('schema'), then: tie('schema'), else: tie('schema') }),
    ),
  })).schema

  it('agrees with the validator for every schema, without compiling it (D13)', () => {
    fc.assert(
      fc.property(anySchema, (field) => {
        const whole: JsonSchema = {
          type: 'object',
          properties: { field },
          $defs: { nil: { type: 'null' }, text: { type: 'string' } },
        }
        const isValid = compileValidator(whole)({ field: null } satisfies JsonObject).length === 0
        expect(acceptsNull(whole, 'field')).toBe(isValid)
      }),
      { numRuns: 500 },
    )
  })

  it('ends for circular references, and quickly if many paths lead to one schema', () => {
    const twice = (next: string): JsonSchema => ({ anyOf: [{ $ref: `#/$defs/${next}` }, { $ref: `#/$defs/${next}` }] })
    const definitions = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`l${index}`, twice(`l${index + 1}`)]),
    )
    expect(acceptsNull({ properties: { a: { $ref: '#/properties/a' } } }, 'a')).toBe(false)
    expect(
      acceptsNull({ properties: { a: twice('l0') }, $defs: { ...definitions, l60: { type: 'string' } } }, 'a'),
    ).toBe(false)
  })
})
