import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { rowsOf, typeText } from '../../../src/dashboard/automations/schema-rows.ts'

describe('a schema as rows', () => {
  it('lists every field with its type, rules and default', () => {
    const rows = rowsOf({
      type: 'object',
      required: ['host'],
      properties: {
        host: { type: 'string', minLength: 1, maxLength: 200, format: 'hostname', description: 'Where to send' },
        retries: { type: ['integer', 'null'], minimum: 0, default: 3, deprecated: true },
        auth: {
          type: 'object',
          additionalProperties: false,
          properties: { password: { type: 'string', writeOnly: true } },
        },
        targets: {
          type: 'array',
          maxItems: 20,
          items: { type: 'object', properties: { url: { type: 'string', pattern: '^h' } } },
        },
      },
    })
    expect(
      rows.map(({ path, depth, type, rules, fallback }) => [path, depth, type, rules.join('; '), fallback]),
    ).toEqual([
      ['host', 0, 'string', '1 to 200 characters; format hostname', null],
      ['retries', 0, 'integer or null', 'at least 0', '3'],
      ['auth', 0, 'object', 'no other fields', null],
      ['auth.password', 1, 'string', '', null],
      ['targets', 0, 'list of object', 'at most 20 items', null],
      ['targets[].url', 1, 'string', 'pattern ^h', null],
    ])
    expect(rows.map(({ required, secret, deprecated, about }) => [required, secret, deprecated, about])).toEqual([
      [true, false, false, 'Where to send'],
      [false, false, true, null],
      [false, false, false, null],
      [false, true, false, null],
      [false, false, false, null],
      [false, false, false, null],
    ])
  })

  it('marks a union with a secret, which the master masks as a whole', () => {
    const auth = {
      anyOf: [{ type: 'object', properties: { key: { type: 'string', writeOnly: true } } }, { type: 'null' }],
    }
    expect(rowsOf({ properties: { auth, host: { type: 'string' } } }).map(({ secret }) => secret)).toEqual([
      true,
      false,
    ])
  })

  it('follows local references and stops at a circular one', () => {
    const tree = {
      type: 'object',
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/tree' } } },
    }
    const paths = rowsOf({
      properties: { root: { $ref: '#/$defs/tree' }, me: { $ref: '#' }, odd: { $ref: '#/$defs/none' } },
      $defs: { tree },
    }).map(({ path }) => path)
    expect(paths.slice(0, 3)).toEqual(['root', 'root.name', 'root.children'])
    expect(paths).toContain('odd')
    expect(paths.length).toBeLessThan(60)
  })

  it.each([
    [{ const: 3 }, '3'],
    [{ enum: ['a', null] }, '"a" | null'],
    [{ anyOf: [{ type: 'string' }, { const: 1 }] }, 'string | 1'],
    [{ type: 'array', items: { type: 'integer' } }, 'list of integer'],
    [{ properties: {} }, 'object'],
    [{}, 'any value'],
  ])('shows %j as %s', (schema, text) => {
    expect(typeText(schema, schema)).toBe(text)
  })

  it('accepts any object and never exceeds its limits', () => {
    fc.assert(
      fc.property(
        fc.object({
          maxDepth: 5,
          key: fc.constantFrom(
            'type',
            'properties',
            'items',
            '$ref',
            'anyOf',
            'enum',
            'a',
            'required',
            'minimum',
            '__proto__',
          ),
        }),
        (schema) => {
          expect(rowsOf({ properties: schema }).length).toBeLessThanOrEqual(400)
        },
      ),
    )
  })
})
