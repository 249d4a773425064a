import { describe, expect, it } from '@jest/globals'
import { slotOf } from '../../../src/storage/redis/slots.ts'
import { describeUrl, parseStoreUrl } from '../../../src/storage/redis/url.ts'

const SINGLE = {
  form: 'single',
  hosts: [{ host: 'h', port: 6379 }],
  masterName: '',
  tls: false,
  user: null,
  password: null,
  database: 0,
  prefix: 'muster',
}

describe('parseStoreUrl', () => {
  it.each<[string, object]>([
    ['kvstore://h', SINGLE],
    ['redis://h/', SINGLE],
    ['kvstores://h:1', { ...SINGLE, tls: true, hosts: [{ host: 'h', port: 1 }] }],
    ['rediss://[::1]:1/3', { ...SINGLE, tls: true, hosts: [{ host: '::1', port: 1 }], database: 3 }],
    [
      'kvstore://fleet:p%40ss%2Fword@h/2?prefix=team-a',
      { ...SINGLE, user: 'fleet', password: 'p@ss/word', database: 2, prefix: 'team-a' },
    ],
    ['kvstore://:secret@h', { ...SINGLE, password: 'secret' }],
    [
      'kvstore+cluster://a:1,b',
      {
        ...SINGLE,
        form: 'cluster',
        hosts: [
          { host: 'a', port: 1 },
          { host: 'b', port: 6379 },
        ],
      },
    ],
    [
      'kvstore+sentinel://a,b:2/main',
      {
        ...SINGLE,
        form: 'sentinel',
        hosts: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: 2 },
        ],
        masterName: 'main',
      },
    ],
    ['kvstores+cluster://a', { ...SINGLE, form: 'cluster', tls: true, hosts: [{ host: 'a', port: 6379 }] }],
  ])('parses %s (D2)', (url, expected) => {
    expect(parseStoreUrl(url)).toEqual(expected)
  })

  it.each<[string, RegExp]>([
    ['kvstore://', /not host:port/],
    ['kvstore://h:0', /not host:port/],
    ['kvstore://h:70000', /not host:port/],
    ['kvstore://a,b', /kvstore\+cluster/],
    ['kvstore://h/x', /number of a database/],
    ['kvstore+cluster://h/1', /one database/],
    ['kvstore+sentinel://h', /name under which the sentinels monitor/],
    ['kvstore://h?db=1', /"db" is not a known parameter/],
    ['kvstore://h?prefix={', /prefix must be/],
    ['kvstore://u:%zz@h', /not an escape/],
    ['http://h', /not the URL of a Redis/],
    ['x', /not the URL of a Redis/],
  ])('rejects %s and explains the fix (D2, D34)', (url, problem) => {
    expect(() => parseStoreUrl(url)).toThrow(problem)
  })

  it.each([
    'kvstore://u:hunter2/@h',
    'kvstore://u:hunter2@h:x',
    'kvstore://u:hunter2%zz@h',
    'kvstore://u:hunter2@h/x',
    'kvstore://u:hunter2@h?x=1',
  ])('never shows a password: %s (D34)', (url) => {
    const reported = (): string => {
      try {
        return describeUrl(parseStoreUrl(url))
      } catch (error) {
        return String(error)
      }
    }
    expect(reported()).not.toContain('hunter2')
  })

  it('is described without user and password', () => {
    for (const url of ['kvstore://u:p@h:1/3', 'kvstores+cluster://u:p@[::1]:1,b:2', 'kvstore+sentinel://u:p@h:1/main'])
      expect(describeUrl(parseStoreUrl(url))).toBe(url.replace('u:p@', ''))
  })
})

describe('slotOf', () => {
  it('returns the slot that the Redis Cluster specification defines', () => {
    expect([
      slotOf('123456789'),
      slotOf('foo'),
      slotOf('{user1000}.following'),
      slotOf('foo{}{bar}'),
      slotOf('foo{{bar}}zap'),
    ]).toEqual([12_739, 12_182, slotOf('user1000'), slotOf('foo{}{bar}'), slotOf('{bar')])
    expect(slotOf('foo{bar}{zap}')).toBe(slotOf('bar'))
  })
})
