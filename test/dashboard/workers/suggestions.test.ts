// What the filter of the worker list suggests while the user types.
import { describe, expect, it } from '@jest/globals'
import { parseFilter } from '../../../src/dashboard/workers/filter.ts'
import { suggestionsOf } from '../../../src/dashboard/workers/suggestions.ts'
import { NOW, row } from './rows.ts'

const FLEET = [
  row('m-1', { state: 'ERROR', labels: { zone: 'eu-1', tenant: 'acme' } }),
  row('m-2', { labels: { zone: 'eu-2' }, managed_by: 'kubernetes:mail/m-2' }),
  row('m-3', { hardware: { hostname: 'edge-1' }, managed_by: 'kubernetes:prod/fleetworkersets/crawlers#1a' }),
  row('s-1', { automation_type: 'stream-tail', labels: { zone: 'eu-2' }, config_revision: '91bc02f7a1c4/-' }),
]
const texts = (q: string, caret = q.length): string[] =>
  suggestionsOf(q, caret, FLEET, NOW).map(({ text, note }) => (/^\d+$/.test(note) ? `${text} ${note}` : text))

describe('suggestions for the filter of workers', () => {
  it.each([
    ['st', ['state:', 'type:stream-tail 1']],
    ['err', ['error:', 'state:error 1']],
    ['state:', ['state:running 3', 'state:error 1', 'state:draining', 'state:idle', 'state:late', 'state:offline']],
    ['state:e', ['state:error 1', 'state:idle', 'state:late', 'state:offline']],
    ['ana -state:ru', ['-state:running 3']],
    ['state:error,of', ['state:error,offline']],
    ['type:', ['type:mailer 3', 'type:stream-tail 1']],
    ['type:tail', ['type:stream-tail 1']],
    ['host:', ['host:node-12 3', 'host:edge-1 1']],
    ['label:', ['label:zone 3', 'label:zone=eu-2 2', 'label:tenant 1', 'label:tenant=acme 1', 'label:zone=eu-1 1']],
    ['label:zone=', ['label:zone=eu-2 2', 'label:zone=eu-1 1']],
    ['label:zone=eu-2,', ['label:zone=eu-2,eu-2 2', 'label:zone=eu-2,eu-1 1']],
    ['set:', ['set:prod/crawlers 1']],
    ['revision:', ['revision:91bc02f7a1c4 1']],
    ['behind:', ['behind:no', 'behind:yes']],
    ['managed:m', ['managed:mail/m-2 1']],
  ])('for %j are %j', (q, expected) => {
    expect(texts(q)).toEqual(expected)
  })

  it.each(['', 'ana ', 'node-12', '"st', 'state:"e', 'cpu:>8', 'nofield:x', 'type:mailer'])('are none for %j', (q) => {
    expect(texts(q)).toEqual([])
  })

  it('are for the term at the cursor, and leave the rest of the filter as it is', () => {
    const [first] = suggestionsOf('ana state:r  cpu:>80', 11, FLEET, NOW)
    expect(first).toMatchObject({ q: 'ana state:running  cpu:>80', caret: 17, isOpen: false })
  })

  it('are understood by the filter', () => {
    for (const q of ['st', 'state:', 'type:', 'host:', 'label:', 'label:zone=', 'set:', 'revision:', 'managed:', 'be'])
      for (const suggestion of suggestionsOf(q, q.length, FLEET, NOW)) {
        if (suggestion.isOpen) continue
        const { faults, matches } = parseFilter(suggestion.q)
        expect([suggestion.q, faults]).toEqual([suggestion.q, []])
        if (!/^\d+$/.test(suggestion.note)) continue
        const found = FLEET.filter((each) => matches(each, NOW)).length
        expect([suggestion.q, found]).toEqual([suggestion.q, Number(suggestion.note)])
      }
  })
})
