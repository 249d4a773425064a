import { describe, expect, it } from '@jest/globals'
import { errorGroup, errorPattern } from '../../src/storage/index.ts'

const CASES: readonly (readonly [error: string, pattern: string])[] = [
  ['bad magic 0x2a23 at byte 3833', 'bad magic <hex> at byte <n>'],
  ['getaddrinfo ENOTFOUND images-old.invalid', 'getaddrinfo ENOTFOUND <host>'],
  ['getaddrinfo ENOTFOUND images', 'getaddrinfo ENOTFOUND <host>'],
  ['connect ECONNREFUSED 127.0.0.1:8080', 'connect ECONNREFUSED <host>'],
  ['db-7.prod.svc:5432 reset', '<host> reset'],
  ['::1 refused', '<host> refused'],
  ['HTTP 404 for https://a.b/c?x=1', 'HTTP 404 for <url>'],
  ['HTTP/1.1 503: down since 503 s', 'HTTP/<n> 503: down since <n> s'],
  ['Request failed with status code 502', 'Request failed with status code 502'],
  [`can't open '/tmp/x' and don't`, `can't open <text> and don't`],
  ['open /var/lib/x/1.txt failed', 'open <path> failed'],
  ['task 9b2c1f00-0000-4000-8000-123456789abc timed out', 'task <uuid> timed out'],
  ['key sess_8a7d6f5e4c3b2a1908 and deadbeef01', 'key <id> and <hex>'],
  ['at 2026-01-01T10:00:00.123Z after 30,000 ms', 'at <time> after <n> ms'],
  ['no user bob@example.com', 'no user <email>'],
  ['java.lang.NullPointerException', 'java.lang.NullPointerException'],
  ['Error: boom 1\n    at foo (/a/b.ts:1:2)\n    at bar', 'Error: boom <n>'],
  ['a\u200b  b\n\tc', 'a b c'],
  ['', 'no error text'],
]

describe('the pattern of an error', () => {
  it.each(CASES)('of %j is %j (D157)', (error, pattern) => {
    expect(errorPattern(error)).toBe(pattern)
    expect(errorGroup(error)).toBe(errorGroup(pattern === 'no error text' ? '' : error))
    expect(errorGroup(error)).toMatch(/^[\da-f]{16}$/)
  })

  it('depends on the first 1,024 characters alone, and has at most 256', () => {
    const long = 'word '.repeat(400)
    expect(errorPattern(long)).toHaveLength(256)
    expect(errorGroup(`${long}1`)).toBe(errorGroup(`${long}other`))
    expect(errorPattern('😀'.repeat(600)).isWellFormed()).toBe(true)
    expect(errorPattern(`${'x'.repeat(255)}😀`).isWellFormed()).toBe(true)
  })

  it('is the same for errors that differ in their variable parts alone', () => {
    expect(errorGroup('job 17 of img-04: HTTP 503')).toBe(errorGroup('job 9 of img-7: HTTP 503'))
    expect(errorGroup('job 17 of img-04: HTTP 503')).not.toBe(errorGroup('job 17 of img-04: HTTP 404'))
  })

  it('costs time in proportion to the text, whatever the text is', () => {
    for (const part of ['a', '1', 'a.', "'", '"', '/a', 'a@', '0x', ':', 'a1_', 'http://', 'a-', '[', '\u{e000}']) {
      const begin = performance.now()
      for (let i = 0; i < 20; i += 1) errorGroup(part.repeat(100_000))
      expect([part, (performance.now() - begin) / 20 < 50]).toEqual([part, true])
    }
  })
})
