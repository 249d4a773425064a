import { describe, expect, it } from '@jest/globals'
import { changedIntegers, infiniteNumber, withSourceNumbers } from '../../src/protocol/index.ts'

const exactOf = (text: string): unknown => withSourceNumbers(text, JSON.parse(text))

describe('numbers as they were sent', () => {
  it.each([
    ['an integer above 2^53', '{"id":9007199254740993}'],
    ['the bounds of 64-bit integers', '[9223372036854775807,-9223372036854775808,18446744073709551615]'],
    ['a double that is written with another last digit', '{"id":1152921504606846976}'],
    ['more digits than a double has', '{"price":[0.1234567890123456789,-12345.678901234567890123]}'],
    ['a number below the smallest double', '{"p":1e-400}'],
    ['a number beyond the largest double', '{"p":1e400}'],
    ['a bare number', '9007199254740993'],
    [
      'a number in depth, beside strings that look like one',
      '{"a":[{"9007199254740993":"9007199254740993","b":[[9007199254740993]]}]}',
    ],
  ])('are kept: %s', (_, text) => {
    expect(JSON.stringify(exactOf(text))).toBe(text)
  })

  it.each([
    '{"a":[1,1.5,-0.25,1e5,1.0,0.30000000000000004,1767225600.2534153,9007199254740992,1e300,"1e400"]}',
    '{"a":1152921504606847000,"b":1e+23}',
    '[]',
    '7',
    '"x"',
  ])('need no second parse if a double represents them all: %s', (text) => {
    const value: unknown = JSON.parse(text)
    expect(withSourceNumbers(text, value)).toBe(value)
  })

  it('use the last of duplicate keys, and treat __proto__ as data, as JSON.parse does', () => {
    expect(JSON.stringify(exactOf('{"__proto__":{"a":9007199254740993},"a":1,"a":9007199254740995}'))).toBe(
      '{"__proto__":{"a":9007199254740993},"a":9007199254740995}',
    )
  })

  it('take linear time for any number of digits', () => {
    const text = `[9007199254740993.${'0'.repeat(900_000)}1]`
    expect(JSON.stringify(exactOf(text))).toBe(text)
  })
})

describe('integers that would change', () => {
  it('are listed in order, with their pointers', () => {
    const faults = changedIntegers(
      exactOf(
        '{"a":9007199254740993,"b":{"c/d":[1,-9007199254740993]},"e":0.1234567890123456789,"f":9007199254740994}',
      ),
    )
    expect(faults.map(({ path, keyword }) => [path, keyword])).toEqual([
      ['/a', 'exact'],
      ['/b/c~1d/1', 'exact'],
    ])
    expect(faults[0]?.message).toBe(
      'cannot be kept exactly: the nearest number is 9007199254740992; send it as a string',
    )
  })

  it('are not listed below a pointer that is kept', () => {
    expect(changedIntegers(exactOf('{"a":[9007199254740993]}'), (pointer) => pointer.startsWith('/a/'))).toEqual([])
  })
})

describe('an infinite number', () => {
  it('is found at its pointer, and differs from a number with many digits', () => {
    expect(infiniteNumber(exactOf('{"a":[9007199254740993,{"b":-1e400}]}'))).toBe('/a/1/b')
    expect(infiniteNumber(exactOf('{"a":9007199254740993}'))).toBeUndefined()
    expect(infiniteNumber(exactOf(`{"a":1${'0'.repeat(400)}}`))).toBe('/a')
  })
})
