import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { changesOf, formOf } from '../../../src/dashboard/config/draft.ts'
import { bodyForShow, kubectlPatch, resourceOf, setOperands } from '../../../src/dashboard/config/git-patch.ts'
import { faultPosition } from '../../../src/dashboard/config/position.ts'
import { around, diffLines } from '../../../src/dashboard/config/text-diff.ts'

describe('the position of a syntax error in JSON text', () => {
  it('is where parsing stops', () => {
    const cases: readonly (readonly [string, number, number])[] = [
      ['', 1, 1],
      ['{', 1, 2],
      ['{"a": 1,}', 1, 9],
      ['{\n  "a": tru\n}', 2, 8],
      ['[1 2]', 1, 4],
      ['{"a" 1}', 1, 6],
      ['{"a":1}}', 1, 8],
      ['["\n"]', 1, 2],
      ['{a:1}', 1, 2],
      ['[1]]', 1, 4],
      ['01', 1, 2],
    ]
    for (const [text, line, column] of cases) expect([text, faultPosition(text)]).toEqual([text, { line, column }])
  })

  it('is null exactly for valid JSON', () => {
    const broken = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom(',', '}', ']', '"', ':', '1', ' ', '\\', 'x'))
      .map(([text, at, extra]) => text.slice(0, at % (text.length + 1)) + extra + text.slice(at % (text.length + 1)))
    fc.assert(
      fc.property(fc.oneof(fc.json(), broken), (text) => {
        let good = true
        try {
          JSON.parse(text)
        } catch {
          good = false
        }
        const position = faultPosition(text)
        expect(position === null).toBe(good)
        if (position !== null) expect(position.line).toBeLessThanOrEqual(text.split('\n').length)
      }),
      { numRuns: 500 },
    )
  })
})

describe('the line diff of two texts', () => {
  it('marks unchanged, removed and added lines', () => {
    expect(diffLines('a\nb\nc', 'a\nx\nc').map(({ sign, text }) => sign + text)).toEqual([' a', '-b', '+x', ' c'])
  })

  it('contains all lines of both texts', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 8 }).map((lines) => lines.join('\n'))
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffLines(before, after)
        expect(
          lines
            .filter(({ sign }) => sign !== '+')
            .map((line) => line.text)
            .join('\n'),
        ).toBe(before)
        expect(
          lines
            .filter(({ sign }) => sign !== '-')
            .map((line) => line.text)
            .join('\n'),
        ).toBe(after)
      }),
    )
  })

  it('can be reduced to the lines around changes', () => {
    const [before, after] = [
      Array.from({ length: 20 }, (_, n) => `${n}`),
      Array.from({ length: 20 }, (_, n) => (n === 10 ? 'x' : `${n}`)),
    ]
    expect(around(diffLines(before.join('\n'), after.join('\n')), 1).map(({ sign, text }) => sign + text)).toEqual([
      ' …',
      ' 9',
      '-10',
      '+x',
      ' 11',
      ' …',
    ])
  })

  it('replaces all lines of texts that are too long to compare', () => {
    const many = (word: string): string => Array.from({ length: 600 }, (_, n) => `${word}${n}`).join('\n')
    expect(diffLines(many('a'), many('b'))).toHaveLength(1_200)
  })
})

describe('a config change as a command', () => {
  const form = formOf({
    properties: {
      slots: { type: 'integer' },
      host: { type: 'string' },
      list: { type: 'array', items: {} },
      key: { type: 'string', writeOnly: true },
      smtp: { type: 'object', properties: { user: { type: 'string' }, pass: { type: 'string', writeOnly: true } } },
    },
  })
  const changes = changesOf(
    form,
    { slots: 1, host: 'a', key: '********', smtp: { user: 'u', pass: '********' }, list: [] },
    { slots: 2, host: "it's", key: 'SECRET', smtp: { user: 'v', pass: 'SECRET' } },
  )

  it('names the custom resource that manages a config', () => {
    expect(resourceOf('kubernetes:mail/m-7')).toEqual({ namespace: 'mail', name: 'm-7' })
    expect(resourceOf('kubernetes:mail/m-7#2f')).toEqual({ namespace: 'mail', name: 'm-7' })
    expect(resourceOf('terraform')).toBeNull()
  })

  it('is a merge patch of the resource with `slots` in `spec`; omitted secrets are listed', () => {
    const { text, leftOut } = kubectlPatch(form, changes, { namespace: 'mail', name: 'm-7' })
    expect(text).toBe(
      'kubectl -n mail patch fleetworker m-7 ' +
        '--type merge -p \'{"spec":{"config":{"host":"it\'\\\'\'s","list":null,"smtp":{"user":"v"}},"slots":2}}\'',
    )
    expect(leftOut).toEqual(['key', 'smtp.pass'])
  })

  it('is formatted as operands of muster: strings unquoted, other values as JSON', () => {
    expect(setOperands(form, changes)).toEqual({
      operands: ['slots=2', "host=it's", '--unset', 'list', 'smtp={"user":"v"}'],
      leftOut: ['key', 'smtp.pass'],
    })
  })

  it('never contains a secret', () => {
    expect(bodyForShow(form, changes)).toEqual({ slots: 2, host: "it's", list: null, smtp: { user: 'v' } })
  })
})
