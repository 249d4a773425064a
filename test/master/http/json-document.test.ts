import { describe, expect, it } from '@jest/globals'
import { checkDocument, parseJson } from '../../../src/master/http/json-document.ts'
import { FleetError } from '../../../src/protocol/index.ts'

function faultOf(text: string): { path: string; keyword: string } | null {
  try {
    checkDocument(parseJson(text))
    return null
  } catch (error) {
    if (!(error instanceof FleetError) || typeof error.detail === 'string') throw error
    const [fault] = error.detail
    return { path: fault?.path ?? '', keyword: fault?.keyword ?? '' }
  }
}
const nested = (depth: number): string => '{"a":'.repeat(depth - 1) + '{}' + '}'.repeat(depth - 1)

describe('parseJson', () => {
  it('rejects text that is not JSON without quoting it', () => {
    for (const text of ['', '{', '{"password": secret}', "{'a': 1}", '\ufeff{}', '{"a": NaN}', '{"a": 01}']) {
      expect(() => parseJson(text)).toThrow(new FleetError('BAD_REQUEST', 'the body is not JSON'))
    }
  })

  it('uses the last of duplicate keys', () => expect(parseJson('{"a": 1, "a": 2}')).toEqual({ a: 2 }))

  it('keeps __proto__ as a key of its own and changes no prototype (S7)', () => {
    const document = parseJson('{"__proto__": {"polluted": true}, "constructor": 1}') as object
    checkDocument(document)
    expect(Object.keys(document)).toEqual(['__proto__', 'constructor'])
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})

describe('checkDocument', () => {
  it('counts every value', () => {
    expect(checkDocument(parseJson('{"a": [1, 2, {"b": null}], "c": "x"}'))).toBe(7)
    expect(checkDocument(5)).toBe(1)
  })

  it('accepts 64 levels and points at the 65th (S6)', () => {
    expect(faultOf(nested(64))).toBeNull()
    expect(faultOf(nested(65))).toEqual({ path: '/a'.repeat(64), keyword: 'maxDepth' })
  })

  it.each([1_000, 100_000, 500_000])('checks %i levels without recursion (S6)', (depth) => {
    expect(faultOf(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`)?.keyword).toBe('maxDepth')
  })

  it('accepts 10,000 keys per object and points at an object with more (S6)', () => {
    const keys = (count: number): string =>
      `{"deep": [0, {${Array.from({ length: count }, (_, index) => `"${index}":0`).join()}}]}`
    expect(faultOf(keys(10_000))).toBeNull()
    expect(faultOf(keys(10_001))).toEqual({ path: '/deep/1', keyword: 'maxProperties' })
  })

  it('accepts 100,000 values (S6)', () => {
    const list = (count: number): string => `{"a":[${'0,'.repeat(count - 1)}0]}`
    expect(faultOf(list(99_998))).toBeNull()
    expect(faultOf(list(99_999))).toEqual({ path: '', keyword: 'maxValues' })
  })

  it('points at a number that became infinite, with the key escaped (S6)', () => {
    expect(faultOf('{"a/b~c": [1, 1e400]}')).toEqual({ path: '/a~1b~0c/1', keyword: 'finite' })
    expect(faultOf('-1e400')).toEqual({ path: '', keyword: 'finite' })
  })
})
