import { describe, expect, it } from '@jest/globals'
import { Type } from 'typebox'
import {
  acceptsNull,
  BASE_CONFIG_FIELDS,
  BASE_CONFIG_NAMES,
  compileValidator,
  ConfigSchemaError,
  configSchemaOf,
  DEFAULT_MAX_ATTEMPTS,
  defaultsOf,
  forbiddenKeys,
  maskSecrets,
  MAX_ATTEMPTS,
  MAX_SLOTS,
  mergeConfig,
  propertiesOf,
  resolveLocal,
  SECRET_MASK,
  secretPathsOf,
  secretValues,
  withoutSecrets,
  type JsonObject,
  type JsonSchema,
} from '../../src/protocol/index.ts'

const own = Type.Object({
  host: Type.String({ default: 'localhost' }),
  note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  api_key: Type.Optional(Type.String({ writeOnly: true })),
  smtp: Type.Optional(
    Type.Object({ user: Type.Optional(Type.String()), password: Type.Optional(Type.String({ writeOnly: true })) }),
  ),
  keys: Type.Optional(Type.Array(Type.Object({ value: Type.String({ writeOnly: true }) }))),
})
const schema = configSchemaOf(own as unknown as JsonSchema)
const secrets = secretPathsOf(schema)
const merge = (stored: JsonObject, patch: JsonObject) => mergeConfig(schema, secrets, stored, patch)

describe('configSchemaOf', () => {
  it('adds the base fields and rejects unknown ones (D4)', () => {
    expect(schema['additionalProperties']).toBe(false)
    expect(defaultsOf(schema)).toEqual({
      enabled: false,
      slots: 1,
      max_attempts: DEFAULT_MAX_ATTEMPTS,
      recycle_seconds: 0,
      host: 'localhost',
    })
  })

  it('rejects a schema with a base field, or of another type than object', () => {
    expect(() => configSchemaOf({ type: 'object', properties: { slots: {} } })).toThrow(
      '/properties/slots: is a base field',
    )
    expect(() => configSchemaOf({ type: 'string' })).toThrow('/type')
    expect(() => configSchemaOf({ type: 'object', patternProperties: {} })).toThrow('/patternProperties')
  })

  it.each<[JsonSchema, string, string]>([
    [{ type: 'array' }, '/type', 'a config schema must be of type "object"'],
    [
      { type: 'object', patternProperties: { x: {} } },
      '/patternProperties',
      'the fields of a config are named one by one; put free names below a field of type object',
    ],
    [
      { type: 'object', properties: { own: {}, enabled: {} } },
      '/properties/enabled',
      'is a base field, added by Muster; leave it out',
    ],
  ])('names the place of a fault in %j, and what is wrong there', (faulty, pointer, problem) => {
    let error: unknown
    try {
      configSchemaOf(faulty)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(ConfigSchemaError)
    expect(error).toMatchObject({ name: 'ConfigSchemaError', message: `${pointer}: ${problem}`, pointer, problem })
  })

  it('keeps everything else of the schema, and describes the base fields', () => {
    expect(configSchemaOf({ type: 'object' })).toEqual({
      type: 'object',
      properties: BASE_CONFIG_FIELDS,
      additionalProperties: false,
    })
    expect(configSchemaOf({ type: 'object', title: 't', properties: { own: { const: 1 } } })).toMatchObject({
      title: 't',
      properties: { own: { const: 1 } },
    })
    expect(BASE_CONFIG_NAMES).toEqual(['enabled', 'slots', 'max_attempts', 'recycle_seconds'])
    for (const name of BASE_CONFIG_NAMES) expect(propertiesOf(schema)[name]?.['description']).toMatch(/^[A-Z].{10,}\.$/)
  })

  it('bounds the base fields', () => {
    const base = compileValidator(configSchemaOf({ type: 'object' }))
    const bounds = { slots: [0, MAX_SLOTS], max_attempts: [1, MAX_ATTEMPTS], recycle_seconds: [0, 1e12] } as const
    for (const [name, [low, high]] of Object.entries(bounds)) {
      const valid = { enabled: true, slots: 1, max_attempts: 1, recycle_seconds: 0 }
      for (const value of [low, high]) expect([name, base({ ...valid, [name]: value })]).toEqual([name, []])
      expect(base({ ...valid, [name]: low - 1 })).not.toEqual([])
      if (name !== 'recycle_seconds') expect(base({ ...valid, [name]: high + 1 })).not.toEqual([])
    }
    expect(base({ enabled: 'yes', slots: 1, max_attempts: 1, recycle_seconds: 0 })).not.toEqual([])
  })
})

describe('defaultsOf', () => {
  it('copies the defaults, and leaves out fields without one', () => {
    const list = { properties: { list: { default: ['a'] }, plain: {}, nothing: { default: null } } }
    const defaults = defaultsOf(list)
    expect(defaults).toEqual({ list: ['a'], nothing: null })
    expect(defaults['list']).not.toBe(list.properties.list.default)
    expect(defaultsOf({})).toEqual({})
  })
})

describe('resolveLocal', () => {
  const root = { $defs: { 'a/b': { 'c~d': 1 }, nil: null, text: 'x' }, list: [{ at: 0 }] }

  it.each([
    ['#', root],
    ['#/$defs/a~1b/c~0d', 1],
    ['#/list/0', root.list[0]],
    ['#/$defs/missing', undefined],
    ['#/$defs/missing/further', undefined],
    ['#/$defs/nil/further', undefined],
    ['#/$defs/text/length', undefined],
    ['', undefined],
    ['other.json#/list', undefined],
    ['xy$defs/nil', undefined],
  ])('finds what %s refers to', (reference, expected) => expect(resolveLocal(root, reference)).toBe(expected))
})

describe('mergeConfig', () => {
  it('replaces only top-level fields (D13)', () => {
    expect(merge({ host: 'a', smtp: { user: 'u' } }, { smtp: {} }).config).toEqual({ host: 'a', smtp: {} })
  })

  it('resets a field to its default for null, or removes it without one (D13)', () => {
    expect(merge({ host: 'a', smtp: {} }, { host: null, smtp: null }).config).toEqual({ host: 'localhost' })
  })

  it('keeps null where the field accepts it (D13)', () => {
    expect(merge({}, { note: null }).config).toEqual({ note: null })
  })

  it('lists the changed fields by value, independent of the order of keys', () => {
    expect(
      merge(
        { host: 'a', slots: 1, smtp: { user: 'u', password: 'p' } },
        { slots: 2, host: 'a', smtp: { password: 'p', user: 'u' } },
      ).changed,
    ).toEqual(['slots'])
  })

  it('leaves unknown fields to the validator', () => {
    expect(merge({}, { unknown: null }).config).toEqual({ unknown: null })
  })

  it('lists added, removed and changed fields, sorted', () => {
    const { config, changed } = merge({ smtp: {}, slots: 1, host: 'b' }, { smtp: null, host: null, api_key: 'k' })
    expect(config).toEqual({ slots: 1, host: 'localhost', api_key: 'k' })
    expect(changed).toEqual(['api_key', 'host', 'smtp'])
  })
})

describe('secrets', () => {
  const stored = { api_key: 'k', smtp: { user: 'u', password: 'p' }, keys: [{ value: 'v' }] }

  it('are found at any depth of objects, and as whole fields inside arrays (D52)', () => {
    expect(secrets).toEqual([['api_key'], ['smtp', 'password'], ['keys']])
  })

  it('are found behind local references', () => {
    expect(
      secretPathsOf({
        properties: { a: { anyOf: [{ $ref: '#/$defs/s' }] } },
        $defs: { s: { type: 'string', writeOnly: true } },
      }),
    ).toEqual([['a']])
  })

  it('are found where a field refers to the whole schema', () => {
    expect(
      secretPathsOf({
        properties: { key: { type: 'string', writeOnly: true }, below: { items: { $ref: '#' } }, plain: {} },
      }),
    ).toEqual([['key'], ['below']])
  })

  it('make the top-level field a secret as a whole inside a combinator below it', () => {
    const hidden = { type: 'string', writeOnly: true }
    expect(
      secretPathsOf({
        properties: {
          deep: { properties: { plain: {}, below: { anyOf: [{ type: 'null' }, hidden] }, own: hidden } },
          plain: { properties: { a: { type: 'string' } } },
          unused: { $defs: { hidden } },
          lost: { $ref: '#/$defs/missing' },
          odd: { $ref: 7, writeOnly: false },
          round: { anyOf: [{ $ref: '#/properties/round' }] },
        },
      }),
    ).toEqual([['deep']])
    expect(secretPathsOf({})).toEqual([])
  })

  it('are removed or read where they are set', () => {
    expect(withoutSecrets(stored, secrets)).toEqual({ smtp: { user: 'u' } })
    expect(withoutSecrets({ host: 'a', smtp: 'text' }, secrets)).toEqual({ host: 'a', smtp: 'text' })
    expect(secretValues(stored, secrets)).toEqual(['k', 'p', [{ value: 'v' }]])
    expect(secretValues({ host: 'a', smtp: 'text' }, secrets)).toEqual([])
    expect(secretValues({ a: {} }, [['a', 'toString'], ['toString']])).toEqual([])
    expect(maskSecrets({ a: {} }, [['a', 'toString'], ['toString']])).toEqual({ a: {} })
  })

  it('are masked everywhere (D17)', () => {
    expect(maskSecrets(stored, secrets)).toEqual({
      api_key: SECRET_MASK,
      smtp: { user: 'u', password: SECRET_MASK },
      keys: SECRET_MASK,
    })
    expect(maskSecrets({ host: 'a' }, secrets)).toEqual({ host: 'a' })
  })

  it('are kept when the mask is sent back, at any depth (D17, D52)', () => {
    const { config, changed } = merge(stored, {
      api_key: SECRET_MASK,
      smtp: { user: 'new', password: SECRET_MASK },
      keys: SECRET_MASK,
    })
    expect(config).toEqual({ ...stored, smtp: { user: 'new', password: 'p' } })
    expect(changed).toEqual(['smtp'])
    expect(merge(stored, { api_key: 'other', smtp: { password: 'q' } })).toEqual({
      config: { ...stored, api_key: 'other', smtp: { password: 'q' } },
      changed: ['api_key', 'smtp'],
    })
  })

  it('stay unset when a mask is sent without a stored value', () => {
    expect(merge({}, { api_key: SECRET_MASK, smtp: { user: 'u', password: SECRET_MASK } }).config).toEqual({
      smtp: { user: 'u' },
    })
  })
})

describe('forbiddenKeys', () => {
  it.each(['__proto__', 'constructor', 'prototype'])('finds %s at any place (D13)', (key) => {
    const value = JSON.parse(`{"a/b":[{"x":{"${key}":1}}],"${key}":{}}`) as JsonObject
    expect(
      forbiddenKeys(value)
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual([`/${key}`, `/a~1b/0/x/${key}`].toSorted())
  })

  it('says what is wrong with such a key, and nothing about other values', () => {
    expect(forbiddenKeys({ a: [1, null, { prototype: 1 }] })).toEqual([
      {
        path: '/a/2/prototype',
        message: 'this key is not allowed in a config',
        keyword: 'propertyNames',
        params: { propertyName: 'prototype' },
      },
    ])
    expect(forbiddenKeys('prototype')).toEqual([])
    expect(forbiddenKeys({ proto: { constructors: [] } })).toEqual([])
  })
})

describe('acceptsNull', () => {
  const accepts = (field: unknown): boolean => acceptsNull({ properties: { field } }, 'field')

  it.each<[unknown, boolean]>([
    [true, true],
    [false, false],
    ['text', false],
    [{ type: 'null' }, true],
    [{ type: ['string', 'integer'] }, false],
    [{ type: 'string', nullable: true }, true],
    [{ type: 'string', nullable: false }, false],
    [{ enum: [1, null] }, true],
    [{ enum: [1] }, false],
    [{ const: null }, true],
    [{ const: 0 }, false],
    [{ anyOf: [false, true] }, true],
    [{ anyOf: [false, false] }, false],
    [{ allOf: [true, false] }, false],
    [{ allOf: [true, true] }, true],
    [{ oneOf: [true, true] }, false],
    [{ oneOf: [true, false] }, true],
    [{ oneOf: [false] }, false],
    [{ not: true }, false],
    [{ not: false }, true],
    [JSON.parse('{"if":true,"then":false}'), false],
    [JSON.parse('{"if":true,"else":false}'), true],
    [JSON.parse('{"if":false,"else":false}'), false],
    [JSON.parse('{"if":false,"then":false}'), true],
    [JSON.parse('{"then":false,"else":false}'), true],
    [{ anyOf: 'not a list' }, true],
    [{ $ref: '#/missing' }, false],
    [{ $ref: '#/properties/field' }, false],
    [{ anyOf: [{ $ref: '#/properties/field' }, { type: 'null' }] }, true],
  ])('of %j is %j (D13)', (field, expected) => expect(accepts(field)).toBe(expected))

  it('of an unknown field is true, and the validator rejects it', () => {
    expect(acceptsNull({ properties: { toString: { type: 'string' } } }, 'valueOf')).toBe(true)
    expect(acceptsNull({}, 'field')).toBe(true)
  })
})
