import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { compileValidator, type JsonSchema, type JsonValue } from '../../../src/protocol/index.ts'
import { validate } from '../../../src/dashboard/config/validator.ts'

const words = (schema: JsonSchema, value: JsonValue | undefined): readonly string[] =>
  validate(schema, value).map(({ path, message }) => `${path} ${message}`)

describe('the schema validator', () => {
  it('reports the expected and the actual value', () => {
    expect(words({ type: 'integer', minimum: 1 }, 0)).toEqual([' expected 1 or more, got 0'])
    expect(words({ type: 'string' }, 4)).toEqual([' expected text, got 4'])
    expect(words({ type: ['string', 'null'] }, [])).toEqual([' expected text or null, got []'])
    expect(words({ enum: ['a', 2] }, 'b')).toEqual([' expected one of "a", 2, got "b"'])
    expect(words({ type: 'string', maxLength: 1 }, '🙂🙂')).toEqual([' expected 1 character or less, got 2'])
    expect(words({ pattern: '^a' }, 'b')).toEqual([' expected text that matches ^a, got "b"'])
    expect(words({ pattern: '^[^@]+@[^@]+$' }, 'no-address')).toHaveLength(1)
    expect(words({}, undefined)).toEqual([' expected a value, got nothing'])
  })

  it('reports the JSON pointer of each error', () => {
    const schema = {
      type: 'object',
      properties: {
        list: {
          type: 'array',
          items: {
            type: 'object',
            properties: { 'a/b': { type: 'integer' } },
            required: ['name'],
            additionalProperties: false,
          },
        },
      },
    }
    expect(words(schema, { list: [{ 'a/b': 'x', other: 1 }] })).toEqual([
      '/list/0/name is required',
      '/list/0/a~1b expected a whole number, got "x"',
      '/list/0/other is not a known field',
    ])
  })

  it('reports the errors of a union branch if only one branch can be meant', () => {
    const schema = {
      anyOf: [
        { type: 'object', properties: { kind: { const: 'a' }, n: { type: 'integer' } }, required: ['n'] },
        { type: 'null' },
      ],
    }
    expect(words(schema, { kind: 'a' })).toEqual(['/n is required'])
    expect(words({ anyOf: [{ const: 1 }, { const: 2 }] }, 3)).toEqual([' expected one of 1, 2, got 3'])
  })

  it('accepts values that it cannot check', () => {
    expect(words({ type: 'string', format: 'email' }, 'x')).toEqual([])
    expect(words({ pattern: '(a+)+$' }, 'b')).toEqual([])
    expect(words({ pattern: 'a*a*a*a*b' }, 'a'.repeat(100))).toEqual([])
    expect(words({ pattern: '^a' }, 'b'.repeat(5_000))).toEqual([])
    expect(
      words(
        { type: 'object', properties: { key: { type: 'string', writeOnly: true, minLength: 20 } } },
        { key: '********' },
      ),
    ).toEqual([])
  })

  it('never repeats a secret', () => {
    const [secret, typed] = [{ writeOnly: true, type: 'string', pattern: '^sk-' }, 'hunter2']
    expect(words({ type: 'object', properties: { key: secret } }, { key: typed })).toEqual([
      '/key expected text that matches ^sk-, got a hidden value',
    ])
    const others: readonly JsonSchema[] = [
      { writeOnly: true, type: 'number' },
      { writeOnly: true, enum: ['a'] },
      { writeOnly: true, const: 'a' },
      { anyOf: [secret, { $ref: '#/$defs/a' }] },
      { writeOnly: true, type: 'object', properties: { a: { type: 'integer' } } },
    ]
    expect(
      others.flatMap((schema) => words(schema, schema['type'] === 'object' ? { a: typed } : typed)).join(),
    ).not.toContain(typed)
    expect(words({ writeOnly: true, type: 'number', maximum: 1 }, 4711).join()).not.toContain('4711')
    expect(words({ type: 'array', items: secret, uniqueItems: true }, [typed, typed]).join()).not.toContain(typed)
  })

  it('terminates on a recursive schema', () => {
    expect(words({ $ref: '#' }, 1)).toEqual([])
  })

  it('is never stricter than the master', () => {
    const leaf = fc.oneof(
      fc.record(
        {
          type: fc.constantFrom('integer', 'number'),
          minimum: fc.integer({ min: -3, max: 3 }),
          exclusiveMaximum: fc.integer({ min: 0, max: 5 }),
        },
        { requiredKeys: ['type'] },
      ),
      fc.record(
        {
          type: fc.constant('string'),
          minLength: fc.nat(2),
          maxLength: fc.nat(4),
          pattern: fc.constantFrom('^a', 'b$', '^[a-c]*$', '\\d', '\\S'),
        },
        { requiredKeys: ['type'] },
      ),
      fc.record({ enum: fc.uniqueArray(fc.constantFrom('a', 'b', 1, null, true), { minLength: 1 }) }),
      fc.record({ type: fc.constantFrom('boolean', 'null') }),
      fc.record({ const: fc.constantFrom('a', 0, null) }),
    )
    const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        leaf,
        fc.record(
          {
            type: fc.constant('array'),
            items: tie('schema'),
            minItems: fc.nat(2),
            maxItems: fc.nat(3),
            uniqueItems: fc.boolean(),
          },
          { requiredKeys: ['type', 'items'] },
        ),
        fc.record(
          {
            type: fc.constant('object'),
            properties: fc.record({ a: tie('schema'), b: tie('schema') }),
            required: fc.subarray(['a', 'b']),
            additionalProperties: fc.boolean(),
          },
          { requiredKeys: ['type', 'properties'] },
        ),
        fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
        fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      ),
    }))
    const scalar = fc.oneof(
      fc.constantFrom<JsonValue>('a', 'b', 'ab', '', '\u00A0', '7', null, true, 0, 1, -2, 1.5),
      fc.string({ maxLength: 3 }),
    )
    const value = fc.oneof(
      scalar,
      fc.array(scalar, { maxLength: 3 }),
      fc.record(
        { a: fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), b: scalar, c: scalar },
        { requiredKeys: [] },
      ),
    )
    fc.assert(
      fc.property(
        schema,
        fc.array(value as fc.Arbitrary<JsonValue>, { minLength: 1, maxLength: 20 }),
        (judged, values) => {
          const master = compileValidator(judged)
          for (const each of values) if (master(each).length === 0) expect(words(judged, each)).toEqual([])
        },
      ),
      { numRuns: 200 },
    )
  })
})
