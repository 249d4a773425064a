import { describe, expect, it } from '@jest/globals'
import {
  draftOf,
  setAt,
  settleTexts,
  typeAt,
  typeWhole,
  unreadable,
  valueAt,
} from '../../../src/dashboard/config/value-draft.ts'

const faults = (draft: Parameters<typeof unreadable>[0]) =>
  unreadable(draft).map(({ path, message }) => `${path} ${message}`)

describe('a value draft', () => {
  it('changes the value at a pointer only', () => {
    const draft = setAt(draftOf({ a: { 'x/y': 1 }, list: [1, 2, 3] }), '/a/x~1y', 2)
    expect(draft.value).toEqual({ a: { 'x/y': 2 }, list: [1, 2, 3] })
    expect(setAt(draft, '/list/1', undefined).value).toEqual({ a: { 'x/y': 2 }, list: [1, 3] })
    expect(setAt(draft, '/new/deep', true).value).toMatchObject({ new: { deep: true } })
    expect(setAt(draft, '/a', undefined).value).toEqual({ list: [1, 2, 3] })
    expect(valueAt(draft.value, '/list/2')).toBe(3)
  })

  it('keeps invalid text with an error at its field and leaves the value unchanged', () => {
    const draft = typeAt(draftOf({ slots: 4 }), '/slots', 'integer', 'many')
    expect(draft.value).toEqual({ slots: 4 })
    expect(faults(draft)).toEqual(['/slots expected a whole number, got "many"'])
    expect(faults(typeAt(draft, '/slots', 'integer', '8'))).toEqual([])
  })

  it('keeps the text of a number as typed', () => {
    const draft = typeAt(draftOf({}), '/rate', 'number', '1.')
    expect([draft.value, draft.texts.get('/rate')?.text]).toEqual([{ rate: 1 }, '1.'])
    expect(settleTexts(draft).texts.size).toBe(0)
  })

  it('rejects numbers that JSON cannot represent exactly', () => {
    for (const [kind, text] of [
      ['integer', '9007199254740993'],
      ['integer', '1.0'],
      ['number', '1e999'],
      ['number', '0x10'],
    ] as const)
      expect(faults(typeAt(draftOf({}), '/n', kind, text))).toHaveLength(1)
  })

  it('removes the value when its text is empty', () => {
    expect(typeAt(draftOf({ n: 1 }), '/n', 'number', ' ').value).toEqual({})
  })

  it('keeps a list item with empty text until it is removed', () => {
    const draft = typeAt(draftOf({ list: [1, 2] }), '/list/0', 'number', '')
    expect([draft.value, faults(draft)]).toEqual([{ list: [1, 2] }, ['/list/0 expected a number, got ""']])
  })

  it('accepts the JSON text of the whole value until the form is edited again', () => {
    const broken = typeWhole(draftOf({ a: 1 }), '{')
    expect([broken.value, broken.texts.get('')?.text]).toEqual([{ a: 1 }, '{'])
    expect(faults(typeWhole(broken, '[]'))).toEqual([' expected an object: { … }'])
    const whole = typeWhole(broken, '{"a": 2, "unknown": 3}')
    expect(whole.value).toEqual({ a: 2, unknown: 3 })
    expect(setAt(whole, '/a', 5)).toEqual(draftOf({ a: 5, unknown: 3 }))
  })

  it('drops the texts of list items whose index changed', () => {
    const draft = typeAt(draftOf({ list: [1, 2] }), '/list/1', 'integer', 'x')
    expect(faults(setAt(draft, '/list/0', undefined))).toEqual([])
  })
})
