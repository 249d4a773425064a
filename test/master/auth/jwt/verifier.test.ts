/** JWTs as bearer tokens: what they grant, when they are verified, and when they end. */
import { describe, expect, it } from '@jest/globals'
import { createAuthenticator, mayAccess, permissionsOf } from '../../../../src/master/auth/index.ts'
import { VirtualTime } from '../../../../src/runtime/index.ts'
import { NOW_MS, RULES, settingsOf, start, STATIC } from './fixture.ts'

describe('a JWT of a configured issuer (D230)', () => {
  it('has the grants of all rules that match, and is known by its actor claim', async () => {
    const { check, signer, authenticator } = await start({ actor_claim: '/email' })
    const claims = { email: 'ana@example.com', email_verified: true, groups: ['team-a', 'sre'] }
    const token = await signer.sign(claims)
    const result = await check(token)
    if (result.kind !== 'authenticated') throw new Error(JSON.stringify(result))
    const { principal } = result
    expect(principal).toMatchObject({ role: 'scoped', id: 'ana@example.com', expiresAtMs: NOW_MS + 3_600_000 })
    expect(permissionsOf(principal)).toEqual(['read', 'submit', 'operate', 'consume', 'purge', 'configure'])
    expect(mayAccess(principal, 'operate', 'probe', 'w-1')).toBe(true)
    expect(mayAccess(principal, 'configure', 'mailer', 'team-a-1')).toBe(true)
    // Grants are not combined: `configure` is only granted for the type and workers of its own rule.
    expect(mayAccess(principal, 'configure', 'probe')).toBe(false)
    expect(mayAccess(principal, 'configure', 'mailer', 'team-b-1')).toBe(false)
    expect(authenticator.authenticate(`Bearer ${token}`)).toEqual({ kind: 'authenticated', principal })
    expect(authenticator.identify(token)).toBe(principal)
  })

  it('is refused when no rule matches', async () => {
    const { detail, signer } = await start()
    for (const claims of [
      {},
      { groups: ['team-a'] },
      { groups: ['SRE'] },
      { groups: { sre: 'sre' } },
      { groups: 'sr' },
    ])
      expect([claims, await detail(await signer.sign(claims))]).toEqual([claims, 'this token grants nothing here'])
  })

  it('of a worker speaks for the worker of its claim alone (RA16)', async () => {
    const { check, detail, signer } = await start()
    const sub = 'system:serviceaccount:team-a:crawler'
    const result = await check(await signer.sign({ sub, 'k8s.io': { pod: 'crawler-7' } }))
    if (result.kind !== 'authenticated') throw new Error(JSON.stringify(result))
    expect(result.principal.role).toBe('worker')
    expect(mayAccess(result.principal, 'work', 'mailer', 'crawler-7')).toBe(true)
    expect(mayAccess(result.principal, 'work', 'mailer', 'crawler-8')).toBe(false)
    for (const pod of [undefined, 7, '', 'crawler-*', '*', 'a/b', ['crawler-7']])
      expect([pod, await detail(await signer.sign({ sub, 'k8s.io': { pod } }))]).toEqual([
        pod,
        'this token grants nothing here',
      ])
  })

  it('is verified once, also when it comes with many requests at the same time', async () => {
    const { authenticator, check, signer } = await start()
    const token = await signer.sign({ groups: 'sre' })
    const results = await Promise.all(Array.from({ length: 500 }, () => check(token)))
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['authenticated']))
    expect(authenticator.check(token).kind).toBe('authenticated')
  })

  it('ends within a second of its expiry, and listeners are notified', async () => {
    const fixture = await start()
    const { authenticator, check, signer, time } = fixture
    const token = await signer.sign({ groups: 'sre' })
    const result = await check(token)
    if (result.kind !== 'authenticated') throw new Error(JSON.stringify(result))
    fixture.changes = 0
    await time.advance(3_599_000)
    expect([fixture.changes, authenticator.isStillValid(result.principal)]).toEqual([0, true])
    await time.advance(2_000)
    expect([fixture.changes, authenticator.isStillValid(result.principal)]).toEqual([1, false])
  })

  it('is compared with the static tokens first', async () => {
    const { authenticator } = await start()
    expect(authenticator.check(STATIC)).toMatchObject({ kind: 'authenticated', principal: { role: 'admin' } })
    expect(authenticator.check('unknown-token-of-the-test')).toEqual({ kind: 'rejected', reason: 'wrong' })
    expect(authenticator.check('a.b.c')).toEqual({ kind: 'rejected', reason: 'wrong' })
  })

  it('is no token for a master without issuers', async () => {
    const { signer } = await start()
    const authenticator = createAuthenticator(settingsOf(), { clock: new VirtualTime(NOW_MS) })
    expect(authenticator.check(await signer.sign({ groups: 'sre' }))).toEqual({ kind: 'rejected', reason: 'wrong' })
  })

  it('loses its rights when the rules of its issuer change', async () => {
    const { authenticator, check, signer } = await start()
    const token = await signer.sign({ groups: 'sre' })
    const result = await check(token)
    if (result.kind !== 'authenticated') throw new Error(JSON.stringify(result))
    authenticator.replace(settingsOf({}))
    expect(authenticator.isStillValid(result.principal)).toBe(true)
    authenticator.replace(settingsOf({ rules: [{ ...RULES[0], role: 'viewer' }] }))
    expect(authenticator.isStillValid(result.principal)).toBe(false)
    expect(await check(token)).toMatchObject({ kind: 'authenticated' })
  })
})
