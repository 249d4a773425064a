import { describe, expect, it } from '@jest/globals'
import { timingSafeEqual } from 'node:crypto'
import { covers, createAuthenticator, type TokenSettings } from '../../../src/master/auth/index.ts'

const TOKENS: TokenSettings = {
  admin: 'admin-token-of-the-test',
  worker: 'worker-token-of-the-test',
  workerPeers: ['worker-peer-of-the-test'],
  scopes: new Map([
    ['scoped-token-of-the-test', ['mailer', 'probe']],
    ['every-type-of-the-test', ['*']],
  ]),
}
const roleOf = (header: string | undefined): string => {
  const principal = createAuthenticator(TOKENS).authenticate(header)
  return typeof principal === 'string' ? principal : principal.role
}

describe('authenticate', () => {
  it.each([
    ['Bearer admin-token-of-the-test', 'admin'],
    ['bearer admin-token-of-the-test', 'admin'],
    ['Bearer worker-token-of-the-test', 'worker'],
    ['Bearer worker-peer-of-the-test', 'worker'],
    ['Bearer scoped-token-of-the-test', 'scoped'],
    ['Bearer every-type-of-the-test', 'scoped'],
  ])('recognises %s as %s', (header, role) => expect(roleOf(header)).toBe(role))

  it('tells a missing header from a malformed one', () => {
    expect(roleOf(undefined)).toBe('missing')
    for (const header of [
      '',
      'Bearer',
      'Bearer ',
      'Basic YWRtaW4=',
      'admin-token-of-the-test',
      'Bearer two words',
      'Bearer a\u0000b',
      'Bearer  admin-token-of-the-test',
    ]) {
      expect([header, roleOf(header)]).toEqual([header, 'malformed'])
    }
  })

  it('takes no token but a whole one', () => {
    for (const token of [
      'admin-token-of-the-tes',
      'admin-token-of-the-test2',
      'ADMIN-TOKEN-OF-THE-TEST',
      'dmin-token-of-the-test',
      'x'.repeat(8_192),
    ]) {
      expect([token, roleOf(`Bearer ${token}`)]).toEqual([token, 'wrong'])
    }
  })

  it('compares every candidate in constant time, whichever matches', () => {
    for (const token of ['admin-token-of-the-test', 'worker-token-of-the-test', 'every-type-of-the-test', 'nobody']) {
      let compared = 0
      const counting = createAuthenticator(TOKENS, (one, other) => {
        compared += 1
        return timingSafeEqual(one, other)
      })
      counting.identify(token)
      expect([token, compared]).toEqual([token, 5])
    }
  })

  it('names a token by its digest, never by itself', () => {
    const principal = createAuthenticator(TOKENS).authenticate('Bearer admin-token-of-the-test')
    expect(JSON.stringify(principal)).not.toContain('admin-token')
  })

  it('accepts nobody where no token is set', () => {
    const none = createAuthenticator({ admin: null, worker: null, workerPeers: [], scopes: new Map() })
    expect(none.authenticate('Bearer null')).toBe('wrong')
  })
})

describe('replace', () => {
  it('refuses the tokens before and takes the new ones, and tells who listens (D22)', () => {
    const authenticator = createAuthenticator(TOKENS)
    const before = authenticator.identify('worker-token-of-the-test')
    let told = 0
    const stop = authenticator.onChange(() => (told += 1))
    authenticator.replace({ ...TOKENS, worker: 'worker-token-that-is-new' })
    expect(authenticator.identify('worker-token-of-the-test')).toBe('wrong')
    expect(authenticator.identify('worker-token-that-is-new')).toMatchObject({ role: 'worker' })
    expect(before !== 'wrong' && authenticator.still(before)).toBe(false)
    stop()
    authenticator.replace(TOKENS)
    expect(told).toBe(1)
  })

  it('counts narrower scopes as another right', () => {
    const authenticator = createAuthenticator(TOKENS)
    const before = authenticator.identify('scoped-token-of-the-test')
    if (before === 'wrong') throw new Error('the token is not known')
    authenticator.replace({ ...TOKENS, scopes: new Map([['scoped-token-of-the-test', ['probe', 'mailer']]]) })
    expect(authenticator.still(before)).toBe(true)
    authenticator.replace({ ...TOKENS, scopes: new Map([['scoped-token-of-the-test', ['mailer']]]) })
    expect(authenticator.still(before)).toBe(false)
  })
})

describe('covers', () => {
  const scoped = (...types: string[]) => ({ role: 'scoped', types: new Set(types), key: 'k' }) as const

  it('compares types whole (S2)', () => {
    for (const [listed, asked] of [
      ['a', 'a-b'],
      ['a-b', 'a'],
      ['a', 'A'],
      ['a', 'a/'],
      ['a', ''],
      ['a', '%61'],
      ['a', '*'],
      ['a', '..'],
      ['a', 'a/b'],
    ] as const) {
      expect([listed, asked, covers(scoped(listed), asked)]).toEqual([listed, asked, false])
    }
    expect(covers(scoped('a', 'b'), 'b')).toBe(true)
  })

  it('lets admin and the scope * use every type, workers none (D61)', () => {
    expect(covers({ role: 'admin', key: 'k' }, 'a')).toBe(true)
    expect(covers(scoped('*'), 'a')).toBe(true)
    expect(covers({ role: 'worker', key: 'k' }, 'a')).toBe(false)
  })
})
