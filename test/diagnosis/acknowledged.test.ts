import { describe, expect, it } from '@jest/globals'
import type { Acknowledgement } from '../../src/protocol/index.ts'
import { splitAcknowledged } from '../../src/diagnosis/index.ts'
import type { Attention } from '../../src/dashboard/diagnosis/attention.ts'
import { attentionItem } from '../dashboard/diagnosis/items.ts'

const NOW = 10_000
const seen = (part: Partial<Acknowledgement> = {}): Acknowledgement => ({
  type: 'mailer',
  item: 'error',
  note: null,
  actor: 'admin',
  acknowledged_at: NOW - 60,
  until: NOW + 60,
  until_change: false,
  count: 2,
  mark: 'timeout',
  ...part,
})
const isOpen = (acknowledgement: Acknowledgement, item: Partial<Attention> = {}): boolean =>
  splitAcknowledged([attentionItem(item)], [acknowledgement], NOW).open.length === 1

describe('an acknowledged item (D171)', () => {
  it('is listed again when its time has passed', () => {
    expect(isOpen(seen())).toBe(false)
    expect(isOpen(seen({ until: null }))).toBe(false)
    expect(isOpen(seen({ until: NOW }))).toBe(true)
  })

  it('is another one for another type or kind', () => {
    expect(isOpen(seen(), { type: 'render' })).toBe(true)
    expect(isOpen(seen(), { kind: 'offline' })).toBe(true)
  })

  it('is listed again when more workers have the problem, but not when more tasks are dead', () => {
    expect(isOpen(seen(), { count: 3 })).toBe(true)
    expect(isOpen(seen(), { count: 1 })).toBe(false)
    expect(isOpen(seen({ item: 'dead' }), { kind: 'dead', count: 300 })).toBe(false)
  })

  it('is listed again when it changes, if it was acknowledged until then', () => {
    const untilChange = seen({ until: null, until_change: true })
    expect(isOpen(untilChange)).toBe(false)
    expect(isOpen(seen(), { mark: 'ECONNREFUSED' })).toBe(false)
    expect(isOpen(untilChange, { mark: 'ECONNREFUSED' })).toBe(true)
    expect(isOpen({ ...untilChange, item: 'dead', mark: null }, { kind: 'dead', mark: null, count: 3 })).toBe(true)
  })

  it('stays in the list of acknowledged items after the problem was solved, until it ends', () => {
    expect(splitAcknowledged([], [seen(), seen({ item: 'dead', until: NOW })], NOW)).toEqual({
      open: [],
      acknowledged: [{ acknowledgement: seen(), item: null }],
    })
  })
})
