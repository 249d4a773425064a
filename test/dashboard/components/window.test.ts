import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { badgeOf, type BadgeFacts } from '../../../src/dashboard/components/live-text.ts'
import { Problem } from '../../../src/dashboard/api/problem.ts'
import { actorOf, actorText } from '../../../src/dashboard/settings/actor.ts'
import { piecesOf, rangeOf } from '../../../src/dashboard/components/window.ts'

describe('the rows of a virtual table', () => {
  it('and spacers have the height of the whole table and include the focused row', () => {
    fc.assert(
      fc.property(
        fc.nat(20_000),
        fc.nat(2_000_000),
        fc.nat(2_000),
        fc.integer({ min: -1, max: 20_000 }),
        (count, scrollTop, viewHeight, focused) => {
          const pieces = piecesOf(rangeOf(scrollTop, viewHeight, 36, count), count, focused)
          const rows = pieces.flatMap((piece) => (piece.kind === 'row' ? [piece.index] : []))
          expect(pieces.reduce((sum, piece) => sum + (piece.kind === 'row' ? 1 : piece.rows), 0)).toBe(count)
          expect(rows).toEqual(rows.toSorted((a, b) => a - b))
          expect(new Set(rows).size).toBe(rows.length)
          if (focused >= 0 && focused < count) expect(rows).toContain(focused)
          expect(rows.length).toBeLessThanOrEqual(viewHeight / 36 + 15)
        },
      ),
    )
  })

  it('are the visible ones and a few around them', () => {
    expect(rangeOf(3_600, 720, 36, 10_000)).toEqual({ first: 97, end: 123 })
    expect(rangeOf(0, 720, 36, 3)).toEqual({ first: 0, end: 3 })
    expect(rangeOf(0, 720, 36, 0)).toEqual({ first: 0, end: 0 })
  })
})

describe('the live badge', () => {
  const facts: BadgeFacts = {
    feed: { kind: 'live' },
    unavailableSinceMs: undefined,
    lastResponseAtMs: 9_000,
    nowMs: 10_000,
    clock: (seconds) => `at ${seconds}`,
  }
  const lost = (sinceMs: number): BadgeFacts['feed'] => ({ kind: 'lost', sinceMs, problem: new Problem('x') })
  it.each<[string, Partial<BadgeFacts>]>([
    ['live 1 s', {}],
    ['live 8 s', { lastResponseAtMs: 2_000 }],
    ['connecting', { feed: { kind: 'connecting' } }],
    ['reconnecting', { feed: lost(8_000) }],
    ['polling', { feed: lost(4_000) }],
    ['reconnecting', { feed: lost(4_000), unavailableSinceMs: 8_000 }],
    ['offline since at 4', { feed: lost(4_000), unavailableSinceMs: 4_000 }],
    ['offline since at 4', { unavailableSinceMs: 4_000 }],
    ['paused since at 3', { feed: { kind: 'paused', sinceMs: 3_000 }, unavailableSinceMs: 4_000 }],
  ])('shows "%s"', (text, change) => {
    expect(badgeOf({ ...facts, ...change }).text).toBe(text)
  })
})

describe('the actor of a change (D39)', () => {
  it('is the dashboard with the name of the user, in printable ASCII', () => {
    expect([actorOf(''), actorOf(' ana '), actorOf('Zoë\n'), actorOf('é'), actorOf('x'.repeat(300)).length]).toEqual([
      'dashboard',
      'dashboard:ana',
      'dashboard:Zo',
      'dashboard',
      110,
    ])
  })

  it('is shown as a name, with the role and the client', () => {
    expect(
      ['admin dashboard:ana', 'scoped cli:ada k', 'admin dashboard', 'admin', 'admin operator:x'].map(actorText),
    ).toEqual([
      'ana (admin, dashboard)',
      'ada k (scoped, command line)',
      'admin (dashboard)',
      'admin',
      'admin operator:x',
    ])
  })
})
