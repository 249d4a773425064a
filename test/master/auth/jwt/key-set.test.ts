/** The keys of issuers: when they are read again, and what happens while they cannot be read. */
import { describe, expect, it } from '@jest/globals'
import { createSigner, ISSUER } from '../../../kit/jwt-signer.ts'
import { keySet, NOW_MS, start } from './fixture.ts'

describe('the keys of an issuer (D231)', () => {
  const good = { groups: 'sre' }

  it('are read again for an unknown kid, at most every 30 s', async () => {
    const fixture = await start({ jwks_file: undefined, jwks_url: `${ISSUER}/keys` })
    const { check, detail, signer, time } = fixture
    await check(await signer.sign(good))
    const next = await createSigner(time.wallMs, 'key-2')
    fixture.keys = keySet(signer, next)
    await time.advance(30_000)
    const reads = fixture.reads
    expect(await check(await next.sign(good))).toMatchObject({ kind: 'authenticated' })
    for (let n = 0; n < 20; n += 1) await detail(await signer.sign(good, { kid: `unknown-${n}` }))
    expect(fixture.reads).toBe(reads + 1)
  })

  it('stay while the issuer cannot be read: known and new tokens keep working', async () => {
    const fixture = await start({ jwks_file: undefined, jwks_url: `${ISSUER}/keys` })
    const { authenticator, check, signer, time } = fixture
    const known = await signer.sign(good)
    await check(known)
    for (const fault of [
      new Error('ECONNREFUSED'),
      'not JSON',
      '{"keys":[]}',
      '[]',
      'null',
      '{"keys":[{"kty":"oct","k":"AAAA"}]}',
    ]) {
      fixture.keys = fault
      await time.advance(600_000)
      expect(await check(await signer.sign({ ...good, jti: String(fault) }))).toMatchObject({ kind: 'authenticated' })
      await time.advance(1)
    }
    expect(authenticator.check(await signer.sign(good)).kind).toBe('unverified')
  })

  it('that were withdrawn end the tokens that they signed', async () => {
    const fixture = await start()
    const { authenticator, check, detail, signer, time } = fixture
    const token = await signer.sign(good)
    const result = await check(token)
    if (result.kind !== 'authenticated') throw new Error(JSON.stringify(result))
    const next = await createSigner(time.wallMs, 'key-2')
    fixture.keys = keySet(next)
    fixture.changes = 0
    await time.advance(2_000)
    await check(await next.sign(good))
    expect(fixture.changes).toBe(1)
    expect(authenticator.isStillValid(result.principal)).toBe(false)
    expect(await detail(token)).toContain('its signature')
  })

  it('are found by the discovery document of the same issuer alone', async () => {
    const documents: Record<string, unknown> = {}
    const url = async (address: string): Promise<string> => {
      const document = documents[address]
      if (document === undefined) throw new Error(`there is no ${address}`)
      return JSON.stringify(document)
    }
    const discovery = `${ISSUER}/.well-known/openid-configuration`
    for (const [document, expected] of [
      [{ issuer: ISSUER, jwks_uri: `${ISSUER}/keys` }, 'authenticated'],
      [{ issuer: 'https://evil.example', jwks_uri: `${ISSUER}/keys` }, 'its signature'],
      [{ issuer: ISSUER, jwks_uri: 'http://idp.example/keys' }, 'its signature'],
      [{ issuer: ISSUER, jwks_uri: 'file:///etc/passwd' }, 'its signature'],
      [{ issuer: ISSUER }, 'its signature'],
      [null, 'its signature'],
    ] as const) {
      const signer = await createSigner(() => NOW_MS)
      documents[discovery] = document
      documents[`${ISSUER}/keys`] = { keys: [signer.publicJwk] }
      documents['http://idp.example/keys'] = { keys: [signer.publicJwk] }
      const { detail } = await start({ jwks_file: undefined }, { url })
      expect(await detail(await signer.sign(good))).toContain(expected)
    }
  })

  it('may be of RSA and Ed25519 as well, and are not used for other algorithms', async () => {
    for (const [alg, kid] of [
      ['RS256', 'rsa'],
      ['PS256', 'pss'],
      ['EdDSA', 'ed'],
    ] as const) {
      const fixture = await start({ algorithms: [alg] })
      const signer = await createSigner(fixture.time.wallMs, kid, alg)
      fixture.keys = keySet(signer)
      await fixture.time.advance(2_000)
      expect([alg, await fixture.detail(await signer.sign({ groups: 'sre' }))]).toEqual([alg, 'authenticated'])
    }
  })
})
