import { describe, expect, it } from '@jest/globals'
import { Masker } from '../../src/automation/index.ts'

const MASK = '********'
const PATHS = [['key'], ['other'], ['vault']] as const

function masking(config: Parameters<Masker['see']>[0]): (text: string) => string {
  const masker = new Masker(PATHS)
  masker.see(config)
  return (text) => masker.text(text)
}

describe('a secret in a text', () => {
  it('masks the longest form first, so that no part of a longer secret remains', () => {
    const mask = masking({ key: 'abcdef', other: 'abcdef-and-more-secret' })
    expect(mask('failed with abcdef-and-more-secret and abcdef')).toBe(`failed with ${MASK} and ${MASK}`)
    const reversed = masking({ key: 'abcdef-and-more-secret', other: 'abcdef' })
    expect(reversed('failed with abcdef-and-more-secret and abcdef')).toBe(`failed with ${MASK} and ${MASK}`)
  })

  it.each(['7', '42', 'abc', 'p$w.', 'käse!'])(
    'of fewer than 6 characters is masked only as a separate word: %s',
    (secret) => {
      const mask = masking({ key: secret })
      for (const text of [secret, `PIN ${secret} is wrong`, `pin=${secret}&x=1`, `"${secret}"`, `(${secret})`])
        expect([text, mask(text)]).toEqual([text, text.replace(secret, MASK)])
    },
  )

  it('of fewer than 6 characters leaves longer words and numbers readable', () => {
    expect(masking({ key: '42', other: 'abc' })('1426 ms, HTTP 421, abcd, dabc, port 4200')).toBe(
      '1426 ms, HTTP 421, abcd, dabc, port 4200',
    )
  })

  it('does not search the masks themselves', () => {
    expect(masking({ key: '*', other: 'abcdef' })('a * b abcdef')).toBe(`a ${MASK} b ${MASK}`)
  })

  it.each([
    ['JSON', (secret: string) => JSON.stringify({ sent: secret })],
    ['a query', (secret: string) => `https://x.test/?key=${encodeURIComponent(secret)}`],
    ['a form', (secret: string) => new URLSearchParams({ key: secret }).toString()],
    [
      'a query in lower case',
      (secret: string) => encodeURIComponent(secret).replaceAll(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase()),
    ],
    ['base64', (secret: string) => Buffer.from(secret).toString('base64')],
    ['base64url', (secret: string) => Buffer.from(secret).toString('base64url')],
    ['hex', (secret: string) => Buffer.from(secret).toString('hex')],
    ['upper-case hex', (secret: string) => Buffer.from(secret).toString('hex').toUpperCase()],
  ])('is masked in %s as well', (_name, encode) => {
    for (const secret of ['s3cr?t>>"key" / with=all&ü', '4"2/', 'pä?ss']) {
      const encoded = encode(secret)
      const masked = masking({ key: secret })(`failed: ${encoded}`)
      expect([encoded, masked.includes(MASK)]).toEqual([encoded, true])
      expect(masked.length).toBeLessThan(`failed: ${encoded}${MASK}`.length)
    }
  })

  it.each(['', 'u:', 'user:', 'someone:'])('is masked in basic authentication after "%s"', (user) => {
    const secret = 'correct-horse-battery'
    const encoded = Buffer.from(`${user}${secret}`).toString('base64')
    const masked = masking({ key: secret })(`authorization: Basic ${encoded}`)
    const left = masked.replace(MASK, '').split(' ').at(-1) ?? ''
    expect(masked).toContain(MASK)
    expect(Buffer.from(left, 'base64').toString('latin1')).not.toMatch(/orrect|horse|batter/)
  })

  it('is masked as a number, inside objects, and in log fields and errors', () => {
    const masker = new Masker(PATHS)
    masker.see({ vault: { pin: 4711, words: ['hunter2'] } })
    expect(masker.text('pin 4711, hunter2')).toBe(`pin ${MASK}, ${MASK}`)
    expect(masker.value({ text: 'hunter2', list: ['pin 4711'], more: { error: new Error('hunter2') } })).toEqual({
      text: MASK,
      list: [`pin ${MASK}`],
      more: { error: expect.stringContaining(`Error: ${MASK}`) },
    })
  })

  it('that is empty, or the mask, masks nothing', () => {
    expect(masking({ key: '', other: MASK })('a text')).toBe('a text')
  })
})
