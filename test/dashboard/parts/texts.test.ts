import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { JsonValue } from '../../../src/protocol/index.ts'
import { readN } from '../../../src/dashboard/parts/act-size.ts'
import { agoText, lastingText, leftText, spanText } from '../../../src/dashboard/parts/age.ts'
import { cutText, parseJson, sameJson } from '../../../src/dashboard/parts/json-text.ts'
import { countText, measureText, plural } from '../../../src/dashboard/parts/numbers.ts'

describe('ages', () => {
  it('are written in the unit a person would use', () => {
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

  it('say "now" without "ago"', () => {
    expect(agoText(0)).toBe('now')
    expect(agoText(5)).toBe('5 s ago')
  })

  it('say of what began just now that it did', () => {
    expect(lastingText(0.4)).toBe('just now')
    expect(lastingText(65)).toBe('for 1 min')
  })

  it('count down to a point in time and say when it has passed', () => {
    expect(leftText(90, 'over')).toBe('in 1 min')
    expect(leftText(0.4, 'over')).toBe('in 1 s')
    expect(leftText(0, 'over')).toBe('over')
  })
})

describe('numbers', () => {
  it('are grouped, and as fine as they are useful', () => {
    expect(countText(1_234_567)).toBe('1,234,567')
    expect(measureText(0.57)).toBe('0.6')
    expect(measureText(117.6)).toBe('118')
    expect(plural(1, 'entry', 'entries')).toBe('1 entry')
    expect(plural(2_000, 'entry', 'entries')).toBe('2,000 entries')
  })

  it('of an act are whole and between 1 and 10,000 (D9)', () => {
    expect([' 7 ', '1', '10000'].map(readN)).toEqual([7, 1, 10_000])
    expect(['', '0', '-1', '1.5', '1e3', '10001', 'x'].map(readN)).toEqual([null, null, null, null, null, null, null])
  })
})

describe('JSON as text', () => {
  it('is compared by value, whatever the order of keys', () => {
    expect(sameJson({ a: [1, { b: null }], c: 'x' }, { c: 'x', a: [1, { b: null }] })).toBe(true)
    expect(sameJson({ a: 1 }, { a: 1, b: 2 })).toBe(false)
    expect(sameJson([], {})).toBe(false)
    expect(sameJson(null, undefined)).toBe(false)
    expect(sameJson({ toString: 1 }, { other: 1 })).toBe(false)
  })

  it('equals its copy, and nothing that is written differently', () => {
    const value = fc.jsonValue() as fc.Arbitrary<JsonValue>
    fc.assert(fc.property(value, (one) => sameJson(one, JSON.parse(JSON.stringify(one)) as JsonValue)))
    fc.assert(fc.property(value, value, (one, other) => !sameJson(one, other) || sameJson(other, one)))
  })

  it('is cut at a whole character, with the rest counted', () => {
    expect(cutText('abc', 3)).toBe('abc')
    expect(cutText('abcdef', 4)).toBe('abcd… (2 more characters)')
    expect(cutText('ab😀d', 3)).toBe('ab… (3 more characters)')
  })

  it('that cannot be read is a sentence, not an exception', () => {
    expect(parseJson(' ')).toEqual({ fault: 'expected JSON, got nothing' })
    expect(parseJson('{"a":')).toEqual({ fault: expect.stringMatching(/^invalid JSON: /) })
    expect(parseJson('[1]')).toEqual({ value: [1] })
  })
})
