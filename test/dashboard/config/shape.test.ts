import { describe, expect, it } from '@jest/globals'
import { Type } from 'typebox'
import {
  BASE_CONFIG_NAMES,
  configSchemaOf,
  SECRET_MASK as MASK_OF_THE_WIRE,
  secretPathsOf,
  type JsonSchema,
} from '../../../src/protocol/index.ts'
import { SECRET_MASK } from '../../../src/dashboard/config/schema.ts'
import { BASE_FIELDS, partsOf } from '../../../src/dashboard/config/base-fields.ts'
import { fieldsOf, optionText, shapeOf, storedSecretText } from '../../../src/dashboard/config/shape.ts'

const schemaOf = (properties: Parameters<typeof Type.Object>[0]): JsonSchema =>
  configSchemaOf(JSON.parse(JSON.stringify(Type.Object(properties))) as JsonSchema)
const fieldOf = (properties: Parameters<typeof Type.Object>[0], name: string) =>
  fieldsOf(schemaOf(properties)).find((field) => field.name === name)

describe('the fields of a form', () => {
  it("are the base fields, then the automation's own fields in schema order", () => {
    expect(fieldsOf(schemaOf({ zeta: Type.String(), alpha: Type.String() })).map(({ name }) => name)).toEqual([
      'enabled',
      'slots',
      'max_attempts',
      'recycle_seconds',
      'zeta',
      'alpha',
    ])
  })

  it('are shown in two parts: those of the automation, and those of every worker', () => {
    const { own, base } = partsOf(fieldsOf(schemaOf({ zeta: Type.String(), alpha: Type.String() })))
    expect([own, base].map((part) => part.map(({ name }) => name))).toEqual([['zeta', 'alpha'], BASE_FIELDS])
    expect(BASE_FIELDS).toEqual(BASE_CONFIG_NAMES)
  })

  it('have the input of the browser for dates and times', () => {
    const times = schemaOf({
      at: Type.Optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()])),
      day: Type.String({ format: 'date' }),
      page: Type.String({ format: 'uri' }),
    })
    expect(fieldsOf(times).flatMap(({ name, shape }) => (shape.timeFormat ? [[name, shape.timeFormat]] : []))).toEqual([
      ['at', 'date-time'],
      ['day', 'date'],
    ])
  })

  it('have an input by type, or a JSON input for unsupported schemas', () => {
    const kinds = Object.fromEntries(
      fieldsOf(
        schemaOf({
          flag: Type.Boolean(),
          count: Type.Integer(),
          ratio: Type.Number(),
          text: Type.String(),
          mode: Type.Enum(['a', 'b']),
          union: Type.Union([Type.Literal('x'), Type.Literal(2)]),
          one: Type.Literal('only'),
          list: Type.Array(Type.String()),
          nested: Type.Object({ a: Type.String() }),
          map: Type.Record(Type.String(), Type.String()),
          nullable: Type.Union([Type.String(), Type.Null()]),
          any: Type.Unknown(),
          either: Type.Union([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })]),
          bare: Type.Object({}),
          not: Type.Unsafe({ type: 'string', not: { const: 'x' } }),
          bound: Type.Unsafe({ type: 'string', writeOnly: true, 'x-muster-bound-to': ['text'] }),
        }),
      ).map(({ name, shape }) => [name, shape.kind]),
    )
    expect(kinds).toMatchObject({
      enabled: 'boolean',
      slots: 'integer',
      recycle_seconds: 'number',
      flag: 'boolean',
      count: 'integer',
      ratio: 'number',
      text: 'string',
      mode: 'enum',
      union: 'enum',
      one: 'enum',
      list: 'array',
      nested: 'object',
      map: 'json',
      nullable: 'string',
      any: 'json',
      either: 'union',
      bare: 'json',
      not: 'json',
      bound: 'string',
    })
  })

  it('offer the values of an enumeration', () => {
    expect(fieldOf({ union: Type.Union([Type.Literal('x'), Type.Literal(2)]) }, 'union')?.shape.options).toEqual([
      'x',
      2,
    ])
    expect(fieldsOf({ properties: { mode: { enum: ['a', null] } } })[0]?.shape).toMatchObject({
      options: ['a', null],
      nullable: true,
    })
    expect(['a', '', 2, null].map(optionText)).toEqual(['a', '""', '2', 'null'])
  })

  it('are nullable if one of two types is null, in any notation', () => {
    expect(shapeOf({ type: ['string', 'null'], maxLength: 3 })).toMatchObject({
      kind: 'string',
      nullable: true,
      hint: 'at most 3 characters',
    })
    expect(shapeOf({ anyOf: [{ type: 'integer', minimum: 1 }, { type: 'null' }], default: 5 })).toMatchObject({
      kind: 'integer',
      nullable: true,
      hint: 'at least 1 · default 5',
    })
  })

  it('describe their constraints', () => {
    expect(fieldOf({}, 'slots')?.shape.hint).toBe('0 to 1024 · default 1')
    expect(
      fieldOf({ user: Type.String({ maxLength: 9, format: 'email', pattern: '^a', examples: ['a@b.c'] }) }, 'user')
        ?.shape.hint,
    ).toBe('at most 9 characters · an e-mail address · for example "a@b.c" · matches the regular expression ^a')
    expect(fieldOf({ rate: Type.Number({ exclusiveMinimum: 0, maximum: 1 }) }, 'rate')?.shape.hint).toBe(
      'at most 1 · more than 0',
    )
  })

  it('are required only without a default', () => {
    expect(fieldOf({ host: Type.String() }, 'host')?.required).toBe(true)
    expect(fieldOf({ host: Type.String({ default: 'x' }) }, 'host')?.required).toBe(false)
    expect(fieldOf({ host: Type.Optional(Type.String()) }, 'host')?.required).toBe(false)
  })

  it('resolve local references and stop at recursive ones', () => {
    const schema = {
      $defs: {
        port: { type: 'integer', minimum: 1 },
        tree: { type: 'object', properties: { child: { $ref: '#/$defs/tree' }, name: { type: 'string' } } },
      },
      properties: {
        port: { $ref: '#/$defs/port', description: 'Where.' },
        lost: { $ref: '#/$defs/none' },
        tree: { $ref: '#/$defs/tree' },
      },
    }
    const [port, lost, tree] = fieldsOf(schema)
    expect(port?.shape).toMatchObject({ kind: 'integer', hint: 'at least 1', description: 'Where.' })
    expect(lost?.shape.kind).toBe('json')
    expect(tree?.shape.fields.map(({ name, shape }) => [name, shape.kind])).toEqual([
      ['child', 'json'],
      ['name', 'string'],
    ])
  })

  it('name the branches of a union by title, or by the constant that distinguishes them', () => {
    const kind = (name: string) => Type.Object({ kind: Type.Literal(name), a: Type.Optional(Type.String()) })
    const union = Type.Union([kind('fixed'), Type.Object({}, { title: 'Growing' }), Type.Object({ a: Type.String() })])
    expect(fieldOf({ union }, 'union')?.shape.branches.map(({ title }) => title)).toEqual([
      'fixed',
      'Growing',
      'object',
    ])
  })

  it('say what can be known of a stored secret', () => {
    const secret = (title: string) => Type.Object({ value: Type.String({ writeOnly: true }) }, { title })
    const textOf = (schema: Parameters<typeof Type.Union>[0][number]): string =>
      storedSecretText(shapeOf(JSON.parse(JSON.stringify(schema)) as JsonSchema))
    expect(textOf(Type.String({ writeOnly: true }))).toBe('set')
    expect(textOf(Type.Union([secret('Token'), Type.Null()]))).toBe('set')
    expect(textOf(Type.Union([secret('Token'), secret('Token')]))).toBe('set: Token')
    expect(textOf(Type.Union([secret('Token'), secret('Password'), secret('Key')]))).toBe(
      'set: Token, Password or Key (the master does not show which)',
    )
  })

  it('use the same secret mask as the protocol (D17)', () => {
    expect(SECRET_MASK).toBe(MASK_OF_THE_WIRE)
  })

  it('are whole secrets exactly when the master masks the whole field (D52)', () => {
    const secret = Type.String({ writeOnly: true })
    const schema = {
      ...schemaOf({
        plain: Type.String(),
        key: secret,
        inObject: Type.Object({ user: Type.String(), password: secret }),
        deep: Type.Object({ smtp: Type.Object({ password: secret }) }),
        inArray: Type.Array(Type.Object({ token: secret })),
        inUnion: Type.Union([secret, Type.Null()]),
        below: Type.Object({ list: Type.Array(secret) }),
      }),
      $defs: { key: { type: 'string', writeOnly: true } },
    } as { properties: Record<string, unknown>; $defs: unknown }
    schema.properties['referred'] = { $ref: '#/$defs/key' }
    const whole = secretPathsOf(schema)
      .filter((path) => path.length === 1)
      .map(([name]) => name)
    expect(
      fieldsOf(schema)
        .filter(({ shape }) => shape.secret)
        .map(({ name }) => name),
    ).toEqual(whole)
    expect(whole).toEqual(['key', 'inArray', 'inUnion', 'below', 'referred'])
  })
})
