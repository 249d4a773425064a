import { describe, expect, it } from '@jest/globals'
import { Type } from 'typebox'
import {
  configSchemaOf,
  defaultsOf,
  forbiddenKeys,
  maskSecrets,
  mergeConfig,
  SECRET_MASK,
  secretPathsOf,
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
      max_attempts: 3,
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
})
