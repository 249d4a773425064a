import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { EMPTY_TAIL, filtered, withResponse } from '../../../src/dashboard/output/tail-buffer.ts'

const entry = (n: number, payload: object = { n }) => ({
  id: String(n).padStart(6, '0'),
  slot_id: n % 3,
  ts: n,
  payload: payload as { readonly [key: string]: never },
})
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => entry(from + n))

describe('a tail', () => {
  it('continues after its last entry and marks a gap', () => {
    const first = withResponse(EMPTY_TAIL, { entries: range(10, 12), gap: true })
    expect(first.rows.map(({ kind }) => kind)).toEqual(['entry', 'entry']) // Nothing was shown before it.
    const next = withResponse(first, { entries: range(20, 21), gap: true })
    expect(next.rows.map(({ kind }) => kind)).toEqual(['entry', 'entry', 'gap', 'entry'])
    expect(next.lastId).toBe('000020')
    expect(withResponse(next, { entries: [], gap: false })).toBe(next)
  })

  it('keeps the newest 2,000 rows in order and counts the dropped ones', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(900), { maxLength: 8 }), (sizes) => {
        let tail = EMPTY_TAIL
        let next = 0
        for (const size of sizes) {
          tail = withResponse(tail, { entries: range(next, next + size), gap: false })
          next += size
        }
        const numbers = tail.rows.map((row) => (row.kind === 'entry' ? Number(row.entry.id) : -1))
        expect(numbers).toEqual(range(Math.max(0, next - 2_000), next).map(({ id }) => Number(id)))
        expect(tail.dropped + tail.rows.length).toBe(next)
      }),
      { numRuns: 30 },
    )
  })

  it('keeps fewer rows if entries are large, but always the newest one', () => {
    const large = (n: number) => entry(n, { text: 'x'.repeat(5_000_000) })
    const tail = withResponse(EMPTY_TAIL, { entries: [large(1), large(2), large(3), large(4), large(5)], gap: false })
    expect(tail.rows.map((row) => row.kind === 'entry' && row.entry.ts)).toEqual([3, 4, 5])
    expect(tail.dropped).toBe(2)
    expect(
      withResponse(EMPTY_TAIL, { entries: [entry(1, { text: 'x'.repeat(17_000_000) })], gap: false }).rows,
    ).toHaveLength(1)
  })

  it('is filtered by words in payload, ID or slot, and keeps gaps', () => {
    const tail = withResponse(
      withResponse(EMPTY_TAIL, { entries: [entry(1, { url: 'HTTP://a' }), entry(12, { url: 'b' })], gap: false }),
      { entries: [entry(4, { url: 'http://c' })], gap: true },
    )
    const found = (filter: string) =>
      filtered(tail.rows, filter).map((row) => (row.kind === 'entry' ? row.entry.ts : 'gap'))
    expect(found('http ')).toEqual([1, 'gap', 4])
    expect(found('http slot:1')).toEqual([1, 'gap', 4])
    expect(found('slot:0')).toEqual([12, 'gap'])
    expect(found('000012')).toEqual([12, 'gap'])
    expect(found(' ')).toEqual([1, 12, 'gap', 4])
  })
})
