import { describe, expect, it } from '@jest/globals'
import type { LookupAddress } from 'node:dns'
import { blockList, Blocked, Destinations, limitsOf, matchesHost, mayDial } from '../../src/automations/destinations.ts'

const NOTHING = blockList([])

describe('mayDial', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '198.17.255.255',
    '2606:4700:4700::1111',
    '2001:4860:4860::8888',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
  ])('allows the global unicast address %s', (address) => {
    expect(mayDial(address, NOTHING)).toBe(true)
  })

  it.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'fe80::1%eth0',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    '64:ff9b::10.0.0.1',
    'localhost',
    '',
    '1.2.3',
  ])('rejects %j without an exception', (address) => {
    expect(mayDial(address, NOTHING)).toBe(false)
  })

  it.each([
    ['10.1.2.3', '10.0.0.0/8'],
    ['127.0.0.1', '127.0.0.0/8'],
    ['::1', '::1/128'],
    ['fd12::1', 'fc00::/7'],
    ['::ffff:127.0.0.1', '127.0.0.0/8'],
    ['64:ff9b::a00:1', '10.0.0.0/8'],
  ])('allows %s with allow_cidrs %s', (address, cidr) => {
    expect(mayDial(address, blockList([cidr]))).toBe(true)
  })

  it.each([
    '169.254.169.254',
    '0.0.0.0',
    '224.0.0.1',
    '100.100.100.200',
    '168.63.129.16',
    '::',
    'fe80::1',
    'ff02::1',
    'fd00:ec2::254',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
  ])('never allows %s', (address) => {
    expect(mayDial(address, blockList(['0.0.0.0/0', '::/0']))).toBe(false)
  })
})

describe('Destinations', () => {
  const config = { allow_cidrs: ['127.0.0.0/8'], allow_ports: [80, 443, 8080] }
  const check = (url: string, more: object = {}): void => new Destinations({ ...config, ...more }).check(new URL(url))

  it.each([
    ['ftp://example.com/', /scheme "ftp:"/],
    ['file:///etc/passwd', /scheme/],
    ['http://user:secret@example.com/', /user or a password/],
    ['http://example.com:81/', /port 81 is not in allow_ports/],
    ['http://10.0.0.1/', /10\.0\.0\.1 is not a public address/],
    ['http://0x7f.1:81/', /port 81/],
    ['http://[::1]/', /::1 is not a public address/],
    ['http://[fe80::1]/', /not a public address/],
  ])('rejects %s with the reason', (url, reason) => {
    expect(() => check(url)).toThrow(Blocked)
    expect(() => check(url)).toThrow(reason)
  })

  it('checks unusual spellings of an address as the address they mean', () => {
    expect(() => check('http://0x7f.1/', { allow_cidrs: [] })).toThrow(/127\.0\.0\.1/)
    expect(() => check('http://2130706433/', { allow_cidrs: [] })).toThrow(/127\.0\.0\.1/)
    expect(() => check('http://0177.0.0.1/')).not.toThrow()
  })

  it('allows only allow_hosts, exact or as a suffix', () => {
    expect(() => check('http://api.example.com/', { allow_hosts: ['*.example.com'] })).not.toThrow()
    expect(() => check('http://example.com/', { allow_hosts: ['*.example.com'] })).toThrow(
      /example\.com is not in allow_hosts/,
    )
    expect(() => check('http://evilexample.com/', { allow_hosts: ['*.example.com'] })).toThrow(Blocked)
    expect(() => check('http://EXAMPLE.com./', { allow_hosts: ['example.com'] })).not.toThrow()
    expect(matchesHost(new URL('http://a.b.example.com'), ['*.Example.com'])).toBe(true)
  })

  it.each([
    ['https://api.test/', ['https://api.test'], true],
    ['http://api.test/', ['https://api.test'], false],
    ['https://api.test:8443/', ['https://api.test'], false],
    ['https://api.test:8443/', ['https://api.test:8443'], true],
    ['http://api.test:8443/', ['api.test:8443'], true],
    ['http://api.test/', ['api.test:8443'], false],
    ['http://api.test:81/', ['api.test'], true],
    ['https://a.api.test/', ['https://*.api.test'], true],
    ['http://[fd00::5]:81/', ['fd00::5'], true],
    ['http://[fd00::5]:81/', ['[fd00::5]:81'], true],
    ['http://[fd00::5]/', ['[fd00::5]:81'], false],
    ['http://api.test/', ['a:b:c', 'ftp://api.test'], false],
  ])('%s and the patterns %j: scheme and port count where a pattern names them', (url, patterns, expected) => {
    expect(matchesHost(new URL(url), patterns)).toBe(expected)
  })

  it('reads a plain name as https on port 443 where a secret is sent', () => {
    const sentTo = (url: string, ...patterns: string[]) => matchesHost(new URL(url), patterns, true)
    expect([
      sentTo('https://api.test/', 'api.test'),
      sentTo('http://api.test/', 'api.test'),
      sentTo('https://api.test:8443/', 'api.test'),
    ]).toEqual([true, false, false])
    expect([
      sentTo('http://api.test/', 'http://api.test'),
      sentTo('https://api.test:8443/', 'api.test:8443'),
      sentTo('http://api.test:8443/', 'api.test:8443'),
    ]).toEqual([true, true, false])
  })

  const resolving = (...addresses: string[]) => {
    const answer: LookupAddress[] = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    const resolve = ((_host: string, _options: object, callback: (error: null, found: LookupAddress[]) => void) =>
      callback(null, answer)) as never
    return new Destinations(config, undefined, resolve)
  }
  const lookup = (destinations: Destinations): Promise<unknown> =>
    new Promise((resolve, reject) =>
      destinations.lookup('name.test', { all: true }, (error, found) =>
        error === null ? resolve(found) : reject(error),
      ),
    )

  it('rejects a name if one of its addresses is blocked', async () => {
    await expect(lookup(resolving('8.8.8.8', '10.0.0.1'))).rejects.toThrow(
      /name\.test \(10\.0\.0\.1\) is not a public address/,
    )
    await expect(lookup(resolving('8.8.8.8', '127.0.0.1'))).resolves.toHaveLength(2)
  })

  it('allows no more than the environment of the worker, whatever the config contains (D90)', async () => {
    const limits = limitsOf({
      SVC_ALLOW_CIDRS: '10.1.0.0/16, fd01::/16',
      SVC_ALLOW_HOSTS: '*.test, 10.1.2.3, 10.2.3.4',
    })
    const open = { allow_cidrs: ['0.0.0.0/0', '::/0'], allow_ports: [80] }
    const limited = new Destinations(open, limits)
    expect(() => limited.check(new URL('http://10.1.2.3/'))).not.toThrow()
    expect(() => limited.check(new URL('http://10.2.3.4/'))).toThrow(
      '10.2.3.4 is not a public address and not in SVC_ALLOW_CIDRS of this worker',
    )
    expect(() => limited.check(new URL('http://example.com/'))).toThrow(
      'http://example.com is not in SVC_ALLOW_HOSTS of this worker',
    )
    const answering = (address: string) =>
      new Destinations(open, limits, ((
        _host: string,
        _options: object,
        callback: (error: null, found: LookupAddress[]) => void,
      ) => callback(null, [{ address, family: address.includes(':') ? 6 : 4 }])) as never)
    await expect(lookup(answering('10.1.2.3'))).resolves.toHaveLength(1)
    await expect(lookup(answering('8.8.8.8'))).resolves.toHaveLength(1)
    for (const address of ['10.2.3.4', '127.0.0.1', '::ffff:10.2.3.4', 'fd02::1'])
      await expect(lookup(answering(address))).rejects.toThrow(/SVC_ALLOW_CIDRS/)
    const none = new Destinations(open, limitsOf({ SVC_ALLOW_CIDRS: 'none' }))
    expect(() => none.check(new URL('http://10.1.2.3/'))).toThrow(/SVC_ALLOW_CIDRS/)
    expect(() => new Destinations(open, limitsOf({})).check(new URL('http://10.1.2.3/'))).not.toThrow()
    expect(() => limitsOf({ SVC_ALLOW_CIDRS: '10.0.0.0' })).toThrow('"10.0.0.0" is not a CIDR')
  })

  it.each([
    '169.254.169.254',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fd00:42::42',
    '::ffff:192.0.0.192',
  ])('never connects to %s, where cloud providers serve credentials', (address) => {
    expect(mayDial(address, blockList(['0.0.0.0/0', '::/0']))).toBe(false)
  })

  it('names an invalid entry of allow_cidrs', () => {
    expect(() => new Destinations({ allow_cidrs: ['10.0.0.0/8', '10.0.0.0/33'], allow_ports: [] })).toThrow(
      '"10.0.0.0/33" is not a CIDR; for example 10.0.0.0/8',
    )
  })
})
