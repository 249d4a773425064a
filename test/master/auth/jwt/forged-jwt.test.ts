/** Forged and misused JWTs, which are refused with the reason. */
import { createHmac } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { exportSPKI, importJWK } from 'jose'
import { createSigner, ISSUER, rawToken, type Signer } from '../../../kit/jwt-signer.ts'
import { NOW_MS, start } from './fixture.ts'

describe('a forged or misused JWT (RA15)', () => {
  const seconds = NOW_MS / 1_000
  const good = { groups: 'sre' }
  const header = JSON.stringify({ alg: 'ES256', kid: 'key-1' })
  const claims = JSON.stringify({
    iss: ISSUER,
    aud: 'muster',
    sub: 'ana',
    iat: seconds,
    exp: seconds + 60,
    groups: 'sre',
  })
  type Make = (signer: Signer) => Promise<string> | string
  const twice = (name: string, value: string): string => claims.replace('{', `{"${name}":${value},`)

  it.each<[string, Make, string]>([
    ['alg none', () => rawToken('{"alg":"none"}', claims), 'its algorithm is not allowed'],
    ['alg none without a signature', () => rawToken('{"alg":"none"}', claims, ''), 'it has no signature'],
    ['alg None', () => rawToken('{"alg":"None"}', claims), 'its algorithm is not allowed'],
    ['HS256 with the public key as the secret', hmacWithPublicKey, 'its algorithm is not allowed'],
    [
      'an algorithm that is not configured',
      (s) => s.sign(good, { alg: 'ES256' }).then((t) => withAlg(t, 'ES384')),
      'its algorithm is not allowed',
    ],
    ['RS256 for an EC key', (s) => s.sign(good).then((t) => withAlg(t, 'RS256')), 'its signature'],
    ['a number as algorithm', () => rawToken('{"alg":1}', claims), 'it has a wrong header'],
    ['no algorithm', () => rawToken('{}', claims), 'it has a wrong header'],
    ['another issuer', (s) => s.sign({ ...good, iss: 'https://evil.example' }), 'its issuer is not known'],
    ['its issuer with a slash', (s) => s.sign({ ...good, iss: `${ISSUER}/` }), 'its issuer is not known'],
    ['a list of issuers', (s) => s.sign({ ...good, iss: [ISSUER] }), 'its issuer is not known'],
    ['no issuer', (s) => s.sign({ ...good, iss: undefined }), 'its issuer is not known'],
    ['the issuer __proto__', (s) => s.sign({ ...good, iss: '__proto__' }), 'its issuer is not known'],
    ['another audience', (s) => s.sign({ ...good, aud: 'other' }), 'it is made for another audience'],
    [
      'audiences without this one',
      (s) => s.sign({ ...good, aud: ['a', 'muster2'] }),
      'it is made for another audience',
    ],
    ['no audience', (s) => s.sign({ ...good, aud: undefined }), 'it is made for another audience'],
    ['typ logout+jwt', (s) => s.sign(good, { typ: 'logout+jwt' }), 'it is made for another purpose'],
    ['typ dpop+jwt', (s) => s.sign(good, { typ: 'dpop+jwt' }), 'it is made for another purpose'],
    ['a key in the header', (s) => s.sign(good, { jwk: s.publicJwk }), 'it has a header that is not allowed'],
    [
      'a URL of keys in the header',
      (s) => s.sign(good, { jku: 'https://evil.example/keys' }),
      'it has a header that is not allowed',
    ],
    [
      'a URL of a certificate',
      (s) => s.sign(good, { x5u: 'https://evil.example/c' }),
      'it has a header that is not allowed',
    ],
    ['a certificate', (s) => s.sign(good, { x5c: ['AAAA'] }), 'it has a header that is not allowed'],
    [
      'a critical header',
      () => rawToken('{"alg":"ES256","crit":["x"],"x":1}', claims),
      'it has a header that is not allowed',
    ],
    [
      'an unencoded payload',
      () => rawToken('{"alg":"ES256","b64":false}', claims),
      'it has a header that is not allowed',
    ],
    ['a path as kid', (s) => s.sign(good, { kid: '../../../../dev/null' }), 'its signature'],
    ['an unknown kid', (s) => s.sign(good, { kid: 'key-2' }), 'its signature'],
    ['a number as kid', () => rawToken('{"alg":"ES256","kid":1}', claims), 'it has a wrong header'],
    ['another key of the same kid', async () => (await createSigner(() => NOW_MS)).sign(good), 'its signature'],
    ['a changed claim', (s) => s.sign({ groups: 'x' }).then(withSre), 'its signature'],
    ['a changed signature', (s) => s.sign(good).then((t) => `${t.slice(0, -4)}AAAA`), 'its signature'],
    ['a cut signature', (s) => s.sign(good).then((t) => t.slice(0, -8)), 'its signature'],
    ['a signature that is no base64url', (s) => s.sign(good).then((t) => `${t}=`), 'it has no signature'],
    ['a claim twice', () => rawToken(header, twice('groups', '"x"')), 'it contains a name twice'],
    ['a claim twice with an escape', () => rawToken(header, twice('\\u0067roups', '"x"')), 'it contains a name twice'],
    ['a nested claim twice', () => rawToken(header, twice('a', '[{"b":1,"b":2}]')), 'it contains a name twice'],
    ['a header twice', () => rawToken('{"alg":"none","alg":"ES256"}', claims), 'it contains a name twice'],
    ['claims that are a list', () => rawToken(header, '[]'), 'it has no claims'],
    ['claims that are no JSON', () => rawToken(header, '{'), 'it has no claims'],
    [
      '8 KiB and one character',
      (s) => s.sign(good).then((t) => t.padEnd(8_193, 'A')),
      'it is longer than 8192 characters',
    ],
    ['no expiry', (s) => s.sign({ ...good, exp: undefined }), 'it has no claims "exp" and "iat"'],
    ['an expiry as text', (s) => s.sign({ ...good, exp: '9999999999' }), 'it has no claims "exp" and "iat"'],
    ['no time of issue', (s) => s.sign({ ...good, iat: undefined }), 'it has no claims "exp" and "iat"'],
    ['31 s after its expiry', (s) => s.sign({ ...good, exp: seconds - 31 }), 'it has expired; get a new one'],
    ['31 s before its issue', (s) => s.sign({ ...good, iat: seconds + 31 }), 'it was issued in the future'],
    ['31 s before it is valid', (s) => s.sign({ ...good, nbf: seconds + 31 }), 'it is not valid yet'],
    ['more than a day old', (s) => s.sign({ ...good, iat: seconds - 86_431 }), 'it is more than a day old'],
  ])('is refused: %s', async (_, make, why) => {
    const { detail, signer } = await start({ algorithms: ['RS256', 'ES256'] })
    expect(await detail(await make(signer))).toContain(`this token is not accepted: ${why}`)
  })

  it.each<[string, Make]>([
    ['29 s after its expiry', (s) => s.sign({ ...good, exp: seconds - 29 })],
    ['29 s before its issue', (s) => s.sign({ ...good, iat: seconds + 29 })],
    ['29 s before it is valid', (s) => s.sign({ ...good, nbf: seconds + 29 })],
    ['almost a day old', (s) => s.sign({ ...good, iat: seconds - 86_300 })],
    ['the type at+jwt', (s) => s.sign(good, { typ: 'at+jwt' })],
    ['several audiences', (s) => s.sign({ ...good, aud: ['other', 'muster'] })],
    ['no kid, of an issuer with one key', (s) => s.sign(good, { kid: undefined })],
  ])('is accepted: %s', async (_, make) => {
    const { check, signer } = await start()
    expect(await check(await make(signer))).toMatchObject({ kind: 'authenticated' })
  })

  it('writes no control characters of a claim into names', async () => {
    const { check, signer } = await start()
    const result = await check(await signer.sign({ ...good, sub: 'a\u001b[2Jb\nc' }))
    expect(result).toMatchObject({ principal: { id: 'a?[2Jb?c' } })
  })

  it('cannot use up the processor: 200 verifications a second, then 503; known tokens are not counted', async () => {
    const { check, detail, signer, time, authenticator } = await start()
    const known = await signer.sign(good)
    await check(known)
    const wrong = await Promise.all(
      Array.from({ length: 300 }, async (_, n) => withSre(await signer.sign({ groups: `g${n}` }))),
    )
    const details = await Promise.all(wrong.map((token) => detail(token)))
    expect(details.filter((each) => each.includes('signature'))).toHaveLength(199)
    expect(details.filter((each) => each.startsWith('too many new tokens'))).toHaveLength(101)
    expect(authenticator.check(known).kind).toBe('authenticated')
    await time.advance(100)
    expect(await check(await signer.sign({ ...good, jti: 'new' }))).toMatchObject({ kind: 'authenticated' })
  })
})

async function hmacWithPublicKey({ publicJwk }: Signer): Promise<string> {
  const spki = await exportSPKI((await importJWK(publicJwk, 'ES256')) as Parameters<typeof exportSPKI>[0])
  const seconds = NOW_MS / 1_000
  const unsigned = rawToken(
    '{"alg":"HS256","kid":"key-1"}',
    JSON.stringify({ iss: ISSUER, aud: 'muster', iat: seconds, exp: seconds + 60, groups: 'sre' }),
  ).slice(0, -'.AAAA'.length)
  return `${unsigned}.${createHmac('sha256', spki).update(unsigned).digest('base64url')}`
}

function withAlg(token: string, alg: string): string {
  const [, claims, signature] = token.split('.')
  return [Buffer.from(JSON.stringify({ alg, kid: 'key-1' })).toString('base64url'), claims, signature].join('.')
}

function withSre(token: string): string {
  const [header, part = '', signature] = token.split('.')
  const claims = JSON.parse(Buffer.from(part, 'base64url').toString()) as object
  return [header, Buffer.from(JSON.stringify({ ...claims, groups: 'sre' })).toString('base64url'), signature].join('.')
}
