/** Tests the version of a config as it stands in ETag, If-Match and If-None-Match (D15). */
import { describe, expect, it } from '@jest/globals'
import { etagOf, marksInclude, parseMarks } from '../../../src/master/registry/etag.ts'

describe('the version of a config', () => {
  it('is a quoted tag of epoch and generation, which is read back', () => {
    const mark = { epoch: 'e7.2', gen: 41 }
    expect(etagOf(mark)).toBe('"e7.2.41"')
    expect(parseMarks(etagOf(mark))).toEqual([mark])
  })

  it('may be any, or one of a list, also with the weak prefix of a proxy', () => {
    expect(parseMarks(' * ')).toBe('*')
    expect(parseMarks('"e.1", W/"e.2","f.3"')).toEqual([
      { epoch: 'e', gen: 1 },
      { epoch: 'e', gen: 2 },
      { epoch: 'f', gen: 3 },
    ])
  })

  it.each([
    'e.1',
    '""',
    '"e"',
    '"e."',
    '".1"',
    '"e.-1"',
    '"e.1x"',
    '"e.1 "',
    '"e. 1"',
    `"e.${'1'.repeat(17)}"`,
    '"e.9007199254740992"',
  ])('is none in %j', (header) => {
    expect(parseMarks(header)).toEqual([])
  })

  it('may be as large as a number is exact', () => {
    expect(parseMarks('"e.9007199254740991"')).toEqual([{ epoch: 'e', gen: Number.MAX_SAFE_INTEGER }])
  })

  it('matches only with equal epoch and generation', () => {
    const marks = parseMarks('"e.1", "f.2"')
    const matches = (epoch: string, gen: number): boolean => marksInclude(marks, { epoch, gen })
    expect([matches('e', 1), matches('f', 2)]).toEqual([true, true])
    expect([matches('e', 2), matches('f', 1), matches('g', 1)]).toEqual([false, false, false])
    expect(marksInclude('*', { epoch: 'g', gen: 9 })).toBe(true)
    expect(marksInclude([], { epoch: 'g', gen: 9 })).toBe(false)
  })
})
