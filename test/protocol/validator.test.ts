import { describe, expect, it } from '@jest/globals'
import { Type } from 'typebox'
import { compileValidator, lazyValidator } from '../../src/protocol/index.ts'
import { SLACK } from '../kit/index.ts'

describe('lazyValidator', () => {
  it('compiles the schema at the first use', () => {
    const validate = lazyValidator({ type: 'no such type' })
    expect(() => validate('x')).toThrow(/type/)
    expect(lazyValidator({ type: 'string' })(1)).toEqual(compileValidator({ type: 'string' })(1))
  })
})

describe('compileValidator', () => {
  it('reports all faults together, each at its field (D14)', () => {
    const validate = compileValidator(
      Type.Object(
        { a: Type.Integer(), b: Type.Object({ 'c/d': Type.String() }), e: Type.Enum(['x', 'y']) },
        { additionalProperties: false },
      ),
    )
    expect(
      validate({ a: 'x', b: {}, e: 'z', f: 1 })
        .map(({ path, message }) => `${path} ${message}`)
        .toSorted(),
    ).toEqual(['/a must be integer', '/b/c~1d is required', '/e must be one of "x", "y"', '/f is not a known field'])
    expect(validate({ a: 1, b: { 'c/d': '' }, e: 'x' })).toEqual([])
  })

  it('returns the same validator for equal schemas', () => {
    expect(compileValidator({ type: 'string', maxLength: 3 })).toBe(compileValidator({ type: 'string', maxLength: 3 }))
  })

  it('is not blocked by a pattern with exponential backtracking', () => {
    const validate = compileValidator({ type: 'string', pattern: '^(a+)+$' })
    const before = performance.now()
    expect(validate(`${'a'.repeat(5_000)}!`)).toHaveLength(1)
    expect(performance.now() - before).toBeLessThan(1_000 * SLACK)
  })

  it.each([20, 60])('ends when alternatives of a recursive schema multiply: %d levels', (levels) => {
    const branch = (key: string): object => ({ properties: { a: { $ref: '#/$defs/node' } }, required: [key] })
    const validate = compileValidator({
      $ref: '#/$defs/node',
      $defs: { node: { anyOf: [branch('b'), branch('c'), { type: 'null' }] } },
    })
    const before = process.cpuUsage()
    const value: unknown = JSON.parse(`${'{"a":'.repeat(levels)}0${'}'.repeat(levels)}`)
    expect(validate(value)).toMatchObject([{ path: '', keyword: '$ref' }])
    expect(process.cpuUsage(before).user).toBeLessThan(500_000 * SLACK)
  })

  it('follows as many references as a body has values, also next to data that looks like one', () => {
    const item = { type: 'string', default: { $ref: 'x' } }
    const validate = compileValidator({ items: { $ref: '#/$defs/$ref' }, $defs: { $ref: item } })
    expect(validate(Array.from({ length: 100_000 }, () => 'x'))).toEqual([])
    expect(validate(['x', 1])).toMatchObject([{ path: '/1', keyword: 'type' }])
  })

  it('finds duplicate items in linear time, also beyond maxItems', () => {
    const validate = compileValidator({ type: 'array', uniqueItems: true, maxItems: 1_000 })
    const before = process.cpuUsage()
    expect(validate(Array.from({ length: 20_000 }, (_, i) => ({ i }))).map(({ keyword }) => keyword)).toEqual([
      'maxItems',
    ])
    expect(process.cpuUsage(before).user).toBeLessThan(50_000 * SLACK)
  })

  it.each([
    [['a', 'b'], []],
    [[1, '1', null, true, [], {}], []],
    [[{ a: 1, b: [2] }, {}, { b: [2], a: 1 }], [[2, 0]]],
    [[{ __proto__: 1 }, 0, -0], [[2, 1]]],
  ])('finds the first item that equals an earlier one: %j', (items, found) => {
    const validate = compileValidator({ type: 'array', uniqueItems: true })
    expect(validate(items)).toMatchObject(
      found.map(([i, j]) => ({
        path: '',
        keyword: 'uniqueItems',
        params: { i, j },
        message: `must NOT have duplicate items (items ## ${j} and ${i} are identical)`,
      })),
    )
  })

  it('accepts the values of an enum, and no others', () => {
    const allowedValues = [1, 'a', '{"a":1}', null, { a: 1, b: [2] }, [1], true]
    const validate = compileValidator({ enum: allowedValues })
    const accepted = [...allowedValues, { b: [2], a: 1 }, 1.0]
    expect(accepted.filter((value) => validate(value).length > 0)).toEqual([])
    const refused = [2, '1', 'null', '[1]', { a: 1 }, { a: 1, b: [2], c: 3 }, { a: 1, b: [3] }, [1, 1], [], {}, false]
    expect(refused.filter((value) => validate(value).length !== 1)).toEqual([])
    expect(validate('x')).toMatchObject([{ path: '', keyword: 'enum', params: { allowedValues } }])
    expect(compileValidator({ enum: [0] })(-0)).toEqual([])
  })

  it.each([
    { enum: [] },
    { type: 'string', pattern: '(?=a)' },
    { type: 'string', pattern: '(a)\\1' },
    { $ref: 'https://example.com/schema' },
    { type: 'object', unknownKeyword: 1 },
  ])('does not compile %j', (schema) => {
    expect(() => compileValidator(schema)).toThrow()
  })

  it('returns at most 100 faults and does not change the value', () => {
    const validate = compileValidator({ type: 'array', items: { type: 'string', default: 'x' } })
    const value = Array.from({ length: 500 }, () => 1)
    expect(validate(value)).toHaveLength(100)
    expect(new Set(value)).toEqual(new Set([1]))
  })
})
