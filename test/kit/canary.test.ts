import { describe, expect, it } from '@jest/globals'
import { Canaries } from './canary.ts'

const SECRET = 'p"ss/wö rd%+\n1'

describe('the search for canaries', () => {
  it('finds a new canary in every form, also cut and inside the encoding of a longer text', () => {
    const canaries = new Canaries()
    const token = canaries.create('admin')
    const forms = [
      token,
      token.slice(0, canaries.mark.length),
      encodeURIComponent(token),
      JSON.stringify({ a: JSON.stringify({ token }) }),
      Buffer.from(token).toString('hex'),
      ...['', 'a', 'ab', 'user:'].map((before) => Buffer.from(`${before}${token}`).toString('base64')),
      { deep: [{ error: new Error('outer', { cause: new Error(`inner ${token}`) }) }] },
      new Map([['key', { token }]]),
    ]
    for (const form of forms) {
      canaries.scan('log', form)
      expect([form, canaries.hits.splice(0).length]).toEqual([form, 1])
    }
  })

  it('finds a chosen secret in every form', () => {
    const canaries = new Canaries()
    canaries.add('password', SECRET)
    const json = JSON.stringify(SECRET).slice(1, -1)
    const forms = [
      SECRET,
      `{"a":${JSON.stringify(SECRET)}}`,
      JSON.stringify({ a: JSON.stringify({ b: SECRET }) }),
      json.replace('ö', String.raw`\u00f6`),
      `redis://:${encodeURIComponent(SECRET)}@host`,
      new URLSearchParams({ q: SECRET }).toString(),
      Buffer.from(SECRET).toString('hex'),
      ...['', 'a', 'ab', 'user:'].map((before) => Buffer.from(`${before}${SECRET} more`).toString('base64')),
      Buffer.from(`:${SECRET}`).toString('base64url'),
    ]
    for (const form of forms) {
      canaries.scan('log', form)
      expect([form, canaries.hits.splice(0).some(({ secret }) => secret === 'password')]).toEqual([form, true])
    }
  })

  it('finds nothing in other texts, and ignores secrets that occur by chance', () => {
    const canaries = new Canaries()
    canaries.add('pin', '4711')
    canaries.add('password', SECRET)
    for (const text of ['', 'pin 4711', 'canary', new Canaries().create('admin'), 'p"ss/w']) canaries.scan('log', text)
    expect([canaries.hits, canaries.scannedChars > 0]).toEqual([[], true])
    canaries.assertNone()
  })

  it('throws once with the name of the output and of the secret', () => {
    const canaries = new Canaries()
    canaries.add('password', SECRET)
    canaries.scan('GET /metrics', `x${SECRET}y`)
    expect(() => canaries.assertNone()).toThrow(/GET \/metrics contains password: …xp"ss/)
    canaries.assertNone()
  })
})
