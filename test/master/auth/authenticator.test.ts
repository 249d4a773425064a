import { describe, expect, it } from '@jest/globals'
import { createHash, timingSafeEqual } from 'node:crypto'
import {
  covers,
  createAuthenticator,
  mayAccess,
  mayAccessPattern,
  parseTokens,
  permissionsOf,
  requirePermission,
  type Authentication,
  type Principal,
  type TokenSettings,
} from '../../../src/master/auth/index.ts'
import { SCOPED_PERMISSIONS, type Permission } from '../../../src/protocol/index.ts'
import { VirtualTime } from '../../../src/runtime/index.ts'

const TOKENS: TokenSettings = {
  admin: 'admin-token-of-the-test',
  worker: 'worker-token-of-the-test',
  workerPeers: ['worker-peer-of-the-test'],
  scopes: new Map([
    ['scoped-token-of-the-test', ['mailer', 'probe']],
    ['every-type-of-the-test', ['*']],
  ]),
}
const clock = new VirtualTime()
const authenticatorOf = (tokens: TokenSettings, equal = timingSafeEqual) =>
  createAuthenticator(tokens, { clock, equal })
const roleIn = (authentication: Authentication): string => {
  if (authentication.kind === 'unverified') return 'unverified'
  return authentication.kind === 'rejected' ? authentication.reason : authentication.principal.role
}
const roleOf = (header: string | undefined): string => {
  const authentication = authenticatorOf(TOKENS).authenticate(header)
  return roleIn(authentication)
}

describe('authenticate', () => {
  it.each([
    ['Bearer admin-token-of-the-test', 'admin'],
    ['bearer admin-token-of-the-test', 'admin'],
    ['Bearer worker-token-of-the-test', 'worker'],
    ['Bearer worker-peer-of-the-test', 'worker'],
    ['Bearer scoped-token-of-the-test', 'scoped'],
    ['Bearer every-type-of-the-test', 'scoped'],
    ['Bearer  admin-token-of-the-test', 'admin'], // RFC 9110 section 11.4 allows several spaces.
  ])('recognises %s as %s', (header, role) => expect(roleOf(header)).toBe(role))

  it('distinguishes a missing header from a malformed one', () => {
    expect(roleOf(undefined)).toBe('missing')
    for (const header of [
      '',
      'Bearer',
      'Bearer ',
      'Basic YWRtaW4=',
      'admin-token-of-the-test',
      'Xbearer admin-token-of-the-test',
      'Bearer two words',
      'Bearer a\u0000b',
    ]) {
      expect([header, roleOf(header)]).toEqual([header, 'malformed'])
    }
  })

  it('accepts only a complete token', () => {
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

  it('compares every candidate in constant time, whichever token matches', () => {
    for (const token of ['admin-token-of-the-test', 'worker-token-of-the-test', 'every-type-of-the-test', 'unknown']) {
      let compared = 0
      const counting = authenticatorOf(TOKENS, (one, other) => {
        compared += 1
        return timingSafeEqual(one, other)
      })
      counting.identify(token)
      expect([token, compared]).toEqual([token, 5])
    }
  })

  it('identifies a token by its digest and does not contain the token', () => {
    const principal = authenticatorOf(TOKENS).authenticate('Bearer admin-token-of-the-test')
    expect(JSON.stringify(principal)).not.toContain('admin-token')
  })

  it('rejects every token when none is configured', () => {
    const none = authenticatorOf({ admin: null, worker: null, workerPeers: [], scopes: new Map() })
    expect(none.authenticate('Bearer null')).toEqual({ kind: 'rejected', reason: 'wrong' })
  })
})

describe('replace', () => {
  it('rejects the previous tokens, accepts the new ones and notifies listeners (D22)', () => {
    const authenticator = authenticatorOf(TOKENS)
    const before = authenticator.identify('worker-token-of-the-test')
    let changes = 0
    const stop = authenticator.onChange(() => (changes += 1))
    authenticator.replace({ ...TOKENS, worker: 'worker-token-that-is-new' })
    expect(authenticator.identify('worker-token-of-the-test')).toBeUndefined()
    expect(authenticator.identify('worker-token-that-is-new')).toMatchObject({ role: 'worker' })
    expect(before !== undefined && authenticator.isStillValid(before)).toBe(false)
    stop()
    authenticator.replace(TOKENS)
    expect(changes).toBe(1)
  })

  it('rejects a header that was accepted before', () => {
    const authenticator = authenticatorOf(TOKENS)
    const header = 'Bearer worker-token-of-the-test'
    for (let i = 0; i < 2; i += 1) expect(authenticator.authenticate(header)).toMatchObject({ kind: 'authenticated' })
    authenticator.replace({ ...TOKENS, worker: 'worker-token-that-is-new' })
    expect(authenticator.authenticate(header)).toEqual({ kind: 'rejected', reason: 'wrong' })
  })

  it('keeps the principals of tokens that stay', () => {
    const authenticator = authenticatorOf(TOKENS)
    for (const token of ['admin-token-of-the-test', 'worker-peer-of-the-test', 'every-type-of-the-test']) {
      const before = authenticator.identify(token)
      authenticator.replace({ ...TOKENS, worker: `worker-token-beside-${token}` })
      expect([token, before !== undefined && authenticator.isStillValid(before)]).toEqual([token, true])
    }
  })

  it('invalidates a principal whose token covers fewer or other types', () => {
    const authenticator = authenticatorOf(TOKENS)
    const before = authenticator.identify('scoped-token-of-the-test')
    if (before === undefined) throw new Error('the token is not known')
    authenticator.replace({ ...TOKENS, scopes: new Map([['scoped-token-of-the-test', ['probe', 'mailer']]]) })
    expect(authenticator.isStillValid(before)).toBe(true)
    authenticator.replace({ ...TOKENS, scopes: new Map([['scoped-token-of-the-test', ['mailer']]]) })
    expect(authenticator.isStillValid(before)).toBe(false)
    authenticator.replace({ ...TOKENS, scopes: new Map([['scoped-token-of-the-test', ['mailer', 'other']]]) })
    expect(authenticator.isStillValid(before)).toBe(false)
  })
})

describe('covers', () => {
  const scoped = (...types: string[]): Principal => ({
    role: 'scoped',
    grants: [{ types: new Set(types), permissions: new Set<Permission>(SCOPED_PERMISSIONS), workers: ['*'] }],
    key: 'k',
    id: 'k',
  })

  it('compares whole type names (S2)', () => {
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

  it('allows every type to admin and to the scope *, and no type to workers (D61)', () => {
    expect(covers({ role: 'admin', key: 'k', id: 'k' }, 'a')).toBe(true)
    expect(covers(scoped('*'), 'a')).toBe(true)
    expect(covers({ role: 'worker', key: 'k', id: 'k' }, 'a')).toBe(false)
  })
})

describe('tokens of SVC_TOKENS (D86)', () => {
  const SECRET = 'indexer-token-of-the-test'
  const named = (entry: object): TokenSettings => {
    const reading = parseTokens({ SVC_TOKENS: JSON.stringify([{ name: 'indexer', types: ['mailer'], ...entry }]) })
    if (reading.kind === 'invalid') throw new Error(JSON.stringify(reading.faults))
    return reading.tokens
  }
  const principalOf = (entry: object) => {
    const principal = authenticatorOf(named(entry)).identify(SECRET)
    if (principal === undefined) throw new Error('the token is not known')
    return principal
  }
  const SHA256 = createHash('sha256').update(SECRET).digest('hex')

  it('are recognised by the token or its SHA-256, and are identified by their name', () => {
    for (const secret of [{ token: SECRET }, { sha256: SHA256 }, { sha256: SHA256.toUpperCase() }]) {
      expect(principalOf({ role: 'viewer', ...secret })).toMatchObject({
        role: 'scoped',
        id: 'indexer',
        name: 'indexer',
      })
    }
    expect(authenticatorOf(named({ role: 'viewer', sha256: SHA256 })).identify(SHA256)).toBeUndefined()
  })

  it('have the permissions of their role, or the listed permissions', () => {
    expect(permissionsOf(principalOf({ role: 'responder', token: SECRET }))).toEqual(['read', 'operate'])
    expect(permissionsOf(principalOf({ permissions: ['purge', 'consume'], token: SECRET }))).toEqual([
      'consume',
      'purge',
    ])
    expect(() => requirePermission(principalOf({ role: 'producer', token: SECRET }), 'configure', 'mailer')).toThrow(
      'this token does not have the permission "configure"',
    )
    expect(() => requirePermission(principalOf({ role: 'producer', token: SECRET }), 'submit', 'probe')).toThrow(
      'this token does not cover the automation type "probe"',
    )
  })

  it('lose their connections when another token has their rights', () => {
    const authenticator = authenticatorOf(named({ role: 'editor', token: SECRET }))
    const before = authenticator.identify(SECRET)
    authenticator.replace(named({ role: 'editor', token: 'another-token-of-the-test' }))
    expect(before !== undefined && authenticator.isStillValid(before)).toBe(false)
    authenticator.replace({ ...TOKENS, admin: SECRET })
    expect(before !== undefined && authenticator.isStillValid(before)).toBe(false)
    expect(authenticator.identify(SECRET)).toMatchObject({ role: 'admin' })
  })

  it('lose their connections when their permissions change', () => {
    const authenticator = authenticatorOf(named({ role: 'editor', token: SECRET }))
    const before = authenticator.identify(SECRET)
    if (before === undefined) throw new Error('the token is not known')
    authenticator.replace(named({ role: 'editor', sha256: SHA256 }))
    expect(authenticator.isStillValid(before)).toBe(true)
    authenticator.replace(named({ role: 'viewer', token: SECRET }))
    expect(authenticator.isStillValid(before)).toBe(false)
  })

  it('expire: the reason says when, and listeners are notified within a second (D228)', async () => {
    const time = new VirtualTime(Date.parse('2026-11-30T12:00:00Z'))
    const authenticator = createAuthenticator(
      named({ role: 'viewer', token: SECRET, expires: '2026-11-30T12:00:05Z' }),
      {
        clock: time,
      },
    )
    let changes = 0
    authenticator.onChange(() => (changes += 1))
    const stop = authenticator.start(time)
    await time.advance(4_999)
    expect(authenticator.authenticate(`Bearer ${SECRET}`)).toMatchObject({ kind: 'authenticated' })
    const before = authenticator.identify(SECRET)
    expect(before).toMatchObject({ expiresAtMs: Date.parse('2026-11-30T12:00:05Z') })
    expect(changes).toBe(0)
    await time.advance(1_001)
    expect(changes).toBe(1)
    for (const authentication of [authenticator.authenticate(`Bearer ${SECRET}`), authenticator.check(SECRET)])
      expect(authentication).toEqual({
        kind: 'rejected',
        reason: 'expired',
        detail: 'this token expired at 2026-11-30T12:00:05Z; use a new one',
      })
    expect(authenticator.identify(SECRET)).toBeUndefined()
    expect(before !== undefined && authenticator.isStillValid(before)).toBe(false)
    await time.advance(60_000)
    expect(changes).toBe(1)
    stop()
  })

  it('lose their connections when their workers, expiry or rate change', () => {
    const entry = { role: 'viewer', token: SECRET, workers: ['a-*', 'b'], expires: '2999-01-01', submit_rps: 5 }
    const authenticator = authenticatorOf(named(entry))
    const before = authenticator.identify(SECRET)
    if (before === undefined) throw new Error('the token is not known')
    authenticator.replace(named({ ...entry, workers: ['b', 'a-*'] }))
    expect(authenticator.isStillValid(before)).toBe(true)
    for (const change of [{ workers: ['a-*'] }, { expires: '2999-01-02' }, { submit_rps: 6 }]) {
      authenticator.replace(named({ ...entry, ...change }))
      expect([change, authenticator.isStillValid(before)]).toEqual([change, false])
    }
  })

  it('are limited to their workers, of which a * at the end matches the rest (D227)', () => {
    const principal = principalOf({ role: 'editor', token: SECRET, workers: ['team-a-*', 'm-7'] })
    for (const [worker, isCovered] of [
      ['team-a-1', true],
      ['team-a-', true],
      ['m-7', true],
      ['m-70', false],
      ['team-a', false],
      ['TEAM-A-1', false],
      ['team-b-1', false],
      ['*', false],
    ] as const)
      expect([worker, mayAccess(principal, 'read', 'mailer', worker)]).toEqual([worker, isCovered])
    expect(() => requirePermission(principal, 'operate', 'mailer', 'team-b-1')).toThrow(
      'this token does not cover the worker "team-b-1"',
    )
    for (const [pattern, isCovered] of [
      ['team-a-*', true],
      ['team-a-x?', true],
      ['team-a*', false],
      ['*', false],
      ['?eam-a-1', false],
      ['m-7', true],
      ['m-?', false],
      ['m-7*', false],
    ] as const)
      expect([pattern, mayAccessPattern(principal, 'configure', 'mailer', pattern)]).toEqual([pattern, isCovered])
  })

  it('of the role worker may only speak for the listed types and workers', () => {
    const principal = principalOf({ role: 'worker', token: SECRET, workers: ['team-a-*'] })
    expect(principal).toMatchObject({ role: 'worker', name: 'indexer' })
    expect(permissionsOf(principal)).toEqual(['work'])
    expect(mayAccess(principal, 'work', 'mailer', 'team-a-1')).toBe(true)
    expect(mayAccess(principal, 'work', 'mailer', 'team-b-1')).toBe(false)
    expect(mayAccess(principal, 'work', 'probe', 'team-a-1')).toBe(false)
  })

  it('from other settings are identified by the first 8 hex digits of their SHA-256', () => {
    const principal = authenticatorOf(TOKENS).identify('admin-token-of-the-test')
    expect(principal).toMatchObject({
      id: createHash('sha256').update('admin-token-of-the-test').digest('hex').slice(0, 8),
    })
  })
})

describe('the permissions of a token', () => {
  const principalOf = (token: string) => {
    const principal = authenticatorOf(TOKENS).identify(token)
    if (principal === undefined) throw new Error('the token is not known')
    return principal
  }
  const [admin, worker, scoped] = ['admin', 'worker', 'scoped'].map((role) => principalOf(`${role}-token-of-the-test`))
  if (admin === undefined || worker === undefined || scoped === undefined) throw new Error('three were made')

  it('are those of its role', () => {
    expect(permissionsOf(admin)).toEqual([...SCOPED_PERMISSIONS, 'fleet'])
    expect(permissionsOf(worker)).toEqual(['work'])
    expect(permissionsOf(scoped)).toEqual(SCOPED_PERMISSIONS)
  })

  it('suffice if one of the needed ones is among them', () => {
    requirePermission(scoped, ['fleet', 'read'])
    requirePermission(scoped, 'read', 'mailer')
    requirePermission(admin, 'fleet', 'any type')
    requirePermission(worker, 'work', 'any type')
    const denied = 'this token does not have the permission "fleet" or "work"'
    expect(() => requirePermission(scoped, ['fleet', 'work'])).toThrow(
      expect.objectContaining({ code: 'FORBIDDEN', message: denied }),
    )
    expect(() => requirePermission(worker, 'read')).toThrow('this token does not have the permission "read"')
    expect(() => requirePermission(scoped, 'read', 'other')).toThrow(
      expect.objectContaining({
        code: 'FORBIDDEN',
        message: 'this token does not cover the automation type "other"',
      }),
    )
  })
})
