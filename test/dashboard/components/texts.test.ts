import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { JsonValue } from '../../../src/protocol/index.ts'
import { readN } from '../../../src/dashboard/components/item-count.ts'
import { agoText, durationText, leftText, spanText } from '../../../src/dashboard/components/age.ts'
import { cutText, parseJson, sameJson } from '../../../src/dashboard/components/json-text.ts'
import { countText, measureText, plural } from '../../../src/dashboard/components/numbers.ts'

describe('ages', () => {
  it('are shown in the most suitable unit', () => {
    const cases: readonly (readonly [number, string])[] = [
      [-5, 'now'],
      [0.9, 'now'],
      [1, '1 s'],
      [59.9, '59 s'],
      [60, '1 min'],
      [3_599, '59 min'],
      [3_600, '1 h'],
      [7_500, '2 h 5 min'],
      [172_799, '47 h 59 min'],
      [172_800, '2 d'],
    ]
    for (const [seconds, text] of cases) expect(spanText(seconds)).toBe(text)
  })

  it('are "just now" below one second', () => {
    expect(agoText(0)).toBe('just now')
    expect(agoText(5)).toBe('5 s ago')
  })

  it('are "just now" for durations below one second', () => {
    expect(durationText(0.4)).toBe('just now')
    expect(durationText(65)).toBe('for 1 min')
  })

  it('count down to a point in time and show when it has passed', () => {
    expect(leftText(90, 'over')).toBe('in 1 min')
    expect(leftText(0.4, 'over')).toBe('in 1 s')
    expect(leftText(0, 'over')).toBe('over')
  })
})

describe('numbers', () => {
  it('are grouped and rounded', () => {
    expect(countText(1_234_567)).toBe('1,234,567')
    expect(measureText(0.57)).toBe('0.6')
    expect(measureText(117.6)).toBe('118')
    expect(plural(1, 'entry', 'entries')).toBe('1 entry')
    expect(plural(2_000, 'entry', 'entries')).toBe('2,000 entries')
  })

  it('of items are whole and between 1 and 10,000 (D9)', () => {
    expect([' 7 ', '1', '10000'].map(readN)).toEqual([7, 1, 10_000])
    expect(['', '0', '-1', '1.5', '1e3', '10001', 'x'].map(readN)).toEqual([null, null, null, null, null, null, null])
  })
})

describe('JSON as text', () => {
  it('is compared by value, regardless of key order', () => {
    expect(sameJson({ a: [1, { b: null }], c: 'x' }, { c: 'x', a: [1, { b: null }] })).toBe(true)
    expect(sameJson({ a: 1 }, { a: 1, b: 2 })).toBe(false)
    expect(sameJson([], {})).toBe(false)
    expect(sameJson(null, undefined)).toBe(false)
    expect(sameJson({ toString: 1 }, { other: 1 })).toBe(false)
  })

  it('equals its copy; equality is symmetric', () => {
    const value = fc.jsonValue() as fc.Arbitrary<JsonValue>
    fc.assert(fc.property(value, (one) => sameJson(one, JSON.parse(JSON.stringify(one)) as JsonValue)))
    fc.assert(fc.property(value, value, (one, other) => !sameJson(one, other) || sameJson(other, one)))
  })

  it('is truncated at a whole character, with the number of omitted ones', () => {
    expect(cutText('abc', 3)).toBe('abc')
    expect(cutText('abcdef', 4)).toBe('abcd… (2 more characters)')
    expect(cutText('ab😀d', 3)).toBe('ab… (3 more characters)')
  })

  it('with a syntax error results in a message, not an exception', () => {
    expect(parseJson(' ')).toEqual({ kind: 'fault', fault: 'expected JSON, got nothing' })
    expect(parseJson('{"a":')).toEqual({ kind: 'fault', fault: expect.stringMatching(/^invalid JSON: /) })
    expect(parseJson('[1]')).toEqual({ kind: 'value', value: [1] })
  })
})
