// The chips above the list of workers, and the terms of the filter that they change.
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { parseFilter } from '../../../src/dashboard/workers/filter.ts'
import { hasTerm, partsOf, toggledTerm, withoutFields } from '../../../src/dashboard/workers/filter-parts.ts'
import { CHIP_FIELDS, CHIPS, chipCounts } from '../../../src/dashboard/workers/state-chips.ts'
import { NOW, row } from './rows.ts'

const behind = { config_gen: 3, applied_config_gen: 2 }
const FLEET = [
  row('run'),
  row('idle', { state: 'IDLE', automation_type: 'probe' }),
  row('drain', { state: 'DRAINING' }),
  row('behind', behind),
  row('late', { last_seen: NOW - 60 }),
  row('off', { connected: false, state: 'ERROR' }),
  row('err', { state: 'ERROR', ...behind }),
]

describe('the chips of the list of workers', () => {
  it('count what their filter finds', () => {
    const counts = chipCounts(FLEET, parseFilter(''), NOW)
    for (const { word, term } of CHIPS) {
      const found = FLEET.filter((each) => parseFilter(term).matches(each, NOW))
      expect([word, counts[word]]).toEqual([word, found.length])
    }
    expect(counts).toEqual({ ERROR: 1, offline: 1, late: 1, behind: 2, DRAINING: 1, IDLE: 1, RUNNING: 2 })
  })

  it('count only what the rest of the filter matches', () => {
    const rest = withoutFields('type:probe state:error', CHIP_FIELDS)
    expect(chipCounts(FLEET, parseFilter(rest), NOW)).toMatchObject({ ERROR: 0, IDLE: 1, RUNNING: 0 })
  })

  it.each([
    ['', 'state:error'],
    ['type:mailer', 'type:mailer state:error'],
    ['state:offline  "two  words"', '"two  words" state:error'],
    ['behind:yes -state:running', '-state:running state:error'],
    ['State:Error ana', 'ana'],
    ['state:error', ''],
    ['state:error,late', 'state:error'],
  ])('change %j to %j', (before, after) => {
    expect(toggledTerm(before, 'state:error', CHIP_FIELDS)).toBe(after)
    expect(hasTerm(after, 'state:error')).toBe(after.includes('state:error'))
  })

  it('change nothing else of any filter, and undo themselves', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[-a-c":, ]{0,12}$/), (text) => {
        const rest = withoutFields(text, CHIP_FIELDS)
        const once = toggledTerm(rest, 'state:error', CHIP_FIELDS)
        const valuesOf = (q: string) => partsOf(q).map(({ name, value }) => [name, value])
        if (!text.includes('"')) expect(valuesOf(once)).toEqual([...valuesOf(rest), ['state', 'error']])
        if (!text.includes('"')) expect(valuesOf(toggledTerm(once, 'state:error', CHIP_FIELDS))).toEqual(valuesOf(rest))
      }),
    )
  })
})
